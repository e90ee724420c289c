// Unlike releases: mixtures agree with what is known of their parts.
#include "account/mixed.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sotto {
namespace {

const Bound& named(const std::vector<Bound>& bounds, const std::string& name) {
  for (const Bound& bound : bounds) {
    if (bound.name == name) return bound;
  }
  ADD_FAILURE() << name;
  return bounds.front();
}

TEST(Mixed, OneKindIsComposition) {
  const auto bounds = mixed_bounds({{{0.1, 1000}}, {}}, 1e-6);
  EXPECT_NEAR(*named(bounds, "optimal").epsilon, 19.345, 0.005 * 19.345);
}

/// Split in two kinds of the same size it is the same mixture.
TEST(Mixed, EqualKindsAgreeWithTheOptimum) {
  const auto bounds = mixed_bounds({{{0.1, 400}, {0.1, 600}}, {}}, 1e-6);
  const double optimal = optimal_epsilon(0.1, 1000, 1e-6);
  const double found = *named(bounds, "loss-distribution").epsilon;
  EXPECT_GE(found, optimal);
  EXPECT_LE(found, 1.005 * optimal);
  EXPECT_GE(*named(bounds, "sequential").epsilon, 100.0);
  EXPECT_LE(*named(bounds, "sequential").epsilon, 100.0 + 1e-9);
  EXPECT_GE(*named(bounds, "renyi").epsilon, found);
  EXPECT_EQ(best_of(bounds)->name, "loss-distribution");
}

/// Gaussian noise composes in squares; delta of a ratio is known in closed form.
TEST(Mixed, GaussianNoiseIsAsKnown) {
  const auto bounds = mixed_bounds({{}, {{0.1, 100}, {0.5, 4}}}, 1e-6);
  EXPECT_FALSE(named(bounds, "sequential").valid());
  EXPECT_FALSE(named(bounds, "sequential").reason.empty());
  const double ratio = std::sqrt(100 * 0.01 + 4 * 0.25);
  const auto upper = [](double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); };
  const auto delta = [&](double epsilon) {
    return upper(epsilon / ratio - ratio / 2) -
           std::exp(epsilon) * upper(epsilon / ratio + ratio / 2);
  };
  const double found = *named(bounds, "loss-distribution").epsilon;
  EXPECT_LE(delta(found), 1e-6);
  EXPECT_GT(delta(found / 1.005), 1e-6);
  EXPECT_GT(*named(bounds, "renyi").epsilon, found);
  EXPECT_LT(*named(bounds, "renyi").epsilon, 1.1 * found);
}

TEST(Mixed, EveryPartCosts) {
  const auto cost = [](const Mixture& mixture) {
    return *best_of(mixed_bounds(mixture, 1e-6))->epsilon;
  };
  const double both = cost({{{0.5, 10}}, {{0.2, 10}}});
  EXPECT_GT(both, cost({{{0.5, 10}}, {}}));
  EXPECT_GT(both, cost({{}, {{0.2, 10}}}));
  EXPECT_GT(cost({{{0.5, 10}, {2.0, 1}}, {{0.2, 10}}}), both);
}

}  // namespace
}  // namespace sotto
