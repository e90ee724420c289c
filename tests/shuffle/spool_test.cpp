// The shuffler's memory: one contract a batch, one report a sender, one batch for good, rounds
// upwards only, orders that tell nothing; all of it over restarts.
#include "shuffle/spool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "base/file.h"
#include "contract_parts.h"
#include "temporary_folder.h"

namespace sotto::rpc {
namespace {

using namespace std::string_literals;
using Chunks = std::vector<std::vector<std::byte>>;
namespace fs = std::filesystem;

constexpr std::size_t kBytes = 100;

Contract contract_of(RoundId round = 1, std::uint64_t chunks = 2, std::uint32_t group = 0) {
  Contract contract = test_contract();
  contract.round = round;
  contract.chunks = chunks;
  contract.chunk_bytes = kBytes;
  contract.group = group;
  return contract;
}

std::string sender(int number) { return sender_of("client-" + std::to_string(number)); }

/// Every byte says whose.
std::vector<std::byte> report_of(int number, std::size_t chunks = 2) {
  return std::vector<std::byte>(chunks * kBytes, static_cast<std::byte>(number));
}

SpoolRound collects(const Contract& contract) {
  return {contract.run, contract.round, {contract.digest()}};
}

Spool opened(const fs::path& folder) { return Spool::open(folder).value(); }

/// Reports of clients 1 to `count`, each of which asks for a batch of `minimum`.
void fill(Spool& spool, int count, const Contract& contract, std::uint32_t minimum = 2) {
  for (int i = 1; i <= count; ++i) {
    ASSERT_EQ(spool.add(sender(i), contract, minimum, report_of(i, contract.chunks)), true) << i;
  }
}

std::vector<int> senders(const Chunks& batch) {
  std::vector<int> who;
  for (const auto& chunk : batch) who.push_back(std::to_integer<int>(chunk.front()));
  return who;
}

/// The file of a report that is in the folder.
fs::path file_of(const fs::path& folder, const Contract& contract, int number) {
  return spool_files::report_file(
      spool_files::round_folder(folder, {contract.run, contract.round}) / contract.digest(),
      sender(number));
}

void damage(const fs::path& file, std::streamoff where = 3) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  ASSERT_TRUE(stream.is_open()) << file;
  stream.seekp(where);
  stream.put('!');
}

TEST(LargestAgreed, IsTheLargestSetInWhichAllHaveWhatTheyAskFor) {
  const auto size = [](const std::vector<std::uint32_t>& minimums, std::uint64_t least = 1) {
    return largest_agreed(minimums, least).size();
  };
  EXPECT_EQ(size({}), 0U);
  EXPECT_EQ(size({0}), 1U);
  EXPECT_EQ(size({2}), 0U);
  EXPECT_EQ(size({2, 2}), 2U);
  EXPECT_EQ(size({3, 3}), 0U);
  EXPECT_EQ(size({1, 1, 4}), 2U);
  EXPECT_EQ(size({1, 2, 4, 4}), 4U);
  EXPECT_EQ(size({1, 2, 4, 5}), 2U);
  EXPECT_EQ(size({5, 5, 5, 5, 0xFFFFFFFF}), 0U);
  EXPECT_EQ(size({4, 4, 4, 4, 0xFFFFFFFF}), 4U);
  EXPECT_EQ(size({1, 1, 1}, 4), 0U);
  EXPECT_EQ(size({1, 1, 1}, 3), 3U);
  // By all subsets of every five minimums up to six.
  std::vector<std::uint32_t> minimums(5);
  for (int code = 0; code < 16807; ++code) {
    for (int rest = code, i = 0; i < 5; ++i, rest /= 7) minimums[i] = rest % 7;
    std::size_t best = 0;
    for (unsigned set = 0; set < 32; ++set) {
      const auto members = static_cast<std::uint32_t>(__builtin_popcount(set));
      bool agree = true;
      for (unsigned i = 0; i < 5; ++i)
        agree = agree && (!(set >> i & 1U) || minimums[i] <= members);
      if (agree) best = std::max<std::size_t>(best, members);
    }
    ASSERT_EQ(size(minimums), best) << code;
  }
}

// ---- every event in every state ---------------------------------------------------------------

struct Machine {
  TemporaryFolder folder;
  fs::path path = folder / "spool";
  std::optional<Spool> spool;
  Contract contract = contract_of();

  void start() {
    spool.reset();
    spool.emplace(opened(path));
  }
  /// Brings the spool into a state of the table, or as near as it goes.
  void reach(BatchState state) {
    start();
    if (state == BatchState::kOver) {
      ASSERT_TRUE(spool->begin(collects(contract)));
      fill(*spool, 3, contract);
      ASSERT_EQ(spool->close(0, 2), 3U);
      ASSERT_TRUE(spool->finish());
      return;
    }
    ASSERT_TRUE(spool->begin(collects(contract)));
    if (state == BatchState::kNone) return;
    fill(*spool, 3, contract);
    if (state == BatchState::kCollecting) return;
    ASSERT_EQ(spool->close(0, 2), 3U);
    if (state == BatchState::kClosed) return;
    damage(file_of(path, contract, 1));
    damage(file_of(path, contract, 2));
    start();
    ASSERT_TRUE(spool->begin(collects(contract)));
  }
};

struct Row {
  BatchState state;
  const char* name;
  BatchState after_add;
  bool add_taken;
  BatchState after_close_enough;
  std::uint64_t close_enough;
  BatchState after_close_few;
  std::uint64_t close_few;
  bool batch_goes;
  BatchState after_restart;
  bool begins_again;  // the same round
};

class EveryEvent : public testing::TestWithParam<Row> {};

TEST_P(EveryEvent, DoesWhatTheTableSays) {
  const Row& row = GetParam();
  const auto in_state = [&](const std::function<void(Machine&)>& event) {
    Machine machine;
    machine.reach(row.state);
    ASSERT_EQ(machine.spool->state(0), row.state);
    event(machine);
  };
  in_state([&](Machine& m) {
    const auto taken = m.spool->add(sender(9), m.contract, 2, report_of(9));
    EXPECT_EQ(taken.has_value(), row.add_taken);
    EXPECT_EQ(m.spool->state(0), row.after_add);
  });
  in_state([&](Machine& m) {
    EXPECT_EQ(m.spool->close(0, 2), row.close_enough);
    EXPECT_EQ(m.spool->state(0), row.after_close_enough);
  });
  in_state([&](Machine& m) {
    EXPECT_EQ(m.spool->close(0, 100), row.close_few);
    EXPECT_EQ(m.spool->state(0), row.after_close_few);
  });
  in_state([&](Machine& m) {
    EXPECT_EQ(m.spool->batch(0, 0).has_value(), row.batch_goes);
    EXPECT_EQ(m.spool->state(0), row.state);
  });
  in_state([&](Machine& m) {
    m.spool->leave_out(0, sender(1));
    const bool open = row.state == BatchState::kCollecting;
    const std::size_t before =
        row.state == BatchState::kNone || row.state == BatchState::kOver ? 0U : 3U;
    EXPECT_EQ(m.spool->reports(0), open ? 2U : before);
    EXPECT_EQ(m.spool->state(0), row.state);
  });
  // A restart, and the same announcement again.
  in_state([&](Machine& m) {
    m.start();
    EXPECT_EQ(m.spool->begin(collects(m.contract)).has_value(), row.begins_again);
    if (row.begins_again) {
      EXPECT_EQ(m.spool->state(0), row.after_restart);
    }
  });
  in_state([&](Machine& m) {
    EXPECT_EQ(m.spool->begin(collects(m.contract)).has_value(), row.begins_again);
    EXPECT_EQ(m.spool->state(0), row.state);
  });
  // A later round, and back: nothing comes again that was ever kept.
  for (const bool restart : {false, true}) {
    in_state([&](Machine& m) {
      ASSERT_TRUE(m.spool->begin(collects(contract_of(2))));
      EXPECT_EQ(m.spool->state(0), BatchState::kNone);
      if (restart) m.start();
      const bool nothing_kept = row.state == BatchState::kNone;
      EXPECT_EQ(m.spool->begin(collects(m.contract)).has_value(), nothing_kept);
      EXPECT_EQ(m.spool->over(m.contract.run, 1), !nothing_kept);
    });
  }
  // Another run, and back.
  in_state([&](Machine& m) {
    Contract other = m.contract;
    other.run[3] = std::byte{7};
    ASSERT_TRUE(m.spool->begin(collects(other)));
    EXPECT_EQ(m.spool->begin(collects(m.contract)).has_value(), row.state == BatchState::kNone);
  });
  in_state([&](Machine& m) {
    ASSERT_TRUE(m.spool->finish());
    EXPECT_EQ(m.spool->reports(0), 0U);
    EXPECT_FALSE(m.spool->batch(0, 0));
    EXPECT_FALSE(fs::exists(spool_files::round_folder(m.path, {m.contract.run, 1})));
  });
}

using enum BatchState;
INSTANTIATE_TEST_SUITE_P(
    Spool, EveryEvent,
    testing::Values(
        Row{kNone, "none", kCollecting, true, kNone, 0, kNone, 0, false, kNone, true},
        Row{kCollecting, "collecting", kCollecting, true, kClosed, 3, kCollecting, 0, false,
            kCollecting, true},
        Row{kClosed, "closed", kClosed, false, kClosed, 3, kClosed, 3, true, kClosed, true},
        Row{kStopped, "stopped", kStopped, false, kStopped, 0, kStopped, 0, false, kStopped, true},
        Row{kOver, "over", kOver, false, kOver, 0, kOver, 0, false, kOver, false}),
    [](const auto& row) { return std::string(row.param.name); });

// ---- what a hostile server tries ----------------------------------------------------------------

TEST(Spool, AnotherFormOfTheRoundGetsNothing) {
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract contract = contract_of(1, 4);
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 5, contract);
  // The same round once more, as one chunk of four times the size.
  Contract whole = contract;
  whole.chunks = 1;
  whole.chunk_bytes = 4 * kBytes;
  ASSERT_TRUE(spool.begin(collects(whole)));
  EXPECT_EQ(spool.state(0), BatchState::kNone);
  EXPECT_EQ(spool.close(0, 1), 0U);
  EXPECT_FALSE(spool.batch(0, 0));
  // Nobody has to send again for the form that was signed.
  ASSERT_TRUE(spool.begin(collects(contract)));
  EXPECT_EQ(spool.close(0, 1), 5U);
}

TEST(Spool, ABatchGoesForTheGroupThatWasSigned) {
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract contract = contract_of();
  ASSERT_TRUE(spool.begin({contract.run, 1, {std::string(64, 'a'), contract.digest()}}));
  EXPECT_FALSE(spool.add(sender(1), contract, 1, report_of(1)));
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 3, contract);
  ASSERT_TRUE(spool.begin({contract.run, 1, {std::string(64, 'a'), contract.digest()}}));
  EXPECT_EQ(spool.close(1, 1), 0U);
}

TEST(Spool, TheLargestMinimumThatCanBeHadHolds) {
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract contract = contract_of();
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 4, contract, 5);
  EXPECT_EQ(spool.close(0, 0), 0U);  // the server says 0, the clients 5
  // One member that asks for the impossible keeps nobody from the others.
  ASSERT_TRUE(spool.add(sender(5), contract, 0xFFFFFFFF, report_of(5)));
  EXPECT_EQ(spool.close(0, 0), 0U);
  ASSERT_TRUE(spool.add(sender(6), contract, 1, report_of(6)));
  EXPECT_EQ(spool.close(0, 0), 5U);
  const std::vector<int> who = senders(spool.batch(0, 0).value());
  EXPECT_EQ(std::set<int>(who.begin(), who.end()), (std::set<int>{1, 2, 3, 4, 6}));
}

TEST(Spool, OneReportOfASenderWhateverContractOrGroup) {
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract first = contract_of();
  const Contract second = contract_of(1, 2, 1);
  ASSERT_TRUE(spool.begin({first.run, 1, {first.digest(), second.digest()}}));
  EXPECT_EQ(spool.add(sender(1), first, 1, report_of(1)), true);
  EXPECT_EQ(spool.add(sender(1), first, 1, report_of(2)), false);
  EXPECT_EQ(spool.add(sender(1), second, 1, report_of(1)), false);
  EXPECT_EQ(spool.reports(0), 1U);
  EXPECT_EQ(spool.reports(1), 0U);
}

TEST(Spool, WhoDeclinesIsOutUntilTheBatchIsClosed) {
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract contract = contract_of();
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 3, contract);
  spool.leave_out(0, sender(2));
  EXPECT_EQ(spool.reports(0), 2U);
  EXPECT_FALSE(spool.add(sender(2), contract, 2, report_of(2)));
  EXPECT_FALSE(fs::exists(file_of(folder / "spool", contract, 2)));
  ASSERT_EQ(spool.close(0, 2), 2U);
  spool.leave_out(0, sender(1));
  EXPECT_EQ(spool.reports(0), 2U);
}

TEST(Spool, ShowsWhatMembersCameWith) {
  const TemporaryFolder folder;
  const Contract contract = contract_of();
  Contract other = contract;
  other.mechanisms = {"two-point.other"};
  std::vector<Asked> expected = {{contract.digest(), 0, 2}, {other.digest(), 0, 1}};
  std::ranges::sort(expected, {}, &Asked::contract);
  {
    Spool spool = opened(folder / "spool");
    ASSERT_TRUE(spool.begin(collects(contract)));
    fill(spool, 2, contract);
    EXPECT_FALSE(spool.add(sender(3), other, 1, report_of(3)));
    ASSERT_TRUE(spool.note_other(sender(3), other));
    other.mechanisms = {"two-point.third"};
    ASSERT_TRUE(spool.note_other(sender(3), other));  // each member is shown once
    EXPECT_EQ(spool.asked(contract.run, 1), expected);
  }
  // After a kill, and when the server has gone on without anybody having asked in between.
  {
    Spool spool = opened(folder / "spool");
    ASSERT_TRUE(spool.begin(collects(contract)));
    EXPECT_EQ(spool.asked(contract.run, 1), expected);
  }
  Spool spool = opened(folder / "spool");
  ASSERT_TRUE(spool.begin(collects(contract_of(2))));
  EXPECT_EQ(spool.asked(contract.run, 1), expected);
  EXPECT_TRUE(spool.asked(contract.run, 2).empty());
}

// ---- disks, kills, damage -----------------------------------------------------------------------

TEST(Spool, RefusesWhatIsNotAsItsContractSays) {
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract contract = contract_of();
  ASSERT_TRUE(spool.begin(collects(contract)));
  EXPECT_FALSE(spool.add(sender(1), contract, 1, report_of(1, 3)));
  EXPECT_FALSE(spool.add(sender(1), contract, 1, report_of(1, 1)));
  EXPECT_FALSE(spool.add(sender(1), contract_of(2), 1, report_of(1)));
  EXPECT_FALSE(spool.add(sender(1), contract_of(1, 2, 1), 1, report_of(1)));
  EXPECT_EQ(spool.reports(0), 0U);
}

TEST(Spool, ABatchNeverChangesAndLastsOverRestarts) {
  const TemporaryFolder folder;
  const Contract contract = contract_of();
  Chunks first;
  Chunks second;
  {
    Spool spool = opened(folder / "spool");
    ASSERT_TRUE(spool.begin(collects(contract)));
    fill(spool, 20, contract);
    ASSERT_EQ(spool.close(0, 2), 20U);
    first = spool.batch(0, 0).value();
    second = spool.batch(0, 1).value();
    EXPECT_EQ(spool.batch(0, 0).value(), first);
    EXPECT_FALSE(spool.batch(0, 2));
  }
  Spool spool = opened(folder / "spool");
  ASSERT_TRUE(spool.begin(collects(contract)));
  EXPECT_EQ(spool.state(0), BatchState::kClosed);
  EXPECT_FALSE(spool.add(sender(99), contract, 1, report_of(99)));
  EXPECT_EQ(spool.add(sender(3), contract, 1, report_of(3)), false);  // it is in the batch
  EXPECT_EQ(spool.close(0, 1000), 20U);
  EXPECT_EQ(spool.batch(0, 0).value(), first);
  EXPECT_EQ(spool.batch(0, 1).value(), second);
  // All of them, in orders of their own: 20! of them, so equal ones are no accident.
  const std::vector<int> one = senders(first);
  EXPECT_EQ(std::set<int>(one.begin(), one.end()).size(), 20U);
  EXPECT_NE(one, senders(second));
  EXPECT_FALSE(std::ranges::is_sorted(one));
}

TEST(Spool, ADamagedReportIsLeftOutBeforeTheBatchIsClosed) {
  for (const bool restart : {false, true}) {
    for (const std::streamoff where : {0, 150, 250, 900}) {
      const TemporaryFolder folder;
      const Contract contract = contract_of();
      std::optional<Spool> spool(opened(folder / "spool"));
      ASSERT_TRUE(spool->begin(collects(contract)));
      fill(*spool, 4, contract, 3);
      damage(file_of(folder / "spool", contract, 2), where);
      if (restart) {
        spool.reset();
        spool.emplace(opened(folder / "spool"));
        ASSERT_TRUE(spool->begin(collects(contract)));
        EXPECT_EQ(spool->reports(0), 3U);
      }
      EXPECT_EQ(spool->close(0, 2), 3U) << where;
      EXPECT_EQ(spool->take_notes().size(), 1U);
      const std::vector<int> who = senders(spool->batch(0, 1).value());
      EXPECT_EQ(std::set<int>(who.begin(), who.end()), (std::set<int>{1, 3, 4}));
    }
  }
}

TEST(Spool, DamageNeverMakesABatchSmallerThanItMustBe) {
  const TemporaryFolder folder;
  const Contract contract = contract_of();
  Spool spool = opened(folder / "spool");
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 3, contract, 3);
  damage(file_of(folder / "spool", contract, 2));
  EXPECT_EQ(spool.close(0, 2), 0U);
  EXPECT_EQ(spool.state(0), BatchState::kCollecting);
}

TEST(Spool, InAClosedBatchBytesThatOpenForNobodyStandForADamagedReport) {
  const TemporaryFolder folder;
  const Contract contract = contract_of();
  std::optional<Spool> spool(opened(folder / "spool"));
  ASSERT_TRUE(spool->begin(collects(contract)));
  fill(*spool, 4, contract, 3);
  ASSERT_EQ(spool->close(0, 2), 4U);
  // Nothing has left yet.
  fs::remove(file_of(folder / "spool", contract, 2));
  spool.reset();
  spool.emplace(opened(folder / "spool"));
  ASSERT_TRUE(spool->begin(collects(contract)));
  EXPECT_EQ(spool->close(0, 2), 4U);
  const Chunks batch = spool->batch(0, 0).value();
  ASSERT_EQ(batch.size(), 4U);
  EXPECT_EQ(spool->batch(0, 0).value(), batch);
}

/// What stood in a report's place would tell the server which chunks it had before.
TEST(Spool, ABatchOfWhichSomethingHasLeftIsStoppedByDamage) {
  for (const bool restart : {false, true}) {
    const TemporaryFolder folder;
    const Contract contract = contract_of();
    std::optional<Spool> spool(opened(folder / "spool"));
    ASSERT_TRUE(spool->begin(collects(contract)));
    fill(*spool, 4, contract, 3);
    ASSERT_EQ(spool->close(0, 2), 4U);
    ASSERT_TRUE(spool->batch(0, 0));
    fs::remove(file_of(folder / "spool", contract, 2));
    if (restart) {
      spool.reset();
      spool.emplace(opened(folder / "spool"));
      ASSERT_TRUE(spool->begin(collects(contract)));
    }
    EXPECT_FALSE(spool->batch(0, 0));
    EXPECT_EQ(spool->state(0), BatchState::kStopped);
    EXPECT_EQ(spool->close(0, 2), 0U);
  }
}

/// A closed batch does not open again because the file that closed it is gone.
TEST(Spool, ABatchWhoseListIsGoneIsStopped) {
  for (const bool whole_folder : {false, true}) {
    const TemporaryFolder folder;
    const Contract contract = contract_of();
    {
      Spool spool = opened(folder / "spool");
      ASSERT_TRUE(spool.begin(collects(contract)));
      fill(spool, 4, contract, 3);
      ASSERT_EQ(spool.close(0, 2), 4U);
      ASSERT_TRUE(spool.batch(0, 0));
    }
    const fs::path batch = file_of(folder / "spool", contract, 1).parent_path();
    whole_folder ? fs::remove_all(batch)
                 : static_cast<std::uintmax_t>(fs::remove(batch / "batch.json"));
    Spool spool = opened(folder / "spool");
    ASSERT_TRUE(spool.begin(collects(contract)));
    EXPECT_EQ(spool.state(0), BatchState::kStopped);
    EXPECT_FALSE(spool.add(sender(9), contract, 3, report_of(9)));
    EXPECT_EQ(spool.close(0, 2), 0U);
  }
}

/// The highest round that there is does not make all rounds new again.
TEST(Spool, TheLastRoundOfAllIsNotFollowedByTheFirst) {
  const TemporaryFolder folder;
  const RoundId last = std::numeric_limits<RoundId>::max();
  for (const bool restart : {false, true}) {
    const fs::path path = folder / (restart ? "restarted" : "running");
    std::optional<Spool> spool(opened(path));
    ASSERT_TRUE(spool->begin(collects(contract_of(1))));
    fill(*spool, 3, contract_of(1));
    ASSERT_TRUE(spool->begin(collects(contract_of(last))));
    fill(*spool, 1, contract_of(last), 1);
    Contract other = contract_of();
    other.run[3] = std::byte{7};
    ASSERT_TRUE(spool->begin(collects(other)));
    if (restart) {
      spool.reset();
      spool.emplace(opened(path));
    }
    EXPECT_FALSE(spool->begin(collects(contract_of(1))));
    EXPECT_FALSE(spool->begin(collects(contract_of(last))));
  }
}

TEST(Spool, ABatchWhoseListIsDamagedIsStopped) {
  const std::string ada(64, 'a');
  for (const std::string& senders : {R"(["../../x"])"s, R"([")" + ada + R"(",")" + ada + R"("])",
                                     R"(["ada"])"s, R"([1])"s, R"("ada")"s, R"(["x)"s}) {
    const TemporaryFolder folder;
    const Contract contract = contract_of();
    {
      Spool spool = opened(folder / "spool");
      ASSERT_TRUE(spool.begin(collects(contract)));
      fill(spool, 3, contract);
    }
    const fs::path list = file_of(folder / "spool", contract, 1).parent_path() / "batch.json";
    folder.write(list, R"({"senders":)" + senders + R"(,"minimum":1,"key":[1,2,3,4]})");
    Spool spool = opened(folder / "spool");
    ASSERT_TRUE(spool.begin(collects(contract)));
    EXPECT_EQ(spool.state(0), BatchState::kStopped) << senders;
    EXPECT_FALSE(spool.batch(0, 0));
    ASSERT_TRUE(spool.begin(collects(contract_of(2))));  // and the next round goes on
    fill(spool, 3, contract_of(2));
  }
}

TEST(Spool, WithoutItsMemoryItDoesNotBegin) {
  const TemporaryFolder folder;
  {
    Spool spool = opened(folder / "spool");
    ASSERT_TRUE(spool.begin(collects(contract_of(5))));
    fill(spool, 2, contract_of(5));
  }
  {
    Spool spool = opened(folder / "spool");
    EXPECT_FALSE(spool.begin(collects(contract_of(4))));
  }
  // Damage that leaves it readable, and damage that does not.
  const fs::path state = folder / "spool" / "state.json";
  const std::string text = read_text(state).value();
  std::string earlier = text;
  earlier.replace(earlier.find(R"("round":5)"), 9, R"("round":1)");
  for (const std::string& damaged : {earlier, text.substr(0, text.size() / 2), ""s}) {
    folder.write(state, damaged);
    const auto refused = Spool::open(folder / "spool");
    ASSERT_FALSE(refused) << damaged;
    EXPECT_EQ(refused.error().kind, ErrorKind::kCorrupt);
  }
  fs::remove(state);
  EXPECT_EQ(Spool::open(folder / "spool").error().kind, ErrorKind::kCorrupt);
  folder.write(state, text);
  EXPECT_TRUE(Spool::open(folder / "spool"));
}

TEST(Spool, ServesOneProcessAndItsOwnerAlone) {
  const TemporaryFolder folder;
  const Contract contract = contract_of();
  Spool spool = opened(folder / "spool");
  const auto second = Spool::open(folder / "spool");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kRefused);
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 2, contract);
  ASSERT_EQ(spool.close(0, 2), 2U);
  for (const auto& entry : fs::recursive_directory_iterator(folder / "spool")) {
    const auto others = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(fs::status(entry).permissions() & others, fs::perms::none) << entry.path();
  }
}

TEST(Spool, EveryOrderIsAsLikelyAsAnother) {
  // 600 positions of a batch of three: each of six orders 100 times on average. Below 55 or above
  // 145 is close to five deviations; an order that is never or twice as often drawn shows, and so
  // does one that all positions share.
  constexpr std::size_t kPositions = 600;
  const TemporaryFolder folder;
  Spool spool = opened(folder / "spool");
  const Contract contract = contract_of(1, kPositions);
  ASSERT_TRUE(spool.begin(collects(contract)));
  fill(spool, 3, contract);
  ASSERT_EQ(spool.close(0, 2), 3U);
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

}  // namespace
}  // namespace sotto::rpc
