#include "account/releases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "account/coupling.h"
#include "base/exact/exact.h"

namespace sotto {
namespace {

/// Each costs up to thirty convolutions.
constexpr std::size_t kMostKinds = 6;

ReleaseKind kind_of(const Mechanism& mechanism, const Guarantee& guarantee) {
  ReleaseKind kind;
  kind.count = 1;
  if (guarantee.gaussian_ratio > 0.0) {
    kind.ratio = guarantee.gaussian_ratio;
    kind.coupling = mechanism.background(0, mechanism.outputs()).coupling;
  } else if (guarantee.delta > 0.0 || guarantee.unit != GuaranteeUnit::kWeight) {
    kind.epsilon = guarantee.epsilon;
    kind.delta = guarantee.delta;
  } else {
    kind.epsilon = guarantee.unit_epsilon;
    kind.count = guarantee.units;
  }
  return kind;
}

bool same(const ReleaseKind& a, const ReleaseKind& b) {
  return a.epsilon == b.epsilon && a.delta == b.delta && a.ratio == b.ratio &&
         a.coupling == b.coupling;
}

/// What pure releases cost in the mean: the measure of what joining two kinds loses.
double mean_loss(double epsilon) { return epsilon * std::tanh(epsilon / 2.0); }

/// Pure kinds of nearby epsilons become the larger one of them, the cheapest first.
void join(std::vector<ReleaseKind>& kinds) {
  const auto impure = std::partition(kinds.begin(), kinds.end(),
                                     [](const ReleaseKind& kind) { return kind.pure(); });
  std::vector<ReleaseKind> pure(kinds.begin(), impure);
  std::ranges::sort(pure, {}, &ReleaseKind::epsilon);
  while (pure.size() > kMostKinds) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < pure.size(); ++i) {
      const double cost = static_cast<double>(pure[i].count) *
                          (mean_loss(pure[i + 1].epsilon) - mean_loss(pure[i].epsilon));
      if (cost < least) {
        least = cost;
        best = i;
      }
    }
    pure[best + 1].count += pure[best].count;
    pure.erase(pure.begin() + static_cast<std::ptrdiff_t>(best));
  }
  pure.insert(pure.end(), impure, kinds.end());
  kinds = std::move(pure);
}

}  // namespace

std::vector<const Mechanism*> alternatives(const Turn& turn, std::size_t place) {
  std::vector<const Mechanism*> all;
  for (const auto& together : turn.variants) all.push_back(together.at(place).get());
  return all;
}

std::uint64_t all_rounds(const Turn& turn) {
  std::uint64_t sum = 0;
  for (const auto& [size, rounds] : turn.batches) sum += rounds;
  return std::max({sum, turn.rounds, turn.held});
}

RoundCost cost_of(const Turn& turn) {
  RoundCost cost;
  if (turn.variants.empty()) return cost;
  cost.reports = turn.variants.front().size();
  for (const auto& together : turn.variants) {
    if (together.size() != cost.reports) {
      throw std::logic_error("a turn whose variants have unequal numbers of mechanisms");
    }
  }
  for (std::size_t place = 0; place < cost.reports; ++place) {
    std::vector<ReleaseKind> kinds;
    double epsilon = 0.0, delta = 0.0, alpha = 0.0;
    std::uint64_t weights = 0;
    for (const Mechanism* const mechanism : alternatives(turn, place)) {
      const Guarantee guarantee = mechanism->guarantee();
      kinds.push_back(kind_of(*mechanism, guarantee));
      epsilon = std::max(epsilon, guarantee.epsilon);
      delta = std::max(delta, guarantee.delta);
      alpha = std::max(alpha,
                       exact::multiply_up(guarantee.alpha, static_cast<double>(guarantee.units)));
      if (guarantee.unit == GuaranteeUnit::kWeight) weights = std::max(weights, guarantee.units);
    }
    // One that dominates all: of pure ones that with the largest epsilon and number of weights, of
    // Gaussian noise the largest ratio. A mixture has what is true of every whole report.
    ReleaseKind worst = kinds.front();
    const bool pure = std::ranges::all_of(kinds, &ReleaseKind::pure);
    if (pure || std::ranges::all_of(kinds, [](const auto& kind) { return kind.ratio > 0.0; })) {
      for (const ReleaseKind& kind : kinds) {
        worst.epsilon = std::max(worst.epsilon, kind.epsilon);
        worst.ratio = std::max(worst.ratio, kind.ratio);
        worst.coupling = std::max(worst.coupling, kind.coupling);
        worst.count = std::max(worst.count, kind.count);
      }
    } else {
      worst = {epsilon, delta, 0.0, 0.0, 1};
    }
    add(cost.kinds, {worst}, 1);
    cost.epsilon = exact::add_up(cost.epsilon, epsilon);
    cost.delta = std::min(1.0, exact::add_up(cost.delta, delta));
    cost.alpha = exact::add_up(cost.alpha, alpha);
    cost.weights += weights;
  }
  return cost;
}

void add(std::vector<ReleaseKind>& all, const std::vector<ReleaseKind>& kinds,
         std::uint64_t times) {
  for (const ReleaseKind& kind : kinds) {
    if (kind.count * times == 0) continue;
    const auto known =
        std::ranges::find_if(all, [&](const ReleaseKind& other) { return same(kind, other); });
    if (known != all.end()) {
      known->count += kind.count * times;
    } else {
      all.push_back(kind);
      all.back().count *= times;
    }
  }
}

std::uint64_t count_of(const std::vector<ReleaseKind>& kinds) {
  std::uint64_t sum = 0;
  for (const ReleaseKind& kind : kinds) sum += kind.count;
  return sum;
}

bool composes(const std::vector<ReleaseKind>& kinds) {
  return count_of(kinds) > 1 ||
         std::ranges::any_of(kinds, [](const ReleaseKind& kind) { return kind.ratio > 0.0; });
}

PrivacyLoss loss_of(std::vector<ReleaseKind> kinds) {
  join(kinds);
  PrivacyLoss loss;
  std::vector<ReleaseKind> gaussian;
  for (const ReleaseKind& kind : kinds) {
    if (kind.ratio > 0.0) {
      gaussian.push_back(kind);
    } else {
      loss = loss.with(PrivacyLoss::approximate(kind.epsilon, kind.delta).times(kind.count));
    }
  }
  if (gaussian.size() == 1) {
    return loss.with(PrivacyLoss::gaussian(gaussian[0].ratio).times(gaussian[0].count));
  }
  if (gaussian.empty()) return loss;
  // Independent Gaussian noise is Gaussian noise of the vector: squares of ratios add up.
  double squares = 0.0;
  for (const ReleaseKind& kind : gaussian) {
    const double square = exact::multiply_up(kind.ratio, kind.ratio);
    squares = exact::add_up(squares, exact::multiply_up(square, static_cast<double>(kind.count)));
  }
  return loss.with(PrivacyLoss::gaussian(std::sqrt(squares) * (1.0 + 0x1p-50)));
}

double composed_epsilon(const std::vector<ReleaseKind>& kinds, double delta) {
  double coupling = 0.0;
  for (const ReleaseKind& kind : kinds) {
    if (!std::isfinite(kind.epsilon)) return kind.epsilon;
    coupling =
        exact::add_up(coupling, exact::multiply_up(kind.coupling, static_cast<double>(kind.count)));
  }
  if (kinds.size() == 1 && kinds[0].pure()) {
    return optimal_epsilon(kinds[0].epsilon, kinds[0].count, delta);
  }
  const PrivacyLoss loss = loss_of(kinds);
  return coupled_epsilon([&](double part) { return loss.epsilon(part); }, delta, coupling)
      .value_or(std::numeric_limits<double>::infinity());
}

}  // namespace sotto
