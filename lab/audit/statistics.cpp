// Confidence limits and the bounds on epsilon that follow from them.
//
// Clopper-Pearson limits are quantiles of beta distributions (Boost's incomplete beta). Error rates
// are small where epsilon is large, so every bound is computed from upper limits of error rates and
// never from 1 minus something close to 1. With a fair secret bit the pooled count is binomial;
// with as many trials of either input it is a sum of two binomials, whose upper tail is no heavier
// than that of one binomial with the mean rate (Hoeffding 1956, theorem 4; its condition k >= K p +
// 1 holds where the confidence is above 3/4).
#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sotto/audit.h"

namespace sotto {
namespace {

/// More than the relative error of the inverse incomplete beta function.
constexpr double kOutward = 1e-10;
/// Standard deviations by which the trials of the two inputs may differ and still pass for a
/// coin's.
constexpr double kFairCoin = 6.0;

void check(std::uint64_t successes, std::uint64_t trials, double confidence) {
  if (successes > trials) throw std::invalid_argument("audit: more successes than trials");
  if (!(confidence > 0.0 && confidence < 1.0)) {
    throw std::invalid_argument("audit: a confidence lies strictly between 0 and 1");
  }
}

/// ln((1 - delta - other) / error), no less than 0, which every mechanism has.
double log_ratio(double error, double other, double delta) {
  const double rest = 1.0 - delta - other;
  if (!(rest > 0.0)) return 0.0;
  if (error == 0.0) return std::numeric_limits<double>::infinity();
  return std::max(0.0, std::log(rest / error));
}

/// Both directions of a pair of error rates.
double both_ways(double fpr, double fnr, double delta) {
  return std::max(log_ratio(fnr, fpr, delta), log_ratio(fpr, fnr, delta));
}

double two_sided(const Guesses& guesses, double error, double delta) {
  return both_ways(proportion_upper(guesses.false_positives, guesses.zeros, 1.0 - error / 2.0),
                   proportion_upper(guesses.false_negatives, guesses.ones, 1.0 - error / 2.0),
                   delta);
}

double pooled(const Guesses& guesses, double error, double delta) {
  const auto zeros = static_cast<double>(guesses.zeros);
  const auto ones = static_cast<double>(guesses.ones);
  if (std::abs(zeros - ones) > kFairCoin * std::sqrt(zeros + ones)) return 0.0;
  const double wrong = proportion_upper(guesses.wrong(), guesses.trials(), 1.0 - error);
  return log_ratio(wrong, wrong, delta);
}

double rate(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Guesses& Guesses::operator+=(const Guesses& other) noexcept {
  zeros += other.zeros;
  false_positives += other.false_positives;
  ones += other.ones;
  false_negatives += other.false_negatives;
  return *this;
}

double proportion_lower(std::uint64_t successes, std::uint64_t trials, double confidence) {
  check(successes, trials, confidence);
  if (successes == 0) return 0.0;
  const auto k = static_cast<double>(successes);
  const auto n = static_cast<double>(trials);
  const double limit = boost::math::ibeta_inv(k, n - k + 1.0, 1.0 - confidence);
  return limit * (1.0 - kOutward);
}

double proportion_upper(std::uint64_t successes, std::uint64_t trials, double confidence) {
  check(successes, trials, confidence);
  if (successes == trials) return 1.0;
  const auto k = static_cast<double>(successes);
  const auto n = static_cast<double>(trials);
  const double limit = boost::math::ibetac_inv(k + 1.0, n - k, 1.0 - confidence);
  return std::min(1.0, limit * (1.0 + kOutward));
}

LowerBounds lower_bounds(const Guesses& guesses, double confidence, double delta) {
  if (guesses.false_positives > guesses.zeros || guesses.false_negatives > guesses.ones) {
    throw std::invalid_argument("audit: more wrong guesses than trials");
  }
  if (!(confidence > 0.75 && confidence < 1.0)) {
    throw std::invalid_argument("audit: a confidence lies strictly between 0.75 and 1");
  }
  if (!(delta >= 0.0 && delta < 1.0)) throw std::invalid_argument("audit: delta lies in [0, 1)");
  LowerBounds bounds;
  if (guesses.trials() == 0) return bounds;
  bounds.fpr = rate(guesses.false_positives, guesses.zeros);
  bounds.fnr = rate(guesses.false_negatives, guesses.ones);
  bounds.accuracy = 1.0 - rate(guesses.wrong(), guesses.trials());
  if (guesses.zeros > 0 && guesses.ones > 0) {
    bounds.raw = both_ways(bounds.fpr, bounds.fnr, delta);
  }
  const double error = 1.0 - confidence;
  bounds.two_sided = two_sided(guesses, error, delta);
  bounds.pooled = pooled(guesses, error, delta);
  bounds.best =
      std::max(two_sided(guesses, error / 2.0, delta), pooled(guesses, error / 2.0, delta));
  return bounds;
}

std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::kViolated ? "violated" : "consistent";
}

Verdict judge(double epsilon_lower, double claim) {
  return epsilon_lower > claim ? Verdict::kViolated : Verdict::kConsistent;
}

}  // namespace sotto
