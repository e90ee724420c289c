// The audit of something that can be asked for scores: a distinguisher on top of a mechanism.
//
// A trial draws a report of input 0 or of input 1 and turns it into one number, larger the more it
// looks like input 1: the log-likelihood ratio where the distribution is known (by Neyman and
// Pearson no test is better), a cosine otherwise. The guess is "1" where the score is above a
// threshold. The best threshold for a bound on epsilon is seldom the one of the most correct
// guesses, so it is learned on trials of its own; the bound comes from the others and is valid
// whatever was learned.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "sotto/audit.h"
#include "sotto/bits.h"
#include "sotto/result.h"

namespace sotto {

class ScoreSource {
 public:
  virtual ~ScoreSource() = default;
  /// Fills `scores` with those of as many independent trials with this input. Called by several
  /// threads at once; all randomness comes from `bits`.
  virtual void draw(bool input, BitSource& bits, std::span<double> scores) const = 0;
};

/// The score ln(a / b) from logarithms; 0 for an output that neither input has. What rounding adds
/// is taken off, so that equal ratios are equal scores.
double log_likelihood_ratio(double one, double zero);

/// What an audit is asked to do.
struct AuditPlan {
  std::uint64_t trials = 1'000'000;  // in all, half of them with either input
  double confidence = 0.95;
  double delta = 0.0;
  std::optional<double> claim;
  bool stop_early = true;           // once the claim is refuted
  std::optional<double> threshold;  // of the guess "1"; learned where it is not given
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;

  /// Whether there is a claim that trials can refute, and not all of them are wanted.
  bool may_stop() const;
  /// Even, at least kLeast; a confidence in (0.75, 1), a delta in [0, 1).
  Result<void> check() const;
  static constexpr std::uint64_t kLeast = 100;
};

/// What an audit found. `epsilon_lower` holds with the plan's confidence.
struct AuditFinding {
  double epsilon_lower = 0.0;
  Verdict verdict = Verdict::kConsistent;
  Guesses guesses;     // of the held-out trials
  LowerBounds bounds;  // at the confidence of the look that decided
  double threshold = 0.0;
  std::uint64_t trials = 0;   // made, with those that the test was learned on
  std::uint64_t learned = 0;  // of them, to learn the test
  bool stopped_early = false;
  double seconds = 0.0;
};

/// The same finding for the same plan, whatever the number of threads. Memory does not grow with
/// the number of trials.
Result<AuditFinding> audit_scores(const ScoreSource& source, const AuditPlan& plan);

}  // namespace sotto
