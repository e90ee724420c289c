// The audit of a shuffled batch (Measuring-Privacy, section 5).
//
// n clients send one report each through a shuffler. In the first world all of them hold input
// zero, in the second one of them holds input one; the server sees the multiset of reports and
// guesses the world. What it can use of a batch are the counts of reports in each class of the pair
// of distributions: a multinomial vector, drawn here at once, or counted from n reports of the real
// mechanism that were really shuffled (slow; the same distribution).
//
// Two statistics. The seed's: how many reports speak for input one. The best: the likelihood ratio
// of the batch, which is the mean of the ratios of its reports (each of the n clients may have been
// the one). For binary reports they order batches alike, and what makes the difference is the
// threshold: the seed puts it at the mean, where an (epsilon, delta) pair shows nothing of its
// tail. Here it is chosen on one half of the trials and used on the other, and the bound knows
// delta: epsilon >= ln((1 - delta - FPR) / FNR) with Clopper-Pearson limits, and the same
// exchanged.
#pragma once

#include <functional>
#include <optional>

#include "audit/binomial_draw.h"
#include "audit/distribution_pair.h"
#include "sotto/audit.h"

namespace sotto {

enum class BatchStatistic { kFrequency, kLikelihoodRatio };
/// "frequency", "likelihood".
std::string_view name_of(BatchStatistic statistic);

struct ShuffledGame {
  DistributionPair distributions;
  std::uint64_t clients = 0;
  double delta = 1e-6;
  double confidence = 0.95;
  std::uint64_t trials = 0;  // batches in all: a quarter for each world and each half
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::function<void(std::uint64_t done)> progress;  // called now and then, from one thread
};

/// What a statistic found.
struct ShuffledFinding {
  BatchStatistic statistic = BatchStatistic::kFrequency;
  std::uint64_t trials = 0;  // of the half that the bound comes from
  Guesses guesses;           // at the chosen threshold
  LowerBounds bounds;        // two_sided is the one to report
  double threshold = 0.0;    // guess "one" above it
};

/// What is wrong with the game, if anything; the other functions throw then.
Result<void> check_game(const ShuffledGame& game);

ShuffledFinding audit_shuffled(const ShuffledGame& game, BatchStatistic statistic);

/// The seed's statistic: frequency, the threshold at its mean in the first world, rates without
/// interval, no delta. Over all trials, that is with what noise they leave; and without any.
double seed_value(const ShuffledGame& game);
double seed_value_exact(const DistributionPair& distributions, std::uint64_t clients);

/// A batch as class counts, from n real reports in a really shuffled order. `pair` belongs to
/// `mechanism`, whose value kind has `clients` weights, each the report of one client.
std::vector<std::uint64_t> shuffled_batch(const ReportPair& pair, const Mechanism& mechanism,
                                          MechanismKind kind, std::uint64_t clients, bool world_one,
                                          BitSource& bits);
/// The same in distribution, by counts.
class BatchDraw {
 public:
  BatchDraw(const DistributionPair& distributions, std::uint64_t clients, bool world_one);
  void draw(BitSource& bits, std::span<std::uint64_t> counts) const {
    others_.draw(bits, counts);
    if (own_) ++counts[own_->draw(bits)];
  }
  double error() const noexcept { return others_.error() + (own_ ? own_->error() : 0.0); }

 private:
  MultinomialDraw others_;
  std::optional<CountTable> own_;  // where one client holds the other input
};

}  // namespace sotto
