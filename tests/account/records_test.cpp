// Single records under DPSGD, against values that were computed another way: by an FFT of the
// loss's exact distribution function on two million points, once for each direction.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sotto/account.h"
#include "sotto/claims.h"

namespace sotto {
namespace {

TEST(Records, DpsgdMatchesAnotherAccountant) {
  struct Known {
    double noise, rate;
    std::uint64_t steps;
    double delta, epsilon;  // the larger one of both directions
  };
  constexpr Known kKnown[] = {{1.0, 0.01, 10'000, 1e-5, 6.1877},
                              {2.0, 0.05, 1000, 1e-5, 3.6997},
                              {0.8, 0.02, 500, 1e-6, 5.4403},
                              {4.0, 0.2, 100, 1e-5, 2.1021},
                              {1.1, 256.0 / 60'000.0, 14'062, 1e-5, 2.3816}};
  for (const Known& known : kKnown) {
    const Claim claim = dpsgd_claim(known.noise, known.rate, known.steps, known.delta);
    EXPECT_GE(claim.epsilon, known.epsilon - 1e-4) << known.noise;
    EXPECT_LE(claim.epsilon, known.epsilon * 1.005) << known.noise;
    EXPECT_EQ(claim.delta, known.delta);
  }
}

/// Of one step: where the ratio of both distributions exceeds e^epsilon is a half line.
TEST(Records, OneStepIsExactInBothDirections) {
  const auto above = [](double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); };
  for (const double rate : {0.01, 0.3, 0.9}) {
    const PrivacyLoss loss = PrivacyLoss::gaussian(1.0).poisson(rate);
    for (const double epsilon : {0.001, 0.1, 0.5, 1.0, 2.0}) {
      const auto edge = [rate](double ratio) {
        return std::log((ratio - 1.0 + rate) / rate) + 0.5;
      };
      const double x = edge(std::exp(epsilon));
      const auto with = [&](double at) {
        return rate * above(at - 1.0) + (1.0 - rate) * above(at);
      };
      const double forward = with(x) - std::exp(epsilon) * above(x);
      double backward = 0.0;
      if (std::exp(-epsilon) > 1.0 - rate) {
        const double y = edge(std::exp(-epsilon));
        backward = (1.0 - above(y)) - std::exp(epsilon) * (1.0 - with(y));
      }
      const double exact = std::max(forward, backward);
      EXPECT_GE(loss.delta(epsilon), exact) << rate << ' ' << epsilon;
      EXPECT_LE(loss.delta(epsilon), exact * 1.001 + 1e-10) << rate << ' ' << epsilon;
    }
  }
}

TEST(Records, NobodyIsDrawnAndEverybodyIsDrawn) {
  EXPECT_EQ(dpsgd_claim(1.0, 0.0, 10, 1e-5).epsilon, 0.0);
  EXPECT_EQ(dpsgd_claim(1.0, 0.5, 0, 1e-5).epsilon, 0.0);
  EXPECT_EQ(dpsgd_claim(1.0, 0.5, 0, 1e-5).delta, 0.0);
  // All records in every batch: plain Gaussian noise.
  const double plain = PrivacyLoss::gaussian(1.0).times(10).epsilon(1e-5);
  EXPECT_NEAR(dpsgd_claim(1.0, 1.0, 10, 1e-5).epsilon, plain, 1e-9);
  EXPECT_GE(dpsgd_claim(1.0, 1.0, 10, 1e-5).epsilon, plain);
  for (const double noise : {0.0, -1.0, std::nan("")}) {
    EXPECT_TRUE(std::isinf(dpsgd_claim(noise, 0.1, 10, 1e-5).epsilon)) << noise;
  }
  EXPECT_TRUE(std::isinf(dpsgd_claim(1.0, 0.1, 10, 0.0).epsilon));
}

TEST(Records, IsNoClaimAboutAClient) {
  const Claim claim = dpsgd_claim(1.0, 0.01, 100, 1e-5);
  EXPECT_FALSE(promises_client(claim));
  EXPECT_EQ(client_claim({claim}), nullptr);
  EXPECT_NE(claim.assumption.find("not about the client"), std::string::npos);
}

}  // namespace
}  // namespace sotto
