// PrivacyLoss against what is known exactly: closed forms, and sums over all outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/exact/binomial.h"
#include "sotto/account.h"

namespace sotto {
namespace {

constexpr double kDelta = 1e-6;

/// An output with its probabilities under both inputs.
struct Output {
  long double p;
  long double q;
};
using Pair = std::vector<Output>;

long double delta_of(const Pair& pair, double epsilon) {
  long double forward = 0.0L, backward = 0.0L;
  const long double grown = std::exp(static_cast<long double>(epsilon));
  for (const Output& output : pair) {
    forward += std::max(0.0L, output.p - grown * output.q);
    backward += std::max(0.0L, output.q - grown * output.p);
  }
  return std::max(forward, backward);
}

Pair product(const Pair& a, const Pair& b) {
  Pair result;
  for (const Output& x : a) {
    for (const Output& y : b) result.push_back({x.p * y.p, x.q * y.q});
  }
  return result;
}

Pair randomized_response(double epsilon) {
  const long double truth = 1.0L / (1.0L + std::exp(-static_cast<long double>(epsilon)));
  return {{truth, 1.0L - truth}, {1.0L - truth, truth}};
}

/// Never below the truth, and at most `excess` above it.
void expect_dominates(const PrivacyLoss& loss, const Pair& pair, double excess,
                      const std::string& what) {
  for (const double epsilon : {0.0, 0.01, 0.05, 0.1, 0.3, 0.7, 1.0, 1.5, 2.5}) {
    const auto truth = static_cast<double>(delta_of(pair, epsilon));
    const double bound = loss.delta(epsilon);
    EXPECT_GE(bound, truth * (1.0 - 1e-15)) << what << " at epsilon " << epsilon;
    EXPECT_LE(bound, truth * (1.0 + excess) + 1e-5) << what << " at epsilon " << epsilon;
  }
}

double gaussian_delta(double ratio, double epsilon) {
  const auto upper = [](double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); };
  return upper(epsilon / ratio - ratio / 2.0) -
         std::exp(epsilon) * upper(epsilon / ratio + ratio / 2.0);
}

TEST(PrivacyLoss, NothingCostsNothing) {
  EXPECT_EQ(PrivacyLoss().epsilon(0.0), 0.0);
  EXPECT_EQ(PrivacyLoss().times(1000).delta(0.0), 0.0);
  EXPECT_EQ(PrivacyLoss::pure(0.0).epsilon(0.0), 0.0);
  const PrivacyLoss one = PrivacyLoss::pure(1.0);
  EXPECT_EQ(one.with(PrivacyLoss()).epsilon(kDelta), one.epsilon(kDelta));
  EXPECT_EQ(one.times(0).epsilon(0.0), 0.0);
}

TEST(PrivacyLoss, PureIsRandomizedResponse) {
  for (const double epsilon : {0.01, 0.5, 1.0, 3.0}) {
    expect_dominates(PrivacyLoss::pure(epsilon), randomized_response(epsilon), 0.01,
                     "pure " + std::to_string(epsilon));
    // The split never leaves more than a grid point above.
    EXPECT_GE(PrivacyLoss::pure(epsilon).epsilon(0.0), epsilon);
    EXPECT_LE(PrivacyLoss::pure(epsilon).epsilon(0.0), epsilon * 1.002);
  }
}

TEST(PrivacyLoss, MixedMechanismsCompose) {
  const Pair truth = product(product(randomized_response(0.3), randomized_response(1.1)),
                             randomized_response(0.7));
  const PrivacyLoss loss =
      PrivacyLoss::pure(0.3).with(PrivacyLoss::pure(1.1)).with(PrivacyLoss::pure(0.7));
  expect_dominates(loss, truth, 0.02, "0.3, 1.1, 0.7");
}

TEST(PrivacyLoss, ApproximateLeaksWithDelta) {
  const PrivacyLoss loss = PrivacyLoss::approximate(1.0, 1e-3);
  EXPECT_GE(loss.delta(1.0), 1e-3);
  EXPECT_LE(loss.delta(1.002), 1.01e-3);
  EXPECT_EQ(loss.epsilon(0.9e-3), std::numeric_limits<double>::infinity());
  EXPECT_GE(loss.times(10).delta(10.0), 1.0 - std::pow(1.0 - 1e-3, 10));
  EXPECT_EQ(PrivacyLoss::pure(std::numeric_limits<double>::infinity()).delta(1e6), 1.0);
}

TEST(PrivacyLoss, EqualPureMechanismsMeetTheOptimalTheorem) {
  for (const auto& [epsilon0, count] : {std::pair{0.1, 1000ULL},
                                        {1.0, 37ULL},
                                        {1.0, 20490ULL},
                                        {5.0, 20490ULL},
                                        {1e-3, 5'000'000ULL}}) {
    const double optimal = optimal_epsilon(epsilon0, count, kDelta);
    const double loss = PrivacyLoss::pure(epsilon0).times(count).epsilon(kDelta);
    EXPECT_GE(loss, optimal * (1.0 - 1e-9)) << epsilon0 << " x " << count;
    EXPECT_LE(loss, optimal * 1.001) << epsilon0 << " x " << count;
  }
}

TEST(PrivacyLoss, GaussianIsAnalytic) {
  for (const double ratio : {0.003, 0.1, 1.0, 3.0}) {
    for (const std::uint64_t count : {1ULL, 7ULL, 100ULL}) {
      const PrivacyLoss loss = PrivacyLoss::gaussian(ratio).times(count);
      const double whole = ratio * std::sqrt(static_cast<double>(count));
      for (const double delta : {1e-3, 1e-6, 1e-10}) {
        const double epsilon = loss.epsilon(delta);
        EXPECT_LE(gaussian_delta(whole, epsilon), delta) << ratio << " x " << count;
        EXPECT_GE(gaussian_delta(whole, epsilon), 0.98 * delta) << ratio << " x " << count;
      }
    }
  }
  // Far beyond any use it must still not fall below the truth.
  EXPECT_GE(PrivacyLoss::gaussian(60.0).epsilon(kDelta), 60.0 * 60.0 / 2.0);
}

/// The pair of a sampled mechanism for a given distribution of the output when another client is
/// picked.
Pair mixed(const Pair& pair, double rate, const std::vector<long double>& other) {
  Pair result;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    const long double rest = (1.0L - rate) * other[i];
    result.push_back({rate * pair[i].p + rest, rate * pair[i].q + rest});
  }
  return result;
}

TEST(PrivacyLoss, SamplingCoversEveryDistributionOfTheOthers) {
  const double epsilon = 1.5;
  const Pair pair = randomized_response(epsilon);
  for (const double rate : {0.05, 0.3, 0.9}) {
    const PrivacyLoss loss = PrivacyLoss::pure(epsilon).sampled(rate);
    // Any mixture of the two distributions is a neighbour's distribution.
    for (int i = 0; i <= 10; ++i) {
      const long double share = i / 10.0L;
      const std::vector<long double> other = {share * pair[0].p + (1.0L - share) * pair[0].q,
                                              share * pair[1].p + (1.0L - share) * pair[1].q};
      const Pair once = mixed(pair, rate, other);
      const Pair thrice = product(product(once, once), once);
      for (const double at : {0.0, 0.02, 0.1, 0.5, 1.0}) {
        EXPECT_GE(loss.delta(at), static_cast<double>(delta_of(once, at)) * (1.0 - 1e-12));
        EXPECT_GE(loss.times(3).delta(at),
                  static_cast<double>(delta_of(thrice, at)) * (1.0 - 1e-12));
      }
    }
    EXPECT_NEAR(loss.epsilon(0.0), std::log1p(rate * std::expm1(epsilon)), 2e-3);
  }
  EXPECT_EQ(PrivacyLoss::pure(1.0).sampled(1.0).epsilon(kDelta),
            PrivacyLoss::pure(1.0).epsilon(kDelta));
}

TEST(PrivacyLoss, RenyiOfTheGridIsThatOfTheDistribution) {
  for (const double order : {1.5, 2.0, 10.0}) {
    const double truth = renyi_of_pure(0.7, order);
    EXPECT_GE(PrivacyLoss::pure(0.7).renyi(order), truth * (1.0 - 1e-9));
    EXPECT_LE(PrivacyLoss::pure(0.7).renyi(order), truth * 1.01);
    const double gaussian = PrivacyLoss::gaussian(0.4).renyi(order);
    EXPECT_EQ(gaussian, std::numeric_limits<double>::infinity()) << "its cut tail is infinite";
  }
}

TEST(PrivacyLoss, MoreIsNeverCheaper) {
  const PrivacyLoss one = PrivacyLoss::shuffled({2.0, 0.0, 0.0}, 500);
  double before = 0.0;
  for (const std::uint64_t count : {1, 2, 3, 7, 8, 100, 1000, 1001}) {
    const double epsilon = one.times(count).epsilon(kDelta);
    EXPECT_GE(epsilon, before) << count;
    before = epsilon;
  }
  before = std::numeric_limits<double>::infinity();
  for (const double delta : {1e-12, 1e-9, 1e-6, 1e-3, 0.1}) {
    const double epsilon = one.times(20).epsilon(delta);
    EXPECT_LE(epsilon, before) << delta;
    before = epsilon;
  }
}

TEST(Binomial, ProbabilitiesAreExact) {
  EXPECT_NEAR(std::exp(log_binomial(10, 3, 0.25, 0.75)),
              120.0 * std::pow(0.25, 3) * std::pow(0.75, 7), 1e-15);
  EXPECT_EQ(log_binomial(0, 0, 0.3, 0.7), 0.0);
  EXPECT_NEAR(log_binomial(5, 5, 0.1, 0.9), 5.0 * std::log(0.1), 1e-14);
  for (const std::uint64_t n : {1ULL, 2ULL, 17ULL, 1000ULL, 1'000'000ULL, 5'000'000'000ULL}) {
    for (const double p : {1e-7, 0.01, 0.3, 0.5, 0.97}) {
      const BinomialWindow window = binomial_window(n, p, 1.0 - p, 1e-18);
      double sum = window.below + window.above, mean = 0.0;
      for (std::size_t i = 0; i < window.probabilities.size(); ++i) {
        sum += window.probabilities[i];
        mean += window.probabilities[i] * static_cast<double>(window.first + i);
      }
      const double truth = static_cast<double>(n) * p;
      EXPECT_NEAR(sum, 1.0, 1e-11) << n << ' ' << p;
      EXPECT_NEAR(mean, truth, 1e-9 * (1.0 + truth)) << n << ' ' << p;
      EXPECT_LE(window.end(), n + 1);
    }
  }
}

}  // namespace
}  // namespace sotto
