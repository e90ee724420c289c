// The curve's arithmetic on scores that can be counted by hand, and what its intervals cover.
#include "attack/roc.h"

#include <gtest/gtest.h>

#include "sotto/bits.h"

namespace sotto {
namespace {

std::vector<Decision> decisions(const std::vector<double>& members,
                                const std::vector<double>& others) {
  std::vector<Decision> all;
  std::uint32_t sample = 0;
  for (const double score : members) all.push_back({score, true, sample++, 0});
  for (const double score : others) all.push_back({score, false, sample++, 0});
  return all;
}

Roc plain(const std::vector<double>& members, const std::vector<double>& others, double limit) {
  return receiver_operating(decisions(members, others), {limit, 0, 1, 1});
}

TEST(Roc, CountsPairs) {
  // 3 beats three others, 2 and 1 beat two each: 7 of 9 pairs.
  const Roc roc = plain({3, 2, 1}, {2.5, 0.5, 0}, 0.0);
  EXPECT_DOUBLE_EQ(roc.auc, 7.0 / 9.0);
  EXPECT_DOUBLE_EQ(roc.tpr, 1.0 / 3.0);  // only 3 lies above every other
  EXPECT_EQ(roc.members, 3U);
  EXPECT_EQ(roc.others, 3U);
  EXPECT_DOUBLE_EQ(plain({3, 2, 1}, {2.5, 0.5, 0}, 1.0 / 3.0).tpr, 1.0);
  EXPECT_DOUBLE_EQ(plain({3, 2, 1}, {2.5, 0.5, 0}, 0.33).tpr, 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(plain({3, 2}, {1, 0}, 0.0).auc, 1.0);
  EXPECT_DOUBLE_EQ(plain({1, 0}, {3, 2}, 0.0).auc, 0.0);
}

TEST(Roc, TiesCountOneHalfAndFallTogether) {
  EXPECT_DOUBLE_EQ(plain({1, 1}, {1, 1, 1}, 0.5).auc, 0.5);
  EXPECT_DOUBLE_EQ(plain({1, 1}, {1, 1, 1}, 0.5).tpr, 0.0);
  // 2 beats both, 1 ties with one and beats one: (2 + 1.5) / 4.
  EXPECT_DOUBLE_EQ(plain({2, 1}, {1, 0}, 0.0).auc, 3.5 / 4.0);
}

TEST(Roc, TheCurveGoesFromCornerToCorner) {
  const Roc roc = plain({3, 2, 1}, {2.5, 0.5, 0}, 0.0);
  const std::vector<std::pair<double, double>> expected = {
      {0, 0},         {0, 1.0 / 3},   {1.0 / 3, 1.0 / 3}, {1.0 / 3, 2.0 / 3},
      {1.0 / 3, 1.0}, {2.0 / 3, 1.0}, {1.0, 1.0}};
  EXPECT_EQ(roc.curve, expected);
  std::vector<double> many;
  std::vector<double> others;
  BitSource bits = BitSource::from_seed(1, "test");
  for (int i = 0; i < 20'000; ++i) {
    many.push_back(bits.normal() + 1.0);
    others.push_back(bits.normal());
  }
  const Roc large = plain(many, others, 0.001);
  EXPECT_LT(large.curve.size(), 600U);
  EXPECT_EQ(large.curve.front(), std::pair(0.0, 0.0));
  EXPECT_EQ(large.curve.back(), std::pair(1.0, 1.0));
  EXPECT_TRUE(std::is_sorted(large.curve.begin(), large.curve.end()));
  EXPECT_NEAR(large.auc, 0.7602, 0.01);   // Phi(1 / sqrt 2)
  EXPECT_NEAR(large.tpr, 0.0183, 0.006);  // 1 - Phi(3.0902 - 1)
}

TEST(Roc, NobodyOnOneSideIsGuessing) {
  EXPECT_DOUBLE_EQ(plain({1, 2}, {}, 0.1).auc, 0.5);
  EXPECT_DOUBLE_EQ(plain({}, {1}, 0.1).auc, 0.5);
}

/// 40 samples judged in 6 clusters, each with a level of its own: the interval has to take account
/// of both. Over 100 fixed seeds it must cover the truth at least 90 times (a right 95 % interval
/// covers fewer with a probability of 1.1 %; one that takes decisions for independent fails by
/// far).
TEST(Roc, IntervalsCoverUnderClusters) {
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    BitSource bits = BitSource::from_seed(seed, "cover");
    std::vector<double> level(40);
    for (double& value : level) value = 2.0 * bits.normal();
    std::vector<Decision> all;
    for (std::uint32_t run = 0; run < 6; ++run) {
      for (std::uint32_t sample = 0; sample < 40; ++sample) {
        all.push_back({level[sample] + bits.normal(), sample < 20, sample, run});
      }
    }
    const Roc roc = receiver_operating(all, {0.1, 200, seed, 2});
    covered += roc.auc_interval.low <= 0.5 && 0.5 <= roc.auc_interval.high ? 1 : 0;
    EXPECT_LE(roc.tpr_interval.low, roc.tpr_interval.high);
  }
  EXPECT_GE(covered, 90);
}

TEST(Roc, DoesNotDependOnThreads) {
  BitSource bits = BitSource::from_seed(3, "test");
  std::vector<double> members(200);
  std::vector<double> others(200);
  for (double& score : members) score = bits.normal() + 0.5;
  for (double& score : others) score = bits.normal();
  const Roc one = receiver_operating(decisions(members, others), {0.05, 100, 7, 1});
  const Roc four = receiver_operating(decisions(members, others), {0.05, 100, 7, 4});
  EXPECT_EQ(one.auc_interval.low, four.auc_interval.low);
  EXPECT_EQ(one.tpr_interval.high, four.tpr_interval.high);
  EXPECT_LT(one.auc_interval.low, one.auc);
  EXPECT_GT(one.auc_interval.high, one.auc);
}

}  // namespace
}  // namespace sotto
