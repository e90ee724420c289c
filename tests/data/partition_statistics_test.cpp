// The distributions behind the partitions. Fixed seeds, so a pass stays a pass; false-alarm rates
// are those over seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/toy_data.h"

namespace sotto {
namespace {

TEST(PartitionStatistics, IidPartitionsAreEquallyLikely) {
  // Six samples over three clients: 90 partitions of two each.
  const Dataset data = toy_labels({3, 3});
  constexpr int kTrials = 45'000;
  std::map<std::vector<std::uint32_t>, int> counts;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    const auto parts = make_partition(data, "iid", 3, seed);
    ASSERT_TRUE(parts);
    std::vector<std::uint32_t> key;
    for (std::size_t c = 0; c < 3; ++c) {
      const auto ids = parts->client(c);
      key.push_back(std::min(ids[0], ids[1]));
      key.push_back(std::max(ids[0], ids[1]));
    }
    ++counts[key];
  }
  ASSERT_EQ(counts.size(), 90U);
  double chi2 = 0.0;
  for (const auto& [key, count] : counts) {
    const double off = count - kTrials / 90.0;
    chi2 += off * off / (kTrials / 90.0);
  }
  // Chi-squared with 89 degrees of freedom exceeds 190 with probability below 1e-8; one partition
  // more likely by a third would give about 55 more than the expected 89.
  EXPECT_LT(chi2, 190.0);
}

TEST(PartitionStatistics, DirichletSharesHaveTheMomentsOfABeta) {
  // One class, two clients: the share of the first is Beta(alpha, alpha).
  const Dataset data = toy_labels({1000});
  constexpr double kTrials = 3000;
  for (const double alpha : {0.1, 0.5, 1.0, 5.0}) {
    const std::string rule = "dirichlet(" + std::to_string(alpha) + ")";
    double sum = 0.0;
    double squares = 0.0;
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(kTrials); ++seed) {
      const auto parts = make_partition(data, rule, 2, seed);
      ASSERT_TRUE(parts);
      const double off = static_cast<double>(parts->client(0).size()) / 1000.0 - 0.5;
      sum += off;
      squares += off * off;
    }
    const double variance = 0.25 / (2.0 * alpha + 1.0);
    const double kurtosis = 3.0 - 6.0 / (2.0 * alpha + 3.0);
    // Six deviations, and 0.001 for rounding to whole samples: false alarm 2e-9 for each of eight
    // comparisons. Finds a variance that is wrong by 7 % (alpha 0.1) to 14 % (alpha 5).
    EXPECT_NEAR(sum / kTrials, 0.0, 6.0 * std::sqrt(variance / kTrials) + 0.001) << alpha;
    EXPECT_NEAR(squares / kTrials, variance,
                6.0 * variance * std::sqrt((kurtosis - 1.0) / kTrials) + 0.001)
        << alpha;
  }
}

TEST(PartitionStatistics, DirichletClientsAreExchangeable) {
  // Five clients, alpha 1: a share has mean 1/5 and variance (1/5)(4/5)/6.
  const Dataset data = toy_labels({500});
  constexpr double kTrials = 3000;
  std::vector<double> sums(5, 0.0);
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(kTrials); ++seed) {
    const auto parts = make_partition(data, "dirichlet(1)", 5, seed);
    ASSERT_TRUE(parts);
    for (std::size_t c = 0; c < 5; ++c) {
      sums[c] += static_cast<double>(parts->client(c).size()) / 500.0;
    }
  }
  // Six deviations of the mean, and 0.002 for rounding and repair: false alarm 1e-8 for five.
  for (const double sum : sums) {
    EXPECT_NEAR(sum / kTrials, 0.2, 6.0 * std::sqrt(0.16 / 6.0 / kTrials) + 0.002);
  }
}

}  // namespace
}  // namespace sotto
