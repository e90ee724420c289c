// Client sampling: distinct, repeatable, and every client equally likely.
#include "plan/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sotto {
namespace {

TEST(Selection, PicksDistinctClientsInOrder) {
  for (RoundId round = 1; round < 50; ++round) {
    const auto picked = pick_clients(1, round, 20, 7);
    ASSERT_EQ(picked.size(), 7U);
    EXPECT_TRUE(std::is_sorted(picked.begin(), picked.end()));
    EXPECT_EQ(std::set<std::uint32_t>(picked.begin(), picked.end()).size(), 7U);
    EXPECT_LT(picked.back(), 20U);
  }
}

TEST(Selection, OnceDealsEveryClientOut) {
  for (const std::size_t clients : {10U, 11U, 29U, 600U}) {
    std::vector<std::uint32_t> met;
    for (RoundId round = 1; round <= 10; ++round) {
      const auto picked = pick_once(deal_order(7, clients), round, 10);
      EXPECT_TRUE(std::is_sorted(picked.begin(), picked.end()));
      EXPECT_GE(picked.size(), clients / 10);
      EXPECT_LE(picked.size(), clients / 10 + 1);
      met.insert(met.end(), picked.begin(), picked.end());
    }
    std::sort(met.begin(), met.end());
    ASSERT_EQ(met.size(), clients);
    for (std::uint32_t i = 0; i < clients; ++i) EXPECT_EQ(met[i], i);
  }
  EXPECT_NE(pick_once(deal_order(7, 600), 1, 10), pick_once(deal_order(8, 600), 1, 10));
  EXPECT_NE(pick_once(deal_order(7, 600), 1, 10).back(), 59U);  // dealt at random, not in order
}

TEST(Selection, AllMeansAll) {
  const auto picked = pick_clients(1, 1, 5, 5);
  EXPECT_EQ(picked, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(Selection, DependsOnSeedAndRoundAlone) {
  EXPECT_EQ(pick_clients(1, 2, 1000, 30), pick_clients(1, 2, 1000, 30));
  EXPECT_NE(pick_clients(1, 2, 1000, 30), pick_clients(1, 3, 1000, 30));
  EXPECT_NE(pick_clients(1, 2, 1000, 30), pick_clients(2, 2, 1000, 30));
}

TEST(Selection, EveryClientIsEquallyLikely) {
  // 20,000 rounds of 3 in 10: each count is Bin(20000, 0.3), deviation 64.8. Six deviations: the
  // false alarm over 10 clients is below 2e-8, and a client picked with probability 0.325 instead
  // of 0.3 (500 too often) is caught with probability above 0.95.
  std::vector<int> counts(10);
  for (RoundId round = 0; round < 20000; ++round) {
    for (const std::uint32_t client : pick_clients(3, round, 10, 3)) ++counts[client];
  }
  for (const int count : counts) EXPECT_NEAR(count, 6000, 389);
}

TEST(Selection, AcceptsEveryClientByItself) {
  // As above; two given clients are both accepted in Bin(20000, 0.09) rounds, deviation 40.5.
  std::vector<int> counts(10);
  std::vector<int> pairs(10);
  std::size_t none = 0;
  for (RoundId round = 0; round < 20000; ++round) {
    const auto accepted = accept_clients(3, round, 10, 0.3);
    EXPECT_TRUE(std::is_sorted(accepted.begin(), accepted.end()));
    none += accepted.empty() ? 1 : 0;
    const std::set<std::uint32_t> here(accepted.begin(), accepted.end());
    ASSERT_EQ(here.size(), accepted.size());
    for (std::uint32_t client = 0; client < 10; ++client) {
      if (!here.contains(client)) continue;
      ++counts[client];
      if (here.contains((client + 1) % 10)) ++pairs[client];
    }
  }
  for (const int count : counts) EXPECT_NEAR(count, 6000, 389);
  for (const int count : pairs) EXPECT_NEAR(count, 1800, 243);
  EXPECT_NEAR(static_cast<double>(none), 20000 * std::pow(0.7, 10), 6 * 23.5);
}

TEST(Selection, AcceptsAllOrVeryFew) {
  EXPECT_EQ(accept_clients(1, 1, 5, 1.0), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  std::size_t sum = 0;
  for (RoundId round = 0; round < 1000; ++round) {
    const auto accepted = accept_clients(1, round, 4000000000, 1e-9);
    sum += accepted.size();
    for (const std::uint32_t client : accepted) EXPECT_LT(client, 4000000000);
  }
  EXPECT_NEAR(static_cast<double>(sum), 4000.0, 6 * 63.3);
}

}  // namespace
}  // namespace sotto
