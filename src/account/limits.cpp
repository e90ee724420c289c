// The parts of the ledger that need no database: a federation links the core alone and calls the
// rest through the interface.
//
// The order of the Rényi filter: a mechanism of rho-zCDP has Rényi divergence rho a at every order
// a, and guarantees epsilon = rho + 2 sqrt(rho ln(1/delta)), attained at a = 1 +
// sqrt(ln(1/delta) / rho) (Bun, Steinke 2016). Solved for the rho that spends the limits exactly.
// Any order above 1 would be valid, as long as no report had a say in it.
#include <cmath>

#include "sotto/ledger.h"

namespace sotto {

Limits Limits::unlimited() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return {.epsilon_per_round = kInfinite, .epsilon = kInfinite, .delta = 1.0};
}

double Limits::renyi_order() const {
  if (!(epsilon > 0.0 && std::isfinite(epsilon) && delta > 0.0 && delta < 1.0)) return 0.0;
  const double log_delta = -std::log(delta);
  // sqrt(l + e) - sqrt(l) without the cancellation.
  const double root = epsilon / (std::sqrt(log_delta + epsilon) + std::sqrt(log_delta));
  const double order = 1.0 + std::sqrt(log_delta) / root;
  return std::isfinite(order) && order > 1.0 ? order : 0.0;
}

Cost Cost::of(const Guarantee& guarantee) {
  return {.epsilon = guarantee.epsilon,
          .delta = guarantee.delta,
          .unit_epsilon = guarantee.unit_epsilon,
          .units = guarantee.units};
}

Result<void> Ledger::set_limits_all(std::span<const AccountLimits> accounts) {
  for (const AccountLimits& one : accounts) {
    SOTTO_CHECK(set_limits(one.client, one.dataset, one.limits));
  }
  return {};
}

Result<Charge> Ledger::charge(const ChargeRequest& request) {
  SOTTO_TRY(auto answers, charge_all({&request, 1}));
  if (answers.size() != 1) return fail(ErrorKind::kInternal, "the ledger gave no answer");
  return std::move(answers.front());
}

}  // namespace sotto
