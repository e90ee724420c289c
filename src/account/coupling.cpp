#include "account/coupling.h"

#include <algorithm>
#include <cmath>

#include "sotto/account.h"

namespace sotto {

std::optional<double> coupled_epsilon(const std::function<double(double delta)>& epsilon_at,
                                      double delta, double coupling) {
  if (coupling == 0.0) return epsilon_at(delta);
  // The second term may take 2^-20, 2^-19, ... 1/2 of delta. What is left for the first one falls
  // from step to step and epsilon grows, so the first step where the second term fits is the best.
  constexpr int kSteps = 20;
  for (int step = kSteps; step > 0; --step) {
    const double share = std::ldexp(delta, -step);
    if (2.0 * coupling > share) continue;  // e^epsilon is at least 1
    const double epsilon = epsilon_at(std::nextafter(delta - share, 0.0));
    // e^epsilon is a rounded number: far more than its error is allowed for.
    if (coupling * (1.0 + std::exp(epsilon)) * (1.0 + 0x1p-40) <= share) return epsilon;
  }
  return std::nullopt;
}

double composed_epsilon(double epsilon0, double tau, std::uint64_t count, double delta) {
  if (tau == 0.0) return optimal_epsilon(epsilon0, count, delta);
  const double own = std::min(1.0, tau * (1.0 + std::exp(epsilon0)) * (1.0 + 0x1p-40));
  return PrivacyLoss::approximate(epsilon0, own).times(count).epsilon(delta);
}

}  // namespace sotto
