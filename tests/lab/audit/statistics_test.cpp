// Bounds from counted guesses: values that were computed elsewhere, and coverage by simulation.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "sotto/audit.h"
#include "sotto/bits.h"

namespace sotto {
namespace {

/// A test with `wrong` of `trials` guesses wrong, split over both inputs.
Guesses balanced(std::uint64_t trials, std::uint64_t wrong) {
  return {trials / 2, wrong / 2, trials - trials / 2, wrong - wrong / 2};
}

TEST(Statistics, PooledBoundsOfTheOptimalAttack) {
  struct Row {
    double epsilon;
    std::uint64_t trials;
    double expected;
  };
  for (const Row& row : {Row{1, 1000, 0.881}, Row{2, 1000, 1.839}, Row{4, 1000, 3.601},
                         Row{4, 10'000, 3.874}, Row{8, 1'000'000, 7.911}}) {
    const double right = 1.0 / (1.0 + std::exp(-row.epsilon));
    const auto correct =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(row.trials) * right));
    const LowerBounds bounds = lower_bounds(balanced(row.trials, row.trials - correct), 0.95);
    EXPECT_NEAR(bounds.pooled, row.expected, 5.1e-4) << row.epsilon << ", " << row.trials;
    EXPECT_LT(bounds.best, bounds.raw);
  }
}

TEST(Statistics, CeilingsWithoutAnyError) {
  EXPECT_NEAR(lower_bounds(balanced(1000, 0), 0.95).pooled, 5.81, 0.005);
  EXPECT_NEAR(lower_bounds(balanced(10'000, 0), 0.95).pooled, 8.11, 0.005);
  EXPECT_NEAR(lower_bounds(balanced(1'000'000, 0), 0.95).pooled, 12.72, 0.005);
  EXPECT_TRUE(std::isinf(lower_bounds(balanced(1000, 0), 0.95).raw));
}

TEST(Statistics, RawIsThePublishedFormula) {
  // FPR 0.1 and FNR 0.2: max(ln 0.9/0.2, ln 0.8/0.1) = ln 8.
  const LowerBounds bounds = lower_bounds({500, 50, 500, 100}, 0.95);
  EXPECT_DOUBLE_EQ(bounds.raw, std::log(8.0));
  EXPECT_DOUBLE_EQ(bounds.fpr, 0.1);
  EXPECT_DOUBLE_EQ(bounds.fnr, 0.2);
  EXPECT_DOUBLE_EQ(bounds.accuracy, 0.85);
  EXPECT_LT(bounds.two_sided, bounds.raw);
}

TEST(Statistics, LimitsOfProportions) {
  // All of 1000: 0.025^(1/1000) and 0.05^(1/1000).
  EXPECT_NEAR(proportion_lower(1000, 1000, 0.975), 0.99632, 5e-6);
  EXPECT_NEAR(proportion_lower(1000, 1000, 0.95), std::pow(0.05, 1e-3), 1e-9);
  EXPECT_NEAR(proportion_upper(0, 1'000'000, 0.95), -std::expm1(std::log(0.05) / 1e6), 1e-15);
  // Tables of Clopper-Pearson: 10 of 100 at 97.5 % a side is (0.0490, 0.1762).
  EXPECT_NEAR(proportion_lower(10, 100, 0.975), 0.04900, 5e-5);
  EXPECT_NEAR(proportion_upper(10, 100, 0.975), 0.17622, 5e-5);
  EXPECT_EQ(proportion_lower(0, 10, 0.95), 0.0);
  EXPECT_EQ(proportion_upper(10, 10, 0.95), 1.0);
  EXPECT_EQ(proportion_upper(0, 0, 0.95), 1.0);
  // Large counts stay accurate: the normal approximation differs by O(1/n) only.
  EXPECT_NEAR(proportion_upper(500'000'000, 1'000'000'000, 0.95),
              0.5 + 1.6448536 * 0.5e-4 / 3.16227766, 2e-9);
}

TEST(Statistics, DeltaEntersBothDirections) {
  const Guesses guesses{10'000, 100, 10'000, 2000};
  const double fpr = proportion_upper(100, 10'000, 0.975);
  const double fnr = proportion_upper(2000, 10'000, 0.975);
  for (const double delta : {0.0, 1e-6, 0.01, 0.3}) {
    const double expected =
        std::max(std::log((1 - delta - fpr) / fnr), std::log((1 - delta - fnr) / fpr));
    EXPECT_DOUBLE_EQ(lower_bounds(guesses, 0.95, delta).two_sided, expected);
    // A rate of wrong guesses w bounds eps by (e^eps + delta) / (1 + e^eps) >= 1 - w.
    const LowerBounds bounds = lower_bounds(guesses, 0.95, delta);
    const double wrong = proportion_upper(2100, 20'000, 0.95);
    EXPECT_NEAR((std::exp(bounds.pooled) + delta) / (1 + std::exp(bounds.pooled)), 1 - wrong,
                1e-12);
  }
  EXPECT_EQ(lower_bounds(guesses, 0.95, 0.999).best, 0.0);
}

TEST(Statistics, NothingIsKnownWithoutTrials) {
  EXPECT_EQ(lower_bounds({}, 0.95).best, 0.0);
  EXPECT_EQ(lower_bounds({100, 0, 0, 0}, 0.95).two_sided, 0.0);
  EXPECT_EQ(lower_bounds({100, 0, 0, 0}, 0.95).best, 0.0);
}

TEST(Statistics, UnequalCountsHaveNoPooledBound) {
  // "Always input 0" is right in 99 % of these trials and knows nothing.
  EXPECT_EQ(lower_bounds({9900, 0, 100, 100}, 0.95).pooled, 0.0);
  EXPECT_EQ(lower_bounds({9900, 0, 100, 100}, 0.95).best, 0.0);
}

TEST(Statistics, RefusesWhatCannotBe) {
  EXPECT_THROW(lower_bounds({10, 11, 10, 0}, 0.95), std::invalid_argument);
  EXPECT_THROW(lower_bounds({10, 0, 10, 11}, 0.95), std::invalid_argument);
  EXPECT_THROW(lower_bounds({10, 0, 10, 0}, 0.5), std::invalid_argument);
  EXPECT_THROW(lower_bounds({10, 0, 10, 0}, 0.95, 1.0), std::invalid_argument);
  EXPECT_THROW(proportion_lower(3, 2, 0.95), std::invalid_argument);
  EXPECT_THROW(proportion_upper(1, 2, 1.0), std::invalid_argument);
}

// Over 1,000 seeded repetitions a bound exceeds the truth no more often than 1 - confidence plus
// three standard deviations. The tests at hand are the extreme ones: the optimal symmetric test,
// and those that touch only one of the two inequalities.
TEST(Statistics, CoverageBySimulation) {
  constexpr int kRepetitions = 1000;
  constexpr double kConfidence = 0.95;
  const double most = kRepetitions * (1 - kConfidence) +
                      3 * std::sqrt(kRepetitions * kConfidence * (1 - kConfidence));
  struct Case {
    double epsilon, delta, fpr, fnr;
    bool coin;  // whether the secret bit is a coin or both inputs have as many trials
  };
  const auto symmetric = [](double epsilon, double delta, bool coin) {
    const double wrong = (1 - delta) / (1 + std::exp(epsilon));
    return Case{epsilon, delta, wrong, wrong, coin};
  };
  const auto corner = [](double epsilon, bool coin) {
    return Case{epsilon, 0.0, 0.02, 1 - std::exp(epsilon) * 0.02, coin};
  };
  int number = 0;
  for (const Case& c : {symmetric(0.5, 0, true), symmetric(1, 0, false), symmetric(2, 0.01, true),
                        symmetric(4, 0, false), corner(1, true), corner(2, false)}) {
    SCOPED_TRACE(number);
    int two_sided = 0;
    int pooled = 0;
    int best = 0;
    for (std::uint64_t repetition = 0; repetition < kRepetitions; ++repetition) {
      BitSource bits =
          BitSource::from_seed(7, "coverage", {static_cast<std::uint64_t>(number), repetition});
      Guesses guesses;
      for (int trial = 0; trial < 600; ++trial) {
        const bool one = c.coin ? bits.below(2) == 1 : trial % 2 == 1;
        const bool wrong = bits.unit() < (one ? c.fnr : c.fpr);
        guesses += one ? Guesses{0, 0, 1, wrong} : Guesses{1, wrong, 0, 0};
      }
      const LowerBounds bounds = lower_bounds(guesses, kConfidence, c.delta);
      two_sided += bounds.two_sided > c.epsilon;
      pooled += bounds.pooled > c.epsilon;
      best += bounds.best > c.epsilon;
    }
    EXPECT_LE(two_sided, most);
    EXPECT_LE(pooled, most);
    EXPECT_LE(best, most);
    ++number;
  }
}

}  // namespace
}  // namespace sotto
