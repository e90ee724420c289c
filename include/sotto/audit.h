// What a privacy audit may say from counted guesses: lower bounds on epsilon that hold with a
// stated confidence.
//
// An adversary guesses which of two inputs a report came from. Under (epsilon, delta)-LDP every
// test obeys FPR + e^epsilon FNR >= 1 - delta, and the same with FPR and FNR exchanged (Kairouz,
// Oh, Viswanath 2015). Confidence limits of the two error rates therefore bound epsilon from below;
// no number of trials bounds it from above.
#pragma once

#include <cstdint>
#include <string_view>

namespace sotto {

/// Trials under input 0 and input 1, and the wrong guesses among them.
struct Guesses {
  std::uint64_t zeros = 0;
  std::uint64_t false_positives = 0;
  std::uint64_t ones = 0;
  std::uint64_t false_negatives = 0;

  std::uint64_t trials() const noexcept { return zeros + ones; }
  std::uint64_t wrong() const noexcept { return false_positives + false_negatives; }
  Guesses& operator+=(const Guesses& other) noexcept;
};

struct LowerBounds {
  /// max(ln((1-FPR)/FNR), ln((1-FNR)/FPR)) of the plain rates: no interval, no confidence; may be
  /// infinite.
  double raw = 0.0;
  /// Clopper-Pearson limits of FPR and of FNR, each at half the error.
  double two_sided = 0.0;
  /// All guesses together: at most (e^eps + delta)/(1 + e^eps) of them are correct. Needs the
  /// secret bit to be a fair coin or as many trials of either input; 0 where the counts are more
  /// unequal than a fair coin makes them.
  double pooled = 0.0;
  /// The one to report: kBestRule.
  double best = 0.0;
  double accuracy = 0.0;
  double fpr = 0.0;
  double fnr = 0.0;
};

/// How `best` is chosen; fixed before any trial, so that it holds at the confidence.
inline constexpr std::string_view kBestRule =
    "larger of the pooled and the two-sided bound, each at half the error";

/// `two_sided`, `pooled` and `best` are each below the truth with at least this confidence. More
/// wrong guesses than trials, a confidence outside (0.75, 1) or a delta outside [0, 1) are faults
/// of the program and throw.
LowerBounds lower_bounds(const Guesses& guesses, double confidence, double delta = 0.0);

/// One-sided Clopper-Pearson limits of a proportion, rounded outwards.
double proportion_lower(std::uint64_t successes, std::uint64_t trials, double confidence);
double proportion_upper(std::uint64_t successes, std::uint64_t trials, double confidence);

enum class Verdict { kConsistent, kViolated };
/// "consistent" or "violated".
std::string_view name_of(Verdict verdict);
/// Violated when the lower bound exceeds the claim.
Verdict judge(double epsilon_lower, double claim);

}  // namespace sotto
