// Composition in closed form: published values, and sums over all outputs.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "sotto/account.h"

namespace sotto {
namespace {

constexpr double kDelta = 1e-6;

TEST(Compose, PublishedValues) {
  EXPECT_NEAR(optimal_epsilon(0.1, 1000, kDelta), 19.345, 0.005 * 19.345);
  EXPECT_NEAR(optimal_epsilon(1.0, 1000, kDelta), 591.1, 0.005 * 591.1);
  EXPECT_NEAR(optimal_epsilon(1.0, 20490, kDelta), 10068, 0.005 * 10068);
  EXPECT_NEAR(optimal_epsilon(5.0, 20490, kDelta), 1.016e5, 0.005 * 1.016e5);
}

/// The same sum in long double, term by term.
long double plain_delta(double epsilon0, std::uint64_t count, double epsilon) {
  const long double e0 = epsilon0, eps = epsilon;
  long double sum = 0.0L;
  for (std::uint64_t i = 0; i <= count; ++i) {
    const long double loss = (2.0L * i - count) * e0;
    if (loss <= eps) continue;
    const long double probability = std::lgamma(count + 1.0L) - std::lgamma(i + 1.0L) -
                                    std::lgamma(static_cast<long double>(count - i) + 1.0L) +
                                    i * e0 - count * std::log1p(std::exp(e0));
    sum += std::exp(probability) * -std::expm1(eps - loss);
  }
  return sum;
}

TEST(Compose, OptimalDeltaIsTheSumRoundedUp) {
  for (const double epsilon0 : {0.01, 0.5, 1.0, 5.0}) {
    for (const std::uint64_t count : {1ULL, 2ULL, 3ULL, 30ULL, 700ULL}) {
      for (const double share : {0.0, 0.1, 0.5, 0.9, 0.999}) {
        const double epsilon = share * epsilon0 * static_cast<double>(count);
        const auto truth = static_cast<double>(plain_delta(epsilon0, count, epsilon));
        const double delta = optimal_delta(epsilon0, count, epsilon);
        EXPECT_GE(delta, truth * (1.0 - 1e-13)) << epsilon0 << ' ' << count << ' ' << share;
        EXPECT_LE(delta, truth * (1.0 + 1e-9) + 1e-24) << epsilon0 << ' ' << count << ' ' << share;
      }
    }
  }
}

TEST(Compose, EdgesOfOptimal) {
  EXPECT_EQ(optimal_epsilon(0.5, 1, 0.0), 0.5);
  EXPECT_EQ(optimal_epsilon(0.5, 10, 0.0), 5.0);
  EXPECT_EQ(optimal_epsilon(0.1, 1, 0.9), 0.0);
  EXPECT_LE(optimal_epsilon(3.0, 2, 1e-300), 6.0);
  EXPECT_EQ(optimal_epsilon(std::numeric_limits<double>::infinity(), 2, kDelta),
            std::numeric_limits<double>::infinity());
  // Rounded up: the delta at the answer does not exceed what was asked for.
  for (const double epsilon0 : {0.03, 0.7, 4.0}) {
    const double epsilon = optimal_epsilon(epsilon0, 57, kDelta);
    EXPECT_LE(optimal_delta(epsilon0, 57, epsilon), kDelta);
    EXPECT_GT(optimal_delta(epsilon0, 57, epsilon * (1.0 - 1e-9)), kDelta * (1.0 - 1e-6));
  }
}

TEST(Compose, EveryBoundIsAtLeastTheOptimalOne) {
  for (const double epsilon0 : {0.01, 0.3, 1.0, 4.0}) {
    for (const std::uint64_t count : {1ULL, 5ULL, 400ULL, 100000ULL}) {
      const std::vector<Bound> bounds = composition_bounds(epsilon0, count, kDelta);
      ASSERT_EQ(bounds.size(), 5U);
      const double optimal = *bounds[1].epsilon;
      for (const Bound& bound : bounds) {
        ASSERT_TRUE(bound.valid()) << bound.name << ": " << bound.reason;
        EXPECT_GE(*bound.epsilon, optimal * (1.0 - 1e-9))
            << bound.name << ' ' << epsilon0 << ' ' << count;
        EXPECT_FALSE(bound.theorem.empty());
      }
      EXPECT_LE(*bounds[4].epsilon, optimal * 1.003)
          << "loss-distribution " << epsilon0 << ' ' << count;
    }
  }
  const std::vector<Bound> pure = composition_bounds(1.0, 10, 0.0);
  EXPECT_EQ(best_of(pure)->name, "sequential");
  EXPECT_FALSE(pure[1].valid());
}

TEST(Compose, MonotoneInEverything) {
  double last = 0.0;
  for (const double epsilon0 : {0.01, 0.02, 0.5, 0.50001, 3.0}) {
    const double epsilon = optimal_epsilon(epsilon0, 100, kDelta);
    EXPECT_GE(epsilon, last);
    last = epsilon;
  }
  last = 0.0;
  for (const std::uint64_t count : {1, 2, 3, 10, 11, 1000, 1001, 5000000}) {
    const double epsilon = optimal_epsilon(0.2, count, kDelta);
    EXPECT_GE(epsilon, last);
    last = epsilon;
  }
  last = std::numeric_limits<double>::infinity();
  for (const double delta : {0.0, 1e-200, 1e-20, 1e-6, 0.1, 0.99}) {
    const double epsilon = optimal_epsilon(0.2, 500, delta);
    EXPECT_LE(epsilon, last);
    last = epsilon;
  }
}

TEST(Compose, BillionsAreAnsweredAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const double epsilon = optimal_epsilon(1.0, 5'600'000'000ULL, kDelta);
  EXPECT_NEAR(epsilon, 5.6e9 * std::tanh(0.5), 0.001 * epsilon);
#ifdef NDEBUG
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2.0);
#endif
}

TEST(Renyi, OfRandomizedResponse) {
  for (const double epsilon : {1e-6, 0.1, 1.0, 8.0}) {
    const long double p = 1.0L / (1.0L + std::exp(-static_cast<long double>(epsilon)));
    for (const double order : {1.0001, 2.0, 30.0}) {
      const long double a = order;
      const long double truth = std::log(std::pow(p, a) * std::pow(1.0L - p, 1.0L - a) +
                                         std::pow(1.0L - p, a) * std::pow(p, 1.0L - a)) /
                                (a - 1.0L);
      const double value = renyi_of_pure(epsilon, order);
      EXPECT_GE(value, static_cast<double>(truth) * (1.0 - 1e-9) - 1e-14)
          << epsilon << ' ' << order;
      EXPECT_LE(value, static_cast<double>(truth) * (1.0 + 1e-6) + 1e-12)
          << epsilon << ' ' << order;
      EXPECT_LE(value, epsilon);
    }
  }
  EXPECT_EQ(renyi_of_pure(0.0, 2.0), 0.0);
  EXPECT_EQ(renyi_to_epsilon(2.0, 1.0, 0.0), std::numeric_limits<double>::infinity());
  // A Gaussian of ratio 1 has divergence order / 2; its true epsilon at 1e-6 is 4.8866.
  double least = std::numeric_limits<double>::infinity();
  for (int i = 2; i < 200; ++i) {
    const double order = 1.0 + 0.1 * i;
    least = std::min(least, renyi_to_epsilon(order, order / 2.0, kDelta));
  }
  EXPECT_GE(least, 4.8866);
  EXPECT_LE(least, 4.8866 * 1.08);
}

}  // namespace
}  // namespace sotto
