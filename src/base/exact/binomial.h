// Binomial probabilities to full relative precision, whatever the number of trials.
//
// Differences of log-gamma lose all digits when n is large; Loader's form does not: it writes the
// probability as the one at its own mode times e^-deviance, and every term is computed without
// cancellation. Relative errors stay below kBinomialError for n up to 10^12.
#pragma once

#include <cstdint>
#include <vector>

namespace sotto {

inline constexpr double kBinomialError = 1e-12;

/// ln P(Bin(n, p) = k), with q = 1 - p given apart so that neither loses digits.
double log_binomial(std::uint64_t n, std::uint64_t k, double p, double q);

/// The probabilities of first, first + 1, ...: all of those that matter.
struct BinomialWindow {
  std::uint64_t first = 0;
  std::vector<double> probabilities;
  double below = 0.0;  // no less than the probability of what lies below and above the window
  double above = 0.0;

  std::uint64_t end() const { return first + probabilities.size(); }
};
/// Leaves out, on either side, values with a probability of about `tail` altogether.
BinomialWindow binomial_window(std::uint64_t n, double p, double q, double tail);

}  // namespace sotto
