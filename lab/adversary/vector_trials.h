// The distinguishing phase, many times: a fair coin picks one of the two gradients, the real
// mechanism randomizes it, and the report alone decides the guess.
//
// Two distinguishers look at every report. `cosine` is the paper's (eq. 4): the gradient with the
// larger cosine. `likelihood` takes the one under which the report is likelier, by the mechanism's
// own log-probability: by Neyman and Pearson no other guess is correct more often. A tie goes to
// the first gradient. The best bound seldom comes from the most correct guesses (with a delta it
// never does), so the ratio's threshold can be learned, on trials of its own (learn_thresholds()).
// Both need nothing of a report but its inner products with the two gradients (and nothing but one
// where they are opposite), so nothing else is kept of it.
//
// Trials come in chunks with random streams of their own and are counted chunk by chunk in order:
// the counts do not depend on the number of threads, and memory does not grow with the trials.
#pragma once

#include <functional>

#include "adversary/adversary.h"
#include "sotto/audit.h"
#include "sotto/mechanism.h"

namespace sotto {

enum class Distinguisher { kCosine, kLikelihood };
/// "cosine", "likelihood".
std::string_view name_of(Distinguisher distinguisher);
Result<Distinguisher> find_distinguisher(std::string_view name);

/// How often the report's cosine with the first gradient fell where; what lies beyond is counted at
/// the ends.
struct Similarities {
  static constexpr std::size_t kBins = 60;
  double reach = 1.0;  // the bins cover [-reach, reach]
  std::vector<std::uint64_t> of_first = std::vector<std::uint64_t>(kBins);   // it was g1
  std::vector<std::uint64_t> of_second = std::vector<std::uint64_t>(kBins);  // it was g2
  void add(double cosine, bool second);
  void add(const Similarities& other);
};

/// Counted guesses of one mechanism.
struct Tally {
  Guesses cosine;
  Guesses likelihood;
  Similarities similarities;  // counted only where asked for
  /// ln P(report | second) / P(report | first) of every trial, by who it was; of a learning plan.
  std::vector<double> scores[2];
  const Guesses& of(Distinguisher distinguisher) const {
    return distinguisher == Distinguisher::kCosine ? cosine : likelihood;
  }
  void add(const Tally& other);
};

struct TrialPlan {
  /// Of the same domain, for instance of several epsilons: each randomizes every crafted pair.
  std::vector<const Mechanism*> mechanisms;
  std::uint64_t trials = 1000;  // of one measurement
  std::uint64_t measurements = 1;
  std::uint64_t seed = 0;
  /// Audits of one seed with different numbers draw independent trials: stream_of(adversary).
  std::uint64_t stream = 0;
  unsigned threads = 1;
  bool similarities = false;
  /// `likelihood` guesses the second gradient where the log-ratio is above this; one for each
  /// mechanism, or none: 0.
  std::vector<double> thresholds;
  bool learning = false;  // scores are kept, and random streams are those of learning
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  /// Asked after every kGroup trials with the counts so far, one for each mechanism: true ends the
  /// trials.
  std::function<bool(std::span<const Tally>)> enough;

  static constexpr std::uint64_t kChunk = 64;
  static constexpr std::uint64_t kGroup = 256 * kChunk;
};

struct TrialCounts {
  std::vector<std::vector<Tally>> measured;  // by mechanism, by measurement
  std::vector<Tally> total;                  // by mechanism
  std::uint64_t trials = 0;                  // of each mechanism
  bool stopped = false;                      // before the last trial
  double seconds = 0.0;
};

/// `adversary` is prepared. Every mechanism must be a vector mechanism of the scene's dimension.
Result<TrialCounts> run_trials(const Scene& scene, const Adversary& adversary,
                               const TrialPlan& plan);

/// The thresholds that promise the largest bound from `plan`'s trials at this confidence, one for
/// each of its mechanisms, learned on `trials` others.
Result<std::vector<double>> learn_thresholds(const Scene& scene, const Adversary& adversary,
                                             const TrialPlan& plan, std::uint64_t trials,
                                             double confidence);

/// The sum of symbol_i x_i.
double product_with(const PackedSymbols& symbols, std::span<const float> x);
/// The sum of symbol_i^2.
double square_of(const PackedSymbols& symbols);

}  // namespace sotto
