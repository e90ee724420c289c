#include "base/exact/binomial.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sotto {
namespace {

/// ln n! minus Stirling's approximation of it.
double stirling_error(double n) {
  constexpr double kSmall[] = {0.0,
                               0.081061466795327258,
                               0.041340695955409294,
                               0.027677925684998339,
                               0.020790672103765093,
                               0.016644691189821193,
                               0.013876128823070748,
                               0.011896709945891770,
                               0.010411265261972096,
                               0.0092554621827127329,
                               0.0083305634333631366,
                               0.0075736754879518407,
                               0.0069428401072095299,
                               0.0064089941880042071,
                               0.0059513701127588475,
                               0.0055547335519628013};
  if (n < 16.0) return kSmall[static_cast<std::size_t>(n)];
  const double s = 1.0 / (n * n);
  return (1.0 / 12.0 - s * (1.0 / 360.0 -
                            s * (1.0 / 1260.0 -
                                 s * (1.0 / 1680.0 - s * (1.0 / 1188.0 - s * 691.0 / 360360.0))))) /
         n;
}

/// x ln(x / mean) + mean - x, without cancellation near the mean.
double deviance(double x, double mean) {
  const double difference = x - mean;
  if (std::abs(difference) < 0.1 * (x + mean)) {
    const double v = difference / (x + mean);
    double sum = difference * v;
    double term = 2.0 * x * v;
    const double square = v * v;
    for (int j = 1; j < 1000; ++j) {
      term *= square;
      const double next = sum + term / (2 * j + 1);
      if (next == sum) break;
      sum = next;
    }
    return sum;
  }
  return x * std::log(x / mean) + mean - x;
}

}  // namespace

double log_binomial(std::uint64_t trials, std::uint64_t successes, double p, double q) {
  const auto n = static_cast<double>(trials);
  const auto k = static_cast<double>(successes);
  const double rest = n - k;
  if (successes == 0) return trials == 0 ? 0.0 : (p < 0.1 ? n * std::log1p(-p) : n * std::log(q));
  if (successes == trials) return q < 0.1 ? n * std::log1p(-q) : n * std::log(p);
  const double shape = stirling_error(n) - stirling_error(k) - stirling_error(rest) -
                       deviance(k, n * p) - deviance(rest, n * q);
  return shape - 0.5 * (std::log(2.0 * std::numbers::pi) + std::log(k) + std::log1p(-k / n));
}

BinomialWindow binomial_window(std::uint64_t n, double p, double q, double tail) {
  BinomialWindow window;
  const double odds = p / q;
  auto mode = static_cast<std::uint64_t>(
      std::min((static_cast<double>(n) + 1.0) * p, static_cast<double>(n)));
  const double peak = std::exp(log_binomial(n, mode, p, q));
  // From the mode both ways, by the ratio of neighbours; a side ends where the rest, which falls
  // faster than geometrically, is below the tail.
  std::vector<double> down;
  double probability = peak;
  std::uint64_t k = mode;
  while (k > 0) {
    const double ratio = static_cast<double>(k) / (static_cast<double>(n - k + 1) * odds);
    probability *= ratio;
    const double rest = ratio < 1.0 ? probability / (1.0 - ratio) : 1.0;
    if (rest < tail) {
      window.below = rest * (1.0 + kBinomialError);
      break;
    }
    down.push_back(probability);
    --k;
  }
  window.first = k;
  window.probabilities.assign(down.rbegin(), down.rend());
  window.probabilities.push_back(peak);
  probability = peak;
  for (k = mode; k < n; ++k) {
    const double ratio = static_cast<double>(n - k) / static_cast<double>(k + 1) * odds;
    probability *= ratio;
    const double rest = ratio < 1.0 ? probability / (1.0 - ratio) : 1.0;
    if (rest < tail) {
      window.above = rest * (1.0 + kBinomialError);
      break;
    }
    window.probabilities.push_back(probability);
  }
  return window;
}

}  // namespace sotto
