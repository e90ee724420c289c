// The likelihood ratio on numbers that can be checked with a pencil.
#include "attack/lira.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sotto {
namespace {

using Relation = Confidences::Relation;

TEST(Lira, TheLogitOfTheLabel) {
  const std::vector<float> scores = {1.0F, 3.0F, 0.5F};
  const double sum = std::exp(1.0) + std::exp(3.0) + std::exp(0.5);
  const double p = std::exp(3.0) / sum;
  EXPECT_NEAR(logit_of_label(scores, 1), std::log(p / (1.0 - p)), 1e-6);
  EXPECT_NEAR(logit_of_label(std::vector<float>{90.0F, -90.0F}, 0), 180.0, 1e-4);
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isfinite(logit_of_label(std::vector<float>{infinite, 0.0F}, 0)));
  EXPECT_TRUE(std::isfinite(logit_of_label(std::vector<float>{0.0F, infinite}, 0)));
  EXPECT_TRUE(std::isfinite(logit_of_label(std::vector<float>{std::nanf(""), 1.0F}, 0)));
}

/// Two samples in four models: in with 3 and 5 (mean 4), out with 0 and 2 (mean 1). Both samples
/// are alike, so the shared variances are 2 and 2.
Confidences four_models() {
  Confidences all(4, 2);
  const float phi[] = {3.0F, 5.0F, 0.0F, 2.0F};
  for (std::size_t model = 0; model < 4; ++model) {
    for (std::size_t sample = 0; sample < 2; ++sample) {
      all.phi(model)[sample] = phi[model];
      all.relation(model)[sample] = model < 2 ? Relation::kIn : Relation::kOut;
    }
  }
  return all;
}

TEST(Lira, ComparesTwoNormalDistributions) {
  const Confidences all = four_models();
  const std::vector<std::size_t> shadows = {0, 1, 2, 3};
  const LikelihoodRatio ratio(all, shadows);
  // (phi - 1)^2 / 4 - (phi - 4)^2 / 4.
  EXPECT_NEAR(*ratio.online(0, 2.5), 0.0, 1e-12);
  EXPECT_NEAR(*ratio.online(1, 4.0), 9.0 / 4.0, 1e-12);
  EXPECT_NEAR(*ratio.offline(0, 4.0), 3.0 / std::sqrt(2.0), 1e-12);
}

TEST(Lira, SaysNothingWithoutModels) {
  Confidences all = four_models();
  all.relation(1)[0] = Relation::kNeither;
  const std::vector<std::size_t> shadows = {0, 1, 2, 3};
  const LikelihoodRatio ratio(all, shadows);
  EXPECT_FALSE(ratio.online(0, 1.0).has_value());
  EXPECT_TRUE(ratio.offline(0, 1.0).has_value());
  EXPECT_TRUE(ratio.online(1, 1.0).has_value());
  const std::vector<std::size_t> fewer = {0, 1, 2};
  EXPECT_FALSE(LikelihoodRatio(all, fewer).offline(1, 1.0).has_value());
}

}  // namespace
}  // namespace sotto
