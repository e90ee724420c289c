// The shuffler's memory: whole reports of different senders, one batch for good, orders that tell
// nothing and survive a restart.
#include "rpc/spool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "temporary_folder.h"

namespace sotto::rpc {
namespace {

using namespace std::string_literals;
using Chunks = std::vector<std::vector<std::byte>>;

/// Two positions of 50 bytes; every byte says whose.
std::vector<std::byte> report_of(unsigned char sender) {
  return std::vector<std::byte>(100, std::byte{sender});
}

SpoolRound round_one() { return {Tag{}, 1, {{2, 50}}}; }

std::vector<int> senders(const Chunks& batch) {
  std::vector<int> who;
  for (const auto& chunk : batch) who.push_back(std::to_integer<int>(chunk.front()));
  return who;
}

TEST(Spool, KeepsOneReportOfEachSender) {
  const TemporaryFolder folder;
  Spool spool = Spool::open(folder / "spool").value();
  ASSERT_TRUE(spool.begin(round_one()));
  EXPECT_EQ(spool.add("ada", 0, report_of(1)), true);
  EXPECT_EQ(spool.add("ada", 0, report_of(2)), false);
  EXPECT_EQ(spool.add("bob", 0, report_of(2)), true);
  EXPECT_EQ(spool.reports(0), 2U);
}

TEST(Spool, RefusesWhatIsNotAsAnnounced) {
  const TemporaryFolder folder;
  Spool spool = Spool::open(folder / "spool").value();
  ASSERT_TRUE(spool.begin(round_one()));
  std::vector<std::byte> longer = report_of(1);
  longer.push_back({});
  EXPECT_FALSE(spool.add("ada", 0, longer));
  std::vector<std::byte> fewer = report_of(1);
  fewer.resize(50);
  EXPECT_FALSE(spool.add("ada", 0, fewer));
  EXPECT_FALSE(spool.add("ada", 1, report_of(1)));
  EXPECT_EQ(spool.reports(0), 0U);
}

TEST(Spool, ABatchNeverChangesAndLastsOverRestarts) {
  const TemporaryFolder folder;
  Chunks first;
  Chunks second;
  {
    Spool spool = Spool::open(folder / "spool").value();
    ASSERT_TRUE(spool.begin(round_one()));
    for (unsigned char sender = 1; sender <= 20; ++sender) {
      ASSERT_TRUE(spool.add("client-" + std::to_string(sender), 0, report_of(sender)));
    }
    ASSERT_TRUE(spool.close(0));
    first = spool.batch(0, 0).value();
    second = spool.batch(0, 1).value();
  }
  Spool spool = Spool::open(folder / "spool").value();
  ASSERT_TRUE(spool.begin(round_one()));
  EXPECT_TRUE(spool.closed(0));
  EXPECT_FALSE(spool.add("late", 0, report_of(99)));
  EXPECT_EQ(spool.add("client-3", 0, report_of(3)), false);  // it is in the batch
  EXPECT_EQ(spool.batch(0, 0).value(), first);
  EXPECT_EQ(spool.batch(0, 1).value(), second);
  // All of them, in orders of their own: 20! of them, so equal ones are no chance.
  const std::vector<int> one = senders(first);
  const std::vector<int> two = senders(second);
  EXPECT_EQ(std::set<int>(one.begin(), one.end()).size(), 20U);
  EXPECT_NE(one, two);
  EXPECT_FALSE(std::ranges::is_sorted(one));
}

TEST(Spool, ADamagedBatchIsRefused) {
  const std::string ada(64, 'a');
  for (const std::string& senders : {R"(["../../x"])"s, R"([")" + ada + R"(",")" + ada + R"("])",
                                     R"(["ada"])"s, R"([1])"s, R"("ada")"s}) {
    const TemporaryFolder folder;
    std::filesystem::path group;
    {
      Spool spool = Spool::open(folder / "spool").value();
      ASSERT_TRUE(spool.begin(round_one()));
      group = std::filesystem::directory_iterator(folder / "spool")->path() / "group-0";
    }
    folder.write(group / "batch.json", R"({"senders":)" + senders + R"(,"key":[1,2,3,4]})");
    Spool spool = Spool::open(folder / "spool").value();
    const auto begun = spool.begin(round_one());
    ASSERT_FALSE(begun) << senders;
    EXPECT_EQ(begun.error().kind, ErrorKind::kCorrupt);
  }
}

TEST(Spool, ReportsThatWaitLastOverRestarts) {
  const TemporaryFolder folder;
  {
    Spool spool = Spool::open(folder / "spool").value();
    ASSERT_TRUE(spool.begin(round_one()));
    ASSERT_TRUE(spool.add("ada", 0, report_of(1)));
  }
  Spool spool = Spool::open(folder / "spool").value();
  ASSERT_TRUE(spool.begin(round_one()));
  EXPECT_EQ(spool.reports(0), 1U);
  EXPECT_EQ(spool.add("ada", 0, report_of(1)), false);
  EXPECT_FALSE(spool.closed(0));
}

TEST(Spool, EveryOrderIsAsLikelyAsAnother) {
  // 600 positions of a batch of three: each of six orders 100 times on average. Below 55 or above
  // 145 is close to five deviations; an order that is never or twice as often drawn shows, and so
  // does one that all positions share.
  constexpr std::size_t kPositions = 600;
  const TemporaryFolder folder;
  Spool spool = Spool::open(folder / "spool").value();
  ASSERT_TRUE(spool.begin({Tag{}, 1, {{kPositions, 50}}}));
  for (unsigned char sender = 1; sender <= 3; ++sender) {
    const std::vector<std::byte> report(kPositions * 50, std::byte{sender});
    ASSERT_TRUE(spool.add(std::to_string(sender), 0, report));
  }
  ASSERT_TRUE(spool.close(0));
  std::map<std::vector<int>, int> seen;
  for (std::size_t position = 0; position < kPositions; ++position) {
    ++seen[senders(spool.batch(0, position).value())];
  }
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [order, count] : seen) {
    EXPECT_GT(count, 55);
    EXPECT_LT(count, 145);
  }
}

TEST(Spool, AnotherRoundOrRunForgetsTheOneBefore) {
  const TemporaryFolder folder;
  Spool spool = Spool::open(folder / "spool").value();
  ASSERT_TRUE(spool.begin(round_one()));
  ASSERT_TRUE(spool.add("ada", 0, report_of(1)));
  SpoolRound next = round_one();
  next.round = 2;
  ASSERT_TRUE(spool.begin(next));
  EXPECT_EQ(spool.reports(0), 0U);
  EXPECT_EQ(TemporaryFolder::entries(folder / "spool"), 1);
  SpoolRound other = next;
  other.run[0] = std::byte{1};
  ASSERT_TRUE(spool.add("ada", 0, report_of(1)));
  ASSERT_TRUE(spool.begin(other));
  EXPECT_EQ(spool.reports(0), 0U);
}

}  // namespace
}  // namespace sotto::rpc
