// The papers' samplers as their public code draws them: the distribution that each is said to have
// is the one it draws, it breaks its claim, and where the code happens to be sound it passes for
// sound.
#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "published/samplers.h"
#include "published/srr_fl.h"

namespace sotto {
namespace {

using Sampler = PublishedSrr::Sampler;

double sum_of(const std::map<std::int64_t, double>& distribution) {
  double sum = 0.0;
  for (const auto& [value, probability] : distribution) sum += probability;
  return sum;
}

/// p-value of draws against the distribution; an output outside the distribution is never right.
double fit(const PublishedSrr& code, std::int64_t input, std::uint64_t seed) {
  constexpr int kDraws = 400'000;
  const auto distribution = code.distribution(input);
  std::map<std::int64_t, double> seen;
  BitSource bits = BitSource::from_seed(seed, "test");
  for (int i = 0; i < kDraws; ++i) seen[code.draw(input, bits)] += 1.0;
  double statistic = 0.0, expected = 0.0, found = 0.0;
  int cells = 0;
  for (const auto& [value, count] : seen) {
    if (!distribution.contains(value)) return 0.0;
  }
  for (const auto& [value, probability] : distribution) {
    expected += probability * kDraws;
    found += seen.contains(value) ? seen[value] : 0.0;
    if (expected < 20.0) continue;
    statistic += (found - expected) * (found - expected) / expected;
    expected = found = 0.0;
    ++cells;
  }
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(cells - 1), statistic));
}

TEST(PublishedSrr, SizesThatHappenToAddUp) {
  const PublishedSrr code(750, 10, 20, 5.0, Sampler::kRanks);
  EXPECT_EQ(code.missing(), 0);
  EXPECT_EQ(code.sizes().front(), 61);
  EXPECT_EQ(code.sizes().back(), 240);
  EXPECT_NEAR(code.epsilon({-750, -100, 0, 333, 750}), 5.0, 1e-9);
}

TEST(PublishedSrr, TheRemainderOnGroup1) {
  const PublishedSrr code(750, 40, 0, 5.0, Sampler::kRanks);
  EXPECT_EQ(code.missing(), 20);
  EXPECT_TRUE(std::isinf(code.epsilon({-750, 750})));
  const auto distribution = code.distribution(0);
  EXPECT_NEAR(sum_of(distribution), 1.0, 1e-12);
  double least = 1.0;
  for (const auto& [value, probability] : distribution) least = std::min(least, probability);
  // Even among outputs that are possible, group 1 is too likely.
  EXPECT_NEAR(std::log(distribution.at(0) / least), 5.0 + std::log1p(20.0 / 38.0), 1e-9);
  EXPECT_EQ(distribution.size(), 1481U);
  // d mod m = 0
  EXPECT_THROW(PublishedSrr(750, 19, 0, 5.0, Sampler::kRanks), std::invalid_argument);
}

TEST(PublishedSrr, OddGroupsLeaveTheGridInTheMiddleOnly) {
  const PublishedSrr code(750, 10, 20, 5.0, Sampler::kHalves);
  const auto odd = [&](std::int64_t input) {
    double sum = 0.0;
    for (const auto& [value, probability] : code.distribution(input))
      sum += value % 2 != 0 ? probability : 0.0;
    return sum;
  };
  EXPECT_NEAR(sum_of(code.distribution(0)), 1.0, 1e-12);
  EXPECT_GT(odd(0), 0.5);
  EXPECT_EQ(odd(-750), 0.0);
  EXPECT_EQ(odd(750), 0.0);
  EXPECT_TRUE(std::isinf(code.epsilon({-750, 0})));
  // Widths add up to d steps where the range has d - 1: an output can lie one step outside.
  for (const std::int64_t input : {-750, -700, 0, 421, 750}) {
    const auto distribution = code.distribution(input);
    EXPECT_GE(distribution.begin()->first, -1502) << input;
    EXPECT_LE(distribution.rbegin()->first, 1502) << input;
  }
}

TEST(PublishedSrr, DrawsItsDistribution) {
  for (const std::int64_t input : {-750, 0, 640}) {
    EXPECT_GT(fit(PublishedSrr(750, 40, 0, 5.0, Sampler::kRanks), input, 1), 1e-4) << input;
    EXPECT_GT(fit(PublishedSrr(750, 10, 20, 5.0, Sampler::kHalves), input, 2), 1e-4) << input;
  }
}

TEST(PublishedTwoPoint, KeepsItsClaimInsideTheRangeOnly) {
  const PublishedTwoPoint code{{0.0, 0.075}, 1.0};
  EXPECT_NEAR(code.loss(0.075, -0.075), 1.0, 1e-12);
  EXPECT_LT(code.loss(0.05, -0.075), 1.0);
  EXPECT_NEAR(code.loss(1.5 * 0.075, -1.5 * 0.075), 1.708, 1e-3);
  EXPECT_TRUE(std::isinf(code.loss(0.17, -0.17)));
  BitSource bits = BitSource::from_seed(3, "test");
  int ups = 0;
  for (int i = 0; i < 100'000; ++i) ups += code.draw(0.1, bits) ? 1 : 0;
  EXPECT_NEAR(ups / 1e5, code.probability_up(0.1), 5.0 * std::sqrt(0.25 / 1e5));
}

TEST(PublishedGrr, SendsTheWeightItself) {
  const PublishedGrr code{{0.0, 0.075}, 3.0, 4};
  constexpr double kWeight = 0.0123456;
  EXPECT_NEAR(code.probability_kept(), std::exp(3.0) / (1500.0 + std::exp(3.0)), 1e-15);
  BitSource bits = BitSource::from_seed(4, "test");
  int kept = 0;
  constexpr int kDraws = 300'000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = code.draw(kWeight, bits);
    ASSERT_LE(std::abs(value), 0.075 + 1e-12);
    if (value == kWeight) {
      ++kept;
    } else {
      ASSERT_TRUE(code.on_grid(value)) << value;
      ASSERT_GT(std::abs(value - 0.0123), 1e-9);  // another one than its own
    }
  }
  const double p = code.probability_kept();
  EXPECT_NEAR(static_cast<double>(kept) / kDraws, p, 5.0 * std::sqrt(p / kDraws));
}

TEST(PublishedRunningMean, LiesBetweenItsExtremes) {
  PublishedRunningMean client;
  BitSource bits = BitSource::from_seed(5, "test");
  for (int i = 0; i < 500; ++i) client.records.push_back(bits.normal());
  double least = 1e9, largest = -1e9;
  for (int i = 0; i < 2000; ++i) {
    const double mean = client.draw(bits);
    least = std::min(least, mean);
    largest = std::max(largest, mean);
  }
  EXPECT_GT(least, client.least());
  EXPECT_LT(largest, client.largest());
  EXPECT_GT(largest - least, 0.01);  // the order matters
  // All records alike: a certain value, 1 - 0.9^8 of it.
  PublishedRunningMean constant{std::vector<double>(500, 2.0)};
  EXPECT_NEAR(constant.draw(bits), 2.0 * (1.0 - std::pow(0.9, 8)), 1e-12);
}

}  // namespace
}  // namespace sotto
