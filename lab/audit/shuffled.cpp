#include "audit/shuffled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "base/exact/binomial.h"
#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::uint64_t kBlock = 8192;
constexpr std::size_t kBins = 16384;
constexpr std::uint64_t kLeastTrials = 400;
constexpr std::uint64_t kMostClients = 100'000'000;

/// How often each value of a statistic came, by world and half.
struct Histograms {
  double first = 0.0;  // the value of bin 0, and what a bin adds
  double step = 1.0;
  double error = 0.0;  // total variation of one trial's distribution
  std::array<std::array<std::vector<std::uint64_t>, 2>, 2> counts;

  explicit Histograms(std::size_t bins = 0) {
    for (auto& world : counts) {
      for (auto& half : world) half.assign(bins, 0);
    }
  }
};

/// Draws one batch of a world and says which bin its statistic falls in.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::size_t bins() const = 0;
  virtual double first() const = 0;
  virtual double step() const = 0;
  virtual double error() const = 0;
  /// Adds `trials` batches.
  virtual void add(bool world_one, std::uint64_t trials, BitSource& bits,
                   std::vector<std::uint64_t>& bins) const = 0;
};

class FrequencySampler final : public Sampler {
 public:
  FrequencySampler(const DistributionPair& distributions, std::uint64_t clients)
      : zero_(CountTable::binomial(clients, distributions.speaks_zero(),
                                   1.0 - distributions.speaks_zero())),
        one_(CountTable::binomial_and_one(clients - 1, distributions.speaks_zero(),
                                          1.0 - distributions.speaks_zero(),
                                          distributions.speaks_one())),
        first_(std::min(zero_.first(), one_.first())) {}
  std::size_t bins() const override { return std::max(zero_.end(), one_.end()) - first_; }
  double first() const override { return static_cast<double>(first_); }
  double step() const override { return 1.0; }
  double error() const override { return std::max(zero_.error(), one_.error()); }
  void add(bool world_one, std::uint64_t trials, BitSource& bits,
           std::vector<std::uint64_t>& bins) const override {
    const CountTable& table = world_one ? one_ : zero_;
    for (std::uint64_t i = 0; i < trials; ++i) ++bins[table.draw(bits) - first_];
  }

 private:
  CountTable zero_, one_;
  std::uint64_t first_;
};

std::vector<double> probabilities_of(const DistributionPair& distributions, bool one) {
  std::vector<double> probabilities;
  for (const DistributionPair::Class& c : distributions.classes)
    probabilities.push_back(one ? c.one : c.zero);
  return probabilities;
}

/// The mean of the ratios of a batch's reports: the likelihood ratio of the two worlds.
class RatioSampler final : public Sampler {
 public:
  RatioSampler(const DistributionPair& distributions, std::uint64_t clients)
      : clients_(static_cast<double>(clients)),
        worlds_{BatchDraw(distributions, clients, false), BatchDraw(distributions, clients, true)} {
    double square = 0.0, largest = 0.0;
    for (const DistributionPair::Class& c : distributions.classes) {
      ratios_.push_back(c.ratio());
      if (!std::isfinite(c.ratio())) continue;
      square += c.zero * (c.ratio() - 1.0) * (c.ratio() - 1.0);
      largest = std::max(largest, c.ratio());
    }
    const double reach = 10.0 * std::sqrt(square / clients_);
    first_ = std::max(0.0, 1.0 - reach);
    step_ = (1.0 + reach + largest / clients_ - first_) / static_cast<double>(kBins - 2);
  }
  std::size_t bins() const override { return kBins; }
  double first() const override { return first_; }
  double step() const override { return step_; }
  double error() const override { return std::max(worlds_[0].error(), worlds_[1].error()); }
  void add(bool world_one, std::uint64_t trials, BitSource& bits,
           std::vector<std::uint64_t>& bins) const override {
    std::vector<std::uint64_t> counts(ratios_.size());
    for (std::uint64_t i = 0; i < trials; ++i) {
      worlds_[world_one ? 1 : 0].draw(bits, counts);
      double sum = 0.0;
      for (std::size_t c = 0; c < counts.size(); ++c) {
        if (counts[c] > 0) sum += static_cast<double>(counts[c]) * ratios_[c];
      }
      const double at = (sum / clients_ - first_) / step_;
      const auto last = static_cast<double>(kBins - 1);
      ++bins[static_cast<std::size_t>(std::clamp(at, 0.0, last))];
    }
  }

 private:
  double clients_;
  std::array<BatchDraw, 2> worlds_;
  std::vector<double> ratios_;
  double first_ = 0.0, step_ = 1.0;
};

Histograms simulate(const ShuffledGame& game, BatchStatistic statistic) {
  if (const auto valid = check_game(game); !valid) {
    throw std::invalid_argument(valid.error().message);
  }
  std::unique_ptr<Sampler> sampler;
  if (statistic == BatchStatistic::kFrequency) {
    sampler = std::make_unique<FrequencySampler>(game.distributions, game.clients);
  } else {
    sampler = std::make_unique<RatioSampler>(game.distributions, game.clients);
  }
  const std::uint64_t quarter = game.trials / 4;
  const std::uint64_t blocks = (quarter + kBlock - 1) / kBlock;
  const unsigned lanes = std::max(1U, game.threads);
  std::vector<Histograms> parts(lanes, Histograms(sampler->bins()));
  std::mutex mutex;
  std::uint64_t done = 0;
  const auto body = [&](unsigned lane, std::size_t index) -> Result<void> {
    const std::uint64_t block = index % blocks;
    const bool world_one = index / blocks % 2 == 1;
    const std::size_t half = index / blocks / 2;
    const std::uint64_t trials = std::min(kBlock, quarter - block * kBlock);
    BitSource bits = BitSource::from_seed(
        game.seed, "shuffled batches",
        {static_cast<std::uint64_t>(statistic), world_one ? 1U : 0U, half, block});
    sampler->add(world_one, trials, bits, parts[lane].counts[world_one ? 1 : 0][half]);
    if (game.progress) {
      const std::scoped_lock lock(mutex);
      done += trials;
      if (lane == 0) game.progress(done);
    }
    return {};
  };
  (void)parallel_for(lanes, 4 * blocks, body);
  Histograms all = std::move(parts.front());
  all.first = sampler->first();
  all.step = sampler->step();
  all.error = sampler->error();
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    for (std::size_t w = 0; w < 2; ++w) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t i = 0; i < all.counts[w][h].size(); ++i) {
          all.counts[w][h][i] += parts[lane].counts[w][h][i];
        }
      }
    }
  }
  return all;
}

/// About what Clopper-Pearson limits will give, for the choice of a threshold alone: ln of a lower
/// limit of `more` minus delta over an upper limit of `less`.
double promise(double more, double less, double trials, double delta) {
  constexpr double kDeviations = 2.3, kNone = 4.0;
  const double high = more - delta - kDeviations * std::sqrt(more * (1.0 - more) / trials);
  const double low = less + kDeviations * std::sqrt(less * (1.0 - less) / trials) + kNone / trials;
  return high > 0.0 ? std::log(high / low) : 0.0;
}

/// The bin with the greatest promise as a threshold: "one" is guessed above it.
std::size_t choose_threshold(const Histograms& found, double delta) {
  const auto& zero = found.counts[0][0];
  const auto& one = found.counts[1][0];
  const auto trials =
      static_cast<double>(std::accumulate(zero.begin(), zero.end(), std::uint64_t{0}));
  std::uint64_t below_zero = 0, below_one = 0;
  std::size_t chosen = zero.size() / 2;
  double most = -1.0;
  for (std::size_t i = 0; i + 1 < zero.size(); ++i) {
    below_zero += zero[i];
    below_one += one[i];
    if (zero[i] == 0 && one[i] == 0 && i > 0) continue;
    const double z = static_cast<double>(below_zero) / trials;
    const double o = static_cast<double>(below_one) / trials;
    const double value =
        std::max(promise(z, o, trials, delta), promise(1.0 - o, 1.0 - z, trials, delta));
    if (value > most) {
      most = value;
      chosen = i;
    }
  }
  return chosen;
}

Guesses guesses_at(const Histograms& found, std::size_t threshold, std::size_t half) {
  Guesses guesses;
  const auto& zero = found.counts[0][half];
  const auto& one = found.counts[1][half];
  for (std::size_t i = 0; i < zero.size(); ++i) {
    guesses.zeros += zero[i];
    guesses.ones += one[i];
    (i > threshold ? guesses.false_positives : guesses.false_negatives) +=
        i > threshold ? zero[i] : one[i];
  }
  return guesses;
}

}  // namespace

std::string_view name_of(BatchStatistic statistic) {
  return statistic == BatchStatistic::kFrequency ? "frequency" : "likelihood";
}

Result<void> check_game(const ShuffledGame& game) {
  const auto wrong = [](std::string text) { return fail(ErrorKind::kUsage, std::move(text)); };
  if (game.clients < 2 || game.clients > kMostClients) {
    return wrong("a shuffled batch has 2 to 100,000,000 clients, not " +
                 std::to_string(game.clients));
  }
  if (game.trials < kLeastTrials) {
    return wrong("a shuffled audit takes at least " + std::to_string(kLeastTrials) +
                 " trials, not " + std::to_string(game.trials));
  }
  if (!(game.delta >= 0.0 && game.delta < 1.0)) return wrong("delta lies in [0, 1)");
  if (!(game.confidence > 0.75 && game.confidence < 1.0)) {
    return wrong("a confidence lies strictly between 0.75 and 1");
  }
  if (game.distributions.classes.size() < 2)
    return wrong("a pair of distributions has at least two classes");
  return {};
}

ShuffledFinding audit_shuffled(const ShuffledGame& game, BatchStatistic statistic) {
  const Histograms found = simulate(game, statistic);
  ShuffledFinding finding;
  finding.statistic = statistic;
  const std::size_t threshold = choose_threshold(found, game.delta);
  finding.threshold = found.first + found.step * static_cast<double>(threshold);
  finding.guesses = guesses_at(found, threshold, 1);
  finding.trials = finding.guesses.trials();
  // With this probability at most, some trial was not the exact distribution's: it comes out of the
  // confidence.
  const double off = found.error * static_cast<double>(finding.trials);
  const double confidence = std::min(game.confidence + off, 1.0 - 1e-12);
  finding.bounds = lower_bounds(finding.guesses, confidence, game.delta);
  if (game.confidence + off >= 1.0) finding.bounds.two_sided = finding.bounds.best = 0.0;
  return finding;
}

double seed_value(const ShuffledGame& game) {
  const Histograms found = simulate(game, BatchStatistic::kFrequency);
  const double mean = static_cast<double>(game.clients) * game.distributions.speaks_zero();
  const double last = static_cast<double>(found.counts[0][0].size() - 1);
  const auto at = static_cast<std::size_t>(std::clamp(std::floor(mean) - found.first, 0.0, last));
  Guesses guesses = guesses_at(found, at, 0);
  guesses += guesses_at(found, at, 1);
  return lower_bounds(guesses, game.confidence).raw;
}

double seed_value_exact(const DistributionPair& distributions, std::uint64_t clients) {
  const double p = distributions.speaks_zero(), own = distributions.speaks_one();
  const auto mean = static_cast<std::uint64_t>(static_cast<double>(clients) * p);
  const BinomialWindow others = binomial_window(clients - 1, p, 1.0 - p, 1e-18);
  double below = 0.0, at = 0.0;  // of the others: at most `mean`, and exactly that
  for (std::uint64_t k = others.first; k < others.end() && k <= mean; ++k) {
    at = others.probabilities[k - others.first];
    below += at;
  }
  if (others.end() <= mean) at = 0.0;
  const double fpr = 1.0 - (below - p * at), fnr = below - own * at;
  return std::max(std::log((1.0 - fpr) / fnr), std::log((1.0 - fnr) / fpr));
}

std::vector<std::uint64_t> shuffled_batch(const ReportPair& pair, const Mechanism& mechanism,
                                          MechanismKind kind, std::uint64_t clients, bool world_one,
                                          BitSource& bits) {
  std::vector<std::vector<Symbol>> reports;
  const auto send = [&](std::vector<float> values) {
    const Domain& domain = mechanism.domain();
    return mechanism.perturb(bound(Update(domain.layout, std::move(values)), domain), bits)
        .symbols()
        .unpacked();
  };
  if (kind == MechanismKind::kValue) {
    std::vector<float> values(clients, pair.zero().front());
    if (world_one) values.back() = pair.one().front();
    for (const Symbol symbol : send(std::move(values))) reports.push_back({symbol});
  } else {
    for (std::uint64_t i = 0; i < clients; ++i) {
      const auto own = world_one && i + 1 == clients ? pair.one() : pair.zero();
      reports.push_back(send({own.begin(), own.end()}));
    }
  }
  shuffle(std::span(reports), bits);
  std::vector<std::uint64_t> counts(pair.distributions().classes.size(), 0);
  for (const std::vector<Symbol>& report : reports) ++counts[pair.class_of(report)];
  return counts;
}

BatchDraw::BatchDraw(const DistributionPair& distributions, std::uint64_t clients, bool world_one)
    : others_(world_one ? clients - 1 : clients, probabilities_of(distributions, false)) {
  if (world_one) own_.emplace(0, probabilities_of(distributions, true), 0.0);
}

}  // namespace sotto
