// Far ends of every scale: bounds stay in order, and nothing underflows into a promise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sotto/account.h"

namespace sotto {
namespace {

constexpr double kEpsilons[] = {1e-6, 1e-3,  0.1,   1.0,   5.0,   20.0,  30.0,  36.0,  37.0,  38.0,
                                50.0, 100.0, 300.0, 500.0, 599.0, 601.0, 690.0, 750.0, 1000.0};

TEST(Extremes, OptimalCompositionAgreesWithTheLossDistribution) {
  for (const double epsilon : kEpsilons) {
    for (const std::uint64_t count : {1U, 2U, 10U, 100U, 100'000U}) {
      const double closed = optimal_epsilon(epsilon, count, 1e-6);
      const double numeric = PrivacyLoss::pure(epsilon).times(count).epsilon(1e-6);
      EXPECT_NEAR(closed, numeric, 0.005 * numeric + 1e-7) << epsilon << " x " << count;
    }
  }
}

TEST(Extremes, ShuffledBoundsStayBetweenExactAndLocal) {
  for (const double epsilon : kEpsilons) {
    for (const std::uint64_t clients : {1U, 2U, 100U, 100'000U}) {
      for (const std::uint64_t count : {1U, 10U}) {
        ShuffleQuestion question;
        question.epsilon0 = epsilon;
        question.clients = clients;
        question.count = count;
        const std::vector<Bound> bounds = shuffle_bounds(question);
        const double least =
            PrivacyLoss::shuffled_binary(epsilon, clients).times(count).epsilon(1e-6);
        const double most = epsilon * static_cast<double>(count);
        EXPECT_LE(least, most * (1.0 + 1e-3)) << epsilon << ' ' << clients << ' ' << count;
        for (const Bound& bound : bounds) {
          if (!bound.valid() || bound.name == "closed-form") continue;
          EXPECT_GE(*bound.epsilon, least * (1.0 - 1e-3) - 1e-9)
              << bound.name << ' ' << epsilon << ' ' << clients << ' ' << count;
          EXPECT_LE(*bound.epsilon, most * (1.0 + 1e-9))
              << bound.name << ' ' << epsilon << ' ' << clients << ' ' << count;
        }
      }
    }
  }
}

/// A client is in all batches of a round or in none: evidence of one counts for the others.
TEST(Extremes, BatchesOfARoundAreSampledTogether) {
  ShuffleQuestion question;
  question.epsilon0 = 0.5;
  question.clients = 2000;
  question.count = 500;
  question.chunks = 50;
  question.sampling = 0.1;
  const PrivacyLoss batch = PrivacyLoss::shuffled({0.5, 0.0, 0.0}, 2000);
  const double together = batch.times(50).sampled(0.1).times(10).epsilon(1e-6);
  EXPECT_GT(together, 1.05 * batch.sampled(0.1).times(500).epsilon(1e-6));
  for (const Bound& bound : shuffle_bounds(question)) {
    // Batches are larger and smaller than 2,000, which costs more than if all were alike.
    if (bound.name == "generic") {
      EXPECT_GT(*bound.epsilon, together);
      EXPECT_LT(*bound.epsilon, 1.1 * together);
    } else if (bound.valid()) {
      EXPECT_GE(*bound.epsilon, together) << bound.name;
    }
    if (bound.name == "erlingsson" || bound.name == "closed-form") {
      EXPECT_FALSE(bound.valid());
    }
  }
}

/// Where no batch can hide anything, nothing is gained.
TEST(Extremes, NobodyHidesBehindAHugeEpsilon) {
  for (const double epsilon : {40.0, 100.0, 300.0, 590.0}) {
    const double found = PrivacyLoss::shuffled({epsilon, 0.0, 0.0}, 1000).epsilon(1e-6);
    EXPECT_NEAR(found, epsilon, 2e-6);
  }
}

TEST(Extremes, AReportThatAlwaysLeaksComposes) {
  const PrivacyLoss certain = PrivacyLoss::approximate(1.0, 1.0);
  EXPECT_EQ(certain.delta(1e9), 1.0);
  EXPECT_EQ(certain.times(100).epsilon(1e-6), std::numeric_limits<double>::infinity());
  EXPECT_EQ(certain.with(PrivacyLoss::pure(1.0)).delta(10.0), 1.0);
}

TEST(Extremes, SamplingOfWhatIsBeyondADoublesRangeIsNotFree) {
  // Steps of the grid are so wide here that e^step overflows: a client that is picked with
  // probability 0.18 is given away whenever it is, and so it is in 80 rounds.
  for (const double unit : {50.0, 800.0, 8610.6, 1e6}) {
    const PrivacyLoss once = PrivacyLoss::pure(unit).times(15'690).sampled(0.18);
    EXPECT_NEAR(once.delta(0.0), 0.18, 1e-6) << unit;
    EXPECT_GE(once.epsilon(1e-6), 0.99 * unit * 15'690) << unit;
    EXPECT_GE(once.times(80).epsilon(1e-6), 10.0 * unit * 15'690) << unit;
  }
}

}  // namespace
}  // namespace sotto
