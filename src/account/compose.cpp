// Composition in closed form: equal pure mechanisms, and Rényi divergences.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exact/binomial.h"
#include "base/exact/exact.h"
#include "sotto/account.h"

namespace sotto {
namespace {

/// Of a few elementary functions, relatively.
constexpr double kFunction = 1e-12;

double up(double value) { return value + kFunction * std::abs(value); }

/// ln cosh x, also for small x.
double log_cosh(double x) {
  x = std::abs(x);
  if (x > 20.0) return x - std::log(2.0) + std::exp(-2.0 * x);
  const double half = std::sinh(x / 2.0);
  return std::log1p(2.0 * half * half);
}

}  // namespace

// Kairouz, Oh, Viswanath 2015, Theorem 3.3: randomized response is the worst of all epsilon0-LDP
// mechanisms, also when composed, so with I ~ Bin(k, e^e0 / (1 + e^e0)) truthful answers the loss
// is (2 I - k) e0 and delta = E[(1 - e^(eps - (2 I - k) e0))+].
double optimal_delta(double epsilon0, std::uint64_t count, double epsilon) {
  const auto k = static_cast<double>(count);
  const double truth = 1.0 / (1.0 + std::exp(-epsilon0));
  const double lie = std::exp(-epsilon0) * truth;
  const double threshold = (epsilon / epsilon0 + k) / 2.0;
  if (threshold >= k) return 0.0;
  // A count that rounding puts on the wrong side of the threshold has a loss of about epsilon: its
  // term is next to nothing, and it is left in when positive.
  auto first = threshold < 0.0 ? 0 : static_cast<std::uint64_t>(threshold);
  const double deviation = std::sqrt(k * truth * lie);
  const double lowest = k * truth - 12.0 * deviation - 60.0;
  double sum = std::numeric_limits<double>::min();  // for probabilities that underflow
  if (lowest > static_cast<double>(first)) {        // what lies below is less than 10^-25
    first = static_cast<std::uint64_t>(lowest);
    sum = 1e-25;
  }
  const double odds = truth / lie;
  const auto growth = [&](std::uint64_t i) {
    return static_cast<double>(count - i) / static_cast<double>(i + 1) * odds;
  };
  // Below the mode a probability may underflow although later ones do not: those are left out.
  double log_probability = log_binomial(count, first, truth, lie);
  while (log_probability < -650.0 && first < count && growth(first) > 1.0) {
    log_probability = log_binomial(count, ++first, truth, lie);
    sum = std::max(sum, 1e-250);
  }
  double probability = std::exp(log_probability);
  for (std::uint64_t i = first; i <= count; ++i) {
    const double above = (2.0 * static_cast<double>(i) - k) * epsilon0 - epsilon;
    if (above > 0.0) sum -= probability * std::expm1(-above);
    const double ratio = growth(i);
    probability *= ratio;
    // From here on the rest falls geometrically.
    if (ratio < 1.0 && probability <= 1e-18 * sum * (1.0 - ratio)) {
      sum += probability / (1.0 - ratio);
      break;
    }
  }
  return std::min(1.0, sum * (1.0 + 1e-11));
}

double optimal_epsilon(double epsilon0, std::uint64_t count, double delta) {
  const double most = exact::multiply_up(epsilon0, static_cast<double>(count));
  if (!(delta > 0.0) || !std::isfinite(most) || most == 0.0) return most;
  if (delta >= 1.0 || optimal_delta(epsilon0, count, 0.0) <= delta) return 0.0;
  double low = 0.0, high = most;
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2.0;
    if (middle <= low || middle >= high) break;
    (optimal_delta(epsilon0, count, middle) <= delta ? high : low) = middle;
  }
  return std::min(most, up(high));
}

// ln((e^(a e) + e^((1 - a) e)) / (1 + e^e)) / (a - 1), written without overflow.
double renyi_of_pure(double epsilon, double order) {
  if (!(epsilon > 0.0)) return 0.0;
  if (!std::isfinite(epsilon) || !std::isfinite(order)) return epsilon;
  const double larger = log_cosh((order - 0.5) * epsilon), smaller = log_cosh(epsilon / 2.0);
  const double value = (larger - smaller + kFunction * (larger + smaller)) / (order - 1.0);
  return std::min(epsilon, value);
}

// Canonne, Kamath, Steinke 2020, Proposition 12.
double renyi_to_epsilon(double order, double divergence, double delta) {
  if (!(delta > 0.0)) return std::numeric_limits<double>::infinity();
  if (delta >= 1.0) return 0.0;
  const double cost = (std::log(1.0 / delta) - std::log(order)) / (order - 1.0);
  const double gain = std::log1p(-1.0 / order);
  const double error = kFunction * (divergence + std::abs(cost) + std::abs(gain));
  return std::max(0.0, divergence + cost + gain + error);
}

}  // namespace sotto
