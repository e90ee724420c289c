#include "plan/ranges.h"

#include <algorithm>
#include <cmath>

#include "recipe/tensor_rules.h"

namespace sotto {
namespace {

/// A range may shrink to so much of itself in one round: noise may look like a tensor of zeros.
constexpr double kMostShrinking = 0.5;
constexpr double kMostGrowth = 2.0;

struct Spread {
  double mean = 0.0;
  double variance = 0.0;
};

template <class T>
Spread spread_of(std::span<const T> values) {
  Spread spread;
  const auto count = static_cast<double>(values.size());
  for (const T value : values) spread.mean += static_cast<double>(value) / count;
  for (const T value : values) {
    const double off = static_cast<double>(value) - spread.mean;
    spread.variance += off * off / count;
  }
  return spread;
}

/// The least radius: a tensor whose values are all equal (a norm's scale, a bias of zeros) must be
/// able to change.
Range initial_range(std::span<const float> values, double margin) {
  constexpr double kLeastRadius = 0.1;
  const Spread spread = spread_of(values);
  return {spread.mean, std::max(margin * std::sqrt(spread.variance), kLeastRadius)};
}

}  // namespace

std::vector<Range> start_ranges(const Recipe& recipe, const Layout& layout,
                                std::span<const float> initial) {
  std::vector<Range> ranges;
  for (const TensorSpec& tensor : layout.tensors()) {
    Range range{recipe.privacy.centre.value_or(0.0), recipe.privacy.radius.value_or(1.0)};
    const TensorRule rule = rule_of(recipe, tensor.name);
    const bool from_initial =
        recipe.bound.range == RangeRule::kInitial ||
        (recipe.bound.range == RangeRule::kAdaptive && !recipe.privacy.radius);
    if (from_initial && !initial.empty()) {
      range = initial_range(initial.subspan(tensor.offset, tensor.size), recipe.bound.margin);
    }
    range.centre = rule.centre.value_or(range.centre);
    range.radius = rule.radius.value_or(range.radius);
    ranges.push_back(range);
  }
  return ranges;
}

Range adapted_range(std::span<const double> released, double noise_variance, double margin,
                    Range now) {
  if (released.size() < 2) return now;
  const Spread spread = spread_of(released);
  const double variance = std::max(0.0, spread.variance - noise_variance);
  const double radius = std::clamp(margin * std::sqrt(variance), kMostShrinking * now.radius,
                                   kMostGrowth * now.radius);
  return {spread.mean, radius};
}

}  // namespace sotto
