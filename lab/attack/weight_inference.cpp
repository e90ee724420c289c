#include "attack/weight_inference.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <numeric>

#include "attack/mean_map.h"
#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::uint64_t kMostReports = 1'000'000'000'000;
constexpr std::size_t kBatch = 1 << 16;  // clients that one call of the mechanism serves
constexpr std::size_t kChunks = 64;      // repetitions are summed in so many pieces, in order
constexpr double kReach = 8.0;  // deviations that integrals over a normal distribution span
constexpr int kSteps = 800;     // of Simpson's rule

/// E |X| for a normal X.
double folded_mean(double mean, double deviation) {
  if (deviation <= 0.0) return std::abs(mean);
  const double ratio = mean / deviation;
  return deviation * std::sqrt(2.0 / std::numbers::pi) * std::exp(-ratio * ratio / 2.0) +
         mean * std::erf(ratio / std::numbers::sqrt2);
}

/// Calls use(z, weight) at points of a standard normal distribution whose weights sum to 1.
template <class Use>
void over_normal(Use&& use) {
  double total = 0.0;
  const auto weight_at = [](int i) {
    const double z = kReach * (2.0 * i - kSteps) / kSteps;
    const double simpson = i == 0 || i == kSteps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
    return simpson * std::exp(-z * z / 2.0);
  };
  for (int i = 0; i <= kSteps; ++i) total += weight_at(i);
  for (int i = 0; i <= kSteps; ++i) {
    use(kReach * (2.0 * i - kSteps) / kSteps, weight_at(i) / total);
  }
}

Result<std::unique_ptr<Mechanism>> mechanism_for(const WeightAttack& attack, std::size_t values) {
  auto layout = std::make_shared<Layout>();
  layout->add("weight", {static_cast<std::int64_t>(values)}, TensorRole::kParameter);
  return make_mechanism(attack.mechanism, Domain{std::move(layout), {attack.range}},
                        attack.parameters);
}

Result<void> check(const WeightAttack& attack) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(attack.mechanism));
  if (info->kind != MechanismKind::kValue) {
    return fail(ErrorKind::kUsage, "weight-inference: '" + attack.mechanism +
                                       "' does not treat every weight alone; valid are the value "
                                       "mechanisms of `sotto mechanisms`");
  }
  const auto wrong = [](const char* what, const char* valid) {
    return fail(ErrorKind::kUsage, std::string("weight-inference: ") + what + " must be " + valid);
  };
  if (attack.clients < 1 || attack.rounds < 1 || attack.repetitions < 1) {
    return wrong("clients, rounds and repetitions", "positive");
  }
  if (attack.rounds > 100'000) return wrong("rounds", "100,000 at most");
  if (attack.clients > kMostReports / attack.rounds / attack.repetitions) {
    return wrong("clients * rounds * repetitions", "10^12 at most");
  }
  if (!(attack.deviation >= 0.0) || !std::isfinite(attack.deviation)) {
    return wrong("the deviation of clients' values", "a number from 0 on");
  }
  const Range& range = attack.range;
  if (!(range.radius > 0.0)) return wrong("the radius of the range", "above 0");
  if (!(std::abs(attack.weight - range.centre) <= range.radius)) {
    return wrong("the weight", "inside the range: clients clip what lies outside");
  }
  return {};
}

struct Sums {
  double sum = 0.0;
  double squares = 0.0;
  void add(double value) {
    sum += value;
    squares += value * value;
  }
  void add(const Sums& other) {
    sum += other.sum;
    squares += other.squares;
  }
  Estimate estimate(std::uint64_t count) const {
    const auto n = static_cast<double>(count);
    const double mean = sum / n;
    const double variance = count > 1 ? std::max(0.0, (squares - n * mean * mean) / (n - 1)) : 0.0;
    return {mean, std::sqrt(variance / n)};
  }
};

struct RoundSums {
  Sums error;
  Sums error_to_weight;
  Sums corrected;
  Sums confidence;
};

/// One thread's memory: of the size of a batch and a history, whatever the number of clients.
class Repetition {
 public:
  Repetition(const WeightAttack& attack, const Mechanism& batch, const Mechanism& single,
             const MeanMap& map)
      : attack_(attack), batch_(batch), single_(single), map_(map) {}

  void run(std::uint64_t number, std::vector<RoundSums>& sums) {
    collect(number);
    BitSource splits = BitSource::from_seed(attack_.seed, "attack.split", {number});
    const double domain = 2.0 * attack_.range.radius;
    history_.clear();
    std::int64_t total = 0;
    for (std::uint64_t round = 0; round < attack_.rounds; ++round) {
      total += sums_[round];
      history_.push_back(decoded(sums_[round], 1));
      const double predicted = decoded(total, round + 1);
      RoundSums& here = sums[round];
      here.error.add(std::abs(predicted - truth_) / domain);
      here.error_to_weight.add(std::abs(predicted - attack_.weight) / domain);
      if (map_.inverts()) here.corrected.add(std::abs(map_.input(predicted) - truth_) / domain);
      const auto score = history_confidence(history_, attack_.range.radius, splits);
      if (score) here.confidence.add(*score);
    }
  }

 private:
  /// Every client's reports of all rounds, summed round by round, and the mean that they hide.
  void collect(std::uint64_t number) {
    sums_.assign(attack_.rounds, 0);
    const auto& layout = batch_.domain().layout;
    double held = 0.0;
    for (std::uint64_t first = 0; first < attack_.clients; first += kBatch) {
      const std::size_t count = std::min<std::uint64_t>(kBatch, attack_.clients - first);
      values_.assign(layout->size(), static_cast<float>(attack_.weight));
      BitSource bits = BitSource::from_seed(attack_.seed, "attack.weights", {number, first});
      if (attack_.deviation > 0.0) {
        for (std::size_t i = 0; i < count; ++i) {
          values_[i] = static_cast<float>(attack_.weight + attack_.deviation * bits.normal());
        }
      }
      Bounded bounded = bound(Update(layout, std::move(values_)), batch_.domain());
      for (std::size_t i = 0; i < count; ++i) held += static_cast<double>(bounded.values()[i]);
      BitSource noise = BitSource::from_seed(attack_.seed, "attack.perturb", {number, first});
      symbols_.resize(count);
      for (std::int64_t& sum : sums_) {
        const Report report = batch_.perturb(bounded, noise);
        report.symbols().read(0, symbols_);
        sum = std::accumulate(symbols_.begin(), symbols_.end(), sum);
      }
      values_ = std::move(bounded).take();
    }
    truth_ = held / static_cast<double>(attack_.clients);
  }

  double decoded(std::int64_t sum, std::uint64_t rounds) const {
    double mean = 0.0;
    single_.decode(std::span(&sum, 1), attack_.clients * rounds, 0, std::span(&mean, 1));
    return mean;
  }

  const WeightAttack& attack_;
  const Mechanism& batch_;
  const Mechanism& single_;
  const MeanMap& map_;
  std::vector<float> values_;
  std::vector<Symbol> symbols_;
  std::vector<std::int64_t> sums_;
  std::vector<double> history_;
  double truth_ = 0.0;
};

WeightTheory theory_of(const WeightAttack& attack, const MeanMap& map) {
  double mean = 0.0;
  double mean_square = 0.0;
  double value = 0.0;
  double gap_square = 0.0;
  double variance = 0.0;
  const auto add = [&](double w, double weight) {
    const Range& range = map.range();
    const double clipped = std::clamp(w, range.centre - range.radius, range.centre + range.radius);
    const Moments moments = map.moments(clipped);
    mean += weight * moments.mean;
    mean_square += weight * moments.mean * moments.mean;
    value += weight * clipped;
    gap_square += weight * (moments.mean - clipped) * (moments.mean - clipped);
    variance += weight * moments.variance;
  };
  if (attack.deviation > 0.0) {
    over_normal(
        [&](double z, double weight) { add(attack.weight + attack.deviation * z, weight); });
  } else {
    add(attack.weight, 1.0);
  }
  const auto n = static_cast<double>(attack.clients);
  const auto rounds = static_cast<double>(attack.rounds);
  const double domain = 2.0 * attack.range.radius;
  const double noise = variance / (n * rounds);
  const double bias = mean - value;
  const double gap_spread = std::max(0.0, gap_square - bias * bias) / n;
  const double mean_spread = std::max(0.0, mean_square - mean * mean) / n;
  WeightTheory theory;
  theory.bias = bias / domain;
  theory.deviation = std::sqrt(variance) / domain;
  theory.error = folded_mean(bias, std::sqrt(noise + gap_spread)) / domain;
  theory.error_to_weight =
      folded_mean(mean - attack.weight, std::sqrt(noise + mean_spread)) / domain;
  if (attack.rounds >= 2) {
    // What clients hold is the same in both halves: only the noise differs.
    const std::uint64_t half_rounds = attack.rounds / 2;
    const auto half = static_cast<double>(half_rounds);
    const double spread = std::sqrt(2.0 * variance / (n * half));
    double score = 0.0;
    over_normal([&](double z, double weight) {
      score += weight * confidence_score(0.0, spread * z, attack.range.radius);
    });
    theory.confidence = score;
  }
  return theory;
}

}  // namespace

double confidence_score(double first, double second, double radius) {
  return 1.0 / (0.01 + std::abs(second - first) / (2.0 * radius));
}

std::optional<double> history_confidence(std::span<const double> history, double radius,
                                         BitSource& bits) {
  const std::size_t half = history.size() / 2;
  if (half == 0) return std::nullopt;
  // Walks through the rounds once: each joins a half with the probability that keeps all splits
  // into two halves of equal size equally likely (of an odd number, one round joins neither).
  std::size_t open_first = half;
  std::size_t open_second = half;
  double first = 0.0;
  double second = 0.0;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const std::uint64_t at = bits.below(history.size() - i);
    if (at < open_first) {
      first += history[i];
      --open_first;
    } else if (at < open_first + open_second) {
      second += history[i];
      --open_second;
    }
  }
  const auto each = static_cast<double>(half);
  return confidence_score(first / each, second / each, radius);
}

Result<WeightTheory> weight_theory(const WeightAttack& attack) {
  SOTTO_CHECK(check(attack));
  SOTTO_TRY(const auto single, mechanism_for(attack, 1));
  return theory_of(attack, MeanMap(*single));
}

Result<WeightInference> infer_weight(const WeightAttack& attack, const AttackProgress& progress) {
  SOTTO_CHECK(check(attack));
  SOTTO_TRY(const auto single, mechanism_for(attack, 1));
  SOTTO_TRY(const auto batch,
            mechanism_for(attack, std::min<std::uint64_t>(kBatch, attack.clients)));
  const MeanMap map(*single);
  const std::size_t chunks = std::min<std::uint64_t>(kChunks, attack.repetitions);
  std::vector<std::vector<RoundSums>> pieces(chunks);
  std::mutex mutex;
  std::uint64_t done = 0;
  SOTTO_CHECK(parallel_for(attack.threads, chunks, [&](unsigned, std::size_t i) -> Result<void> {
    pieces[i].resize(attack.rounds);
    Repetition repetition(attack, *batch, *single, map);
    for (std::uint64_t number = i; number < attack.repetitions; number += chunks) {
      repetition.run(number, pieces[i]);
      const std::scoped_lock lock(mutex);
      ++done;
      if (progress) progress(done, attack.repetitions);
    }
    return {};
  }));
  WeightInference result;
  for (std::uint64_t round = 0; round < attack.rounds; ++round) {
    RoundSums sums;
    for (const auto& piece : pieces) {
      sums.error.add(piece[round].error);
      sums.error_to_weight.add(piece[round].error_to_weight);
      sums.corrected.add(piece[round].corrected);
      sums.confidence.add(piece[round].confidence);
    }
    WeightFinding finding;
    finding.rounds = round + 1;
    finding.error = sums.error.estimate(attack.repetitions);
    finding.error_to_weight = sums.error_to_weight.estimate(attack.repetitions);
    if (map.inverts()) finding.corrected = sums.corrected.estimate(attack.repetitions);
    if (round > 0) finding.confidence = sums.confidence.estimate(attack.repetitions);
    result.by_round.push_back(finding);
  }
  result.theory = theory_of(attack, map);
  result.exact_epsilon = single->guarantee().epsilon;
  result.client_epsilon =
      std::nextafter(result.exact_epsilon * static_cast<double>(attack.rounds), HUGE_VAL);
  return result;
}

}  // namespace sotto
