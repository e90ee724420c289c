#include "attack/weight_inference.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "attack/mean_map.h"
#include "attack/weight_theory.h"
#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::uint64_t kMostReports = 1'000'000'000'000;
constexpr std::size_t kBatch = 1 << 16;  // clients that one call of the mechanism serves
constexpr std::size_t kChunks = 64;      // repetitions are summed in so many pieces, in order
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
  if (!(attack.tolerance >= 0.0) || !std::isfinite(attack.tolerance)) {
    return wrong("the tolerance of the mean of clients' values", "a number from 0 on");
  }
  const Range& range = attack.range;
  if (!(range.radius > 0.0)) return wrong("the radius of the range", "above 0");
  if (!(std::abs(attack.weight - range.centre) + attack.tolerance <= range.radius)) {
    return wrong("the weight, with its tolerance,",
                 "inside the range: clients clip what lies outside");
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
  Sums error_to_round;
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
    double held_before = 0.0;
    for (std::uint64_t round = 0; round < attack_.rounds; ++round) {
      total += sums_[round];
      history_.push_back(decoded(sums_[round], 1));
      const double predicted = decoded(total, round + 1);
      const double held = held_[round];
      held_before += held;
      // Values that are drawn once have one mean, whatever a sum of it would round to.
      const double truth =
          attack_.tolerance > 0.0 ? held_before / static_cast<double>(round + 1) : held;
      RoundSums& here = sums[round];
      here.error.add(std::abs(predicted - truth) / domain);
      here.error_to_round.add(std::abs(predicted - held) / domain);
      here.error_to_weight.add(std::abs(predicted - attack_.weight) / domain);
      if (map_.inverts()) here.corrected.add(std::abs(map_.input(predicted) - truth) / domain);
      const auto score = history_confidence(history_, attack_.range.radius, splits);
      if (score) here.confidence.add(*score);
    }
  }

 private:
  /// Every client's reports of all rounds, summed round by round, and the means that they hide.
  void collect(std::uint64_t number) {
    sums_.assign(attack_.rounds, 0);
    held_.assign(attack_.rounds, 0.0);
    const auto& layout = batch_.domain().layout;
    for (std::uint64_t first = 0; first < attack_.clients; first += kBatch) {
      const std::size_t count = std::min<std::uint64_t>(kBatch, attack_.clients - first);
      BitSource noise = BitSource::from_seed(attack_.seed, "attack.perturb", {number, first});
      symbols_.resize(count);
      std::optional<Bounded> bounded;
      for (std::uint64_t round = 0; round < attack_.rounds; ++round) {
        if (!bounded || attack_.tolerance > 0.0) {
          draw_values(number, first, round, count);
          bounded = bound(Update(layout, std::move(values_)), batch_.domain());
          for (std::size_t i = 0; i < count; ++i) {
            held_[round] += static_cast<double>(bounded->values()[i]);
          }
        }
        const Report report = batch_.perturb(*bounded, noise);
        report.symbols().read(0, symbols_);
        sums_[round] = std::accumulate(symbols_.begin(), symbols_.end(), sums_[round]);
        if (attack_.tolerance > 0.0) values_ = std::move(*bounded).take();
      }
      if (attack_.tolerance <= 0.0) values_ = std::move(*bounded).take();
    }
    if (attack_.tolerance <= 0.0) held_.assign(attack_.rounds, held_.front());
    for (double& held : held_) held /= static_cast<double>(attack_.clients);
  }

  /// What clients of a batch hold in a round.
  void draw_values(std::uint64_t number, std::uint64_t first, std::uint64_t round,
                   std::size_t count) {
    const bool anew = attack_.tolerance > 0.0;
    double centre = attack_.weight;
    if (anew) {
      BitSource shift = BitSource::from_seed(attack_.seed, "attack.shift", {number, round});
      centre += attack_.tolerance * (2.0 * shift.unit() - 1.0);
    }
    values_.assign(batch_.domain().layout->size(), static_cast<float>(centre));
    if (attack_.deviation <= 0.0) return;
    BitSource bits =
        anew ? BitSource::from_seed(attack_.seed, "attack.weights", {number, first, round})
             : BitSource::from_seed(attack_.seed, "attack.weights", {number, first});
    for (std::size_t i = 0; i < count; ++i) {
      values_[i] = static_cast<float>(centre + attack_.deviation * bits.normal());
    }
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
  std::vector<double> held_;  // means of what clients held, by round
  std::vector<double> history_;
};

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
  return expected_findings(attack, MeanMap(*single));
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
      sums.error_to_round.add(piece[round].error_to_round);
      sums.error_to_weight.add(piece[round].error_to_weight);
      sums.corrected.add(piece[round].corrected);
      sums.confidence.add(piece[round].confidence);
    }
    WeightFinding finding;
    finding.rounds = round + 1;
    finding.error = sums.error.estimate(attack.repetitions);
    finding.error_to_round = sums.error_to_round.estimate(attack.repetitions);
    finding.error_to_weight = sums.error_to_weight.estimate(attack.repetitions);
    if (map.inverts()) finding.corrected = sums.corrected.estimate(attack.repetitions);
    if (round > 0) finding.confidence = sums.confidence.estimate(attack.repetitions);
    result.by_round.push_back(finding);
  }
  result.theory = expected_findings(attack, map);
  result.exact_epsilon = single->guarantee().epsilon;
  result.client_epsilon =
      std::nextafter(result.exact_epsilon * static_cast<double>(attack.rounds), HUGE_VAL);
  return result;
}

}  // namespace sotto
