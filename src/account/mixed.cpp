#include "account/mixed.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exact/exact.h"

namespace sotto {
namespace {

double times_up(double value, std::uint64_t count) {
  return exact::multiply_up(value, static_cast<double>(count));
}

Bound sequential(const Mixture& mixture) {
  Bound bound;
  bound.name = "sequential";
  bound.theorem = "basic composition: epsilons add up";
  bound.assumption = "-";
  if (!mixture.gaussian.empty()) {
    bound.reason = "Gaussian noise has no epsilon without a delta";
    return bound;
  }
  double sum = 0.0;
  for (const Releases& kind : mixture.pure) {
    sum = exact::add_up(sum, times_up(kind.size, kind.count));
  }
  bound.epsilon = sum;
  return bound;
}

/// Every order is valid, so a list of some costs accuracy alone.
Bound renyi(const Mixture& mixture, double delta) {
  constexpr int kSmallest = -40, kLargest = 80;
  double best = std::numeric_limits<double>::infinity();
  for (int i = kSmallest; i <= kLargest; ++i) {
    const double order = 1.0 + std::exp2(0.25 * i);
    double sum = 0.0;
    for (const Releases& kind : mixture.pure) {
      sum = exact::add_up(sum, times_up(renyi_of_pure(kind.size, order), kind.count));
    }
    for (const Releases& kind : mixture.gaussian) {
      const double one = exact::multiply_up(exact::multiply_up(order / 2.0, kind.size), kind.size);
      sum = exact::add_up(sum, times_up(one, kind.count));
    }
    best = std::min(best, renyi_to_epsilon(order, sum, delta));
  }
  Bound bound;
  bound.name = "renyi";
  bound.delta = delta;
  bound.theorem = "Rényi composition (Mironov 2017), the best one of 121 orders";
  bound.assumption = "-";
  if (std::isfinite(best)) {
    bound.epsilon = best;
  } else {
    bound.reason = "no order has a finite epsilon at this delta";
  }
  return bound;
}

Bound loss_distribution(const Mixture& mixture, double delta) {
  PrivacyLoss loss;
  for (const Releases& kind : mixture.pure) {
    loss = loss.with(PrivacyLoss::pure(kind.size).times(kind.count));
  }
  for (const Releases& kind : mixture.gaussian) {
    loss = loss.with(PrivacyLoss::gaussian(kind.size).times(kind.count));
  }
  Bound bound;
  bound.name = "loss-distribution";
  bound.delta = delta;
  bound.theorem = "law of the summed privacy loss, rounded pessimistically to a grid";
  bound.assumption = "-";
  const double epsilon = loss.epsilon(delta);
  if (std::isfinite(epsilon)) {
    bound.epsilon = epsilon;
  } else {
    bound.reason = "the grid cuts off more than this delta";
  }
  return bound;
}

}  // namespace

std::vector<Bound> mixed_bounds(const Mixture& mixture, double delta) {
  if (mixture.gaussian.empty() && mixture.pure.size() == 1) {
    return composition_bounds(mixture.pure[0].size, mixture.pure[0].count, delta);
  }
  return {sequential(mixture), renyi(mixture, delta), loss_distribution(mixture, delta)};
}

}  // namespace sotto
