// The rules of the ledger: what is allowed, what is refused with which words, and what stays after
// closing and opening again.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/sha256.h"
#include "ledger_fixture.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr Limits kTen = {.epsilon_per_round = 2.0, .epsilon = 10.0};

TEST_F(LedgerTest, ANewLedgerHasNoEntries) {
  const auto head = open()->head();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->entries, 0U);
  EXPECT_EQ(head->hash, std::string(64, '0'));
  EXPECT_TRUE(verify_ledger(file()));
}

TEST_F(LedgerTest, ALedgerMakesItsFolder) {
  EXPECT_TRUE(open_ledger(folder_ / "new" / "deep" / "ledger.db"));
}

TEST_F(LedgerTest, ARoundIsChargedBoundAndDelivered) {
  auto ledger = open_with(kTen);
  auto charge = ledger->charge(request(7));
  ASSERT_TRUE(charge) << message(charge);
  EXPECT_EQ(charge->id, 2U);
  EXPECT_EQ(charge->round, 7U);
  EXPECT_EQ(charge->state, ChargeState::kCharged);
  EXPECT_EQ(charge->report_hash, "");
  const auto bytes = report_bytes("a report");
  ASSERT_TRUE(ledger->bind(*charge, bytes));
  EXPECT_EQ(ledger->report(*charge).value(), bytes);
  charge = ledger->charge(request(7));
  ASSERT_TRUE(charge);
  EXPECT_EQ(charge->state, ChargeState::kBound);
  EXPECT_EQ(charge->report_hash, sha256_hex("a report"));
  ASSERT_TRUE(ledger->delivered(*charge));
  ASSERT_TRUE(ledger->delivered(*charge));  // a second time changes nothing
  EXPECT_EQ(ledger->charge(request(7))->state, ChargeState::kDelivered);
  EXPECT_EQ(ledger->head()->entries, 4U);
}

TEST_F(LedgerTest, EverythingIsThereAfterOpeningAgain) {
  const auto bytes = report_bytes(std::string(100'000, 'r'));
  LedgerHead head;
  {
    auto ledger = open_with(kTen);
    ASSERT_TRUE(ledger->bind(*ledger->charge(request(1)), bytes));
    ASSERT_TRUE(ledger->charge(request(2)));
    head = *ledger->head();
  }
  auto ledger = open();
  EXPECT_EQ(ledger->head()->hash, head.hash);
  const auto charge = ledger->charge(request(1));
  EXPECT_EQ(charge->state, ChargeState::kBound);
  EXPECT_EQ(ledger->report(*charge).value(), bytes);
  EXPECT_EQ(ledger->charge(request(2))->state, ChargeState::kCharged);
  const auto spent = ledger->spent("alice", "mnist");
  EXPECT_EQ(spent->rounds, 2U);
  EXPECT_EQ(spent->epsilon_sum, 2.0);
  EXPECT_EQ(spent->limits, kTen);
  EXPECT_EQ(ledger->head()->hash, head.hash);  // nothing was charged again
}

TEST_F(LedgerTest, ARoundIsChargedOnce) {
  auto ledger = open_with(kTen);
  const auto first = ledger->charge(request(1));
  const auto again = ledger->charge(request(1));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->id, again->id);
  EXPECT_EQ(ledger->spent("alice", "mnist")->epsilon, 1.0);
  // Another task's round of the same number is another round.
  ASSERT_TRUE(ledger->charge(request(1, pure_cost(1.0), "alice", "other")));
  EXPECT_EQ(ledger->spent("alice", "mnist")->epsilon, 2.0);
}

TEST_F(LedgerTest, ARoundIsNotChargedForAnotherReport) {
  auto ledger = open_with(kTen);
  ASSERT_TRUE(ledger->charge(request(1)));
  auto other = request(1);
  other.mechanism_id = "srr.v1:0123456789abcdef";
  expect_refused(ledger->charge(other), ErrorKind::kRefused,
                 {"charged before for another report", "two-point.v1", "srr.v1"});
  expect_refused(ledger->charge(request(1, 0.5)), ErrorKind::kRefused, {"epsilon 1, now", "0.5"});
  expect_refused(ledger->charge(request(1, Cost{1.0, 0.0, 0.5, 2})), ErrorKind::kRefused, {});
  EXPECT_EQ(ledger->spent("alice", "mnist")->epsilon, 1.0);
}

TEST_F(LedgerTest, ManyAtOnceGetAnAnswerEach) {
  auto ledger = open_with({.epsilon_per_round = 1.0, .epsilon = 2.0});
  const std::vector<ChargeRequest> requests = {request(1), request(2, 1.5), request(1),
                                               request(2), request(3),      request(1, 1.0, "bob")};
  const auto answers = ledger->charge_all(requests);
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 6U);
  EXPECT_TRUE((*answers)[0]);
  expect_refused((*answers)[1], ErrorKind::kRefused, {"epsilon per round"});
  EXPECT_EQ((*answers)[2]->id, (*answers)[0]->id);
  EXPECT_TRUE((*answers)[3]);
  expect_refused((*answers)[4], ErrorKind::kRefused, {"lifetime epsilon"});
  expect_refused((*answers)[5], ErrorKind::kRefused, {"without limits"});
  EXPECT_EQ(ledger->head()->entries, 3U);
  EXPECT_TRUE(ledger->charge_all({})->empty());
}

TEST_F(LedgerTest, EveryLimitRefusesWithItsReason) {
  auto ledger = open_with({.epsilon_per_round = 2.0, .epsilon = 10.0, .delta = 0.25, .rounds = 6});
  expect_refused(ledger->charge(request(1, 2.5)), ErrorKind::kRefused,
                 {file().string(), "client 'alice', data set 'mnist', task 'train', round 1",
                  "epsilon per round", "limit is 2, asked 2.5"});
  expect_refused(ledger->charge(request(1, kInfinite)), ErrorKind::kRefused, {"no finite epsilon"});
  for (RoundId round = 1; round <= 4; ++round) {
    ASSERT_TRUE(ledger->charge(request(round, Cost{2.0, 0.03125, 2.0, 1})));
  }
  expect_refused(ledger->charge(request(5, Cost{1.0, 0.25, 1.0, 1})), ErrorKind::kRefused,
                 {"lifetime delta", "limit is 0.25, spent 0.125, asked 0.25, remains 0.125"});
  ASSERT_TRUE(ledger->charge(request(5, 1.5)));
  expect_refused(ledger->charge(request(6, 1.0)), ErrorKind::kRefused,
                 {"lifetime epsilon", "limit is 10, spent 9.5, asked 1, remains 0.5"});
  ASSERT_TRUE(ledger->charge(request(6, 0.5)));  // exactly what remains
  expect_refused(ledger->charge(request(7, 0.0)), ErrorKind::kRefused,
                 {"number of rounds", "limit is 6, spent 6, asked 1, remains 0"});
  EXPECT_EQ(ledger->spent("alice", "mnist")->epsilon, 10.0);
}

TEST_F(LedgerTest, AnAccountWithoutLimitsAllowsNothing) {
  auto ledger = open_with(kTen);
  expect_refused(ledger->charge(request(1, 0.0, "bob")), ErrorKind::kRefused,
                 {"an account without limits allows nothing"});
  expect_refused(ledger->charge(request(1, 0.0, "alic")), ErrorKind::kRefused,
                 {"did you mean 'alice'"});
  auto other = request(1);
  other.dataset = "cifar";
  expect_refused(ledger->charge(other), ErrorKind::kRefused, {"without limits"});
  ASSERT_TRUE(ledger->set_limits("bob", "mnist", Limits()));
  expect_refused(ledger->charge(request(1, 0.5, "bob")), ErrorKind::kRefused,
                 {"epsilon per round: the limit is 0"});
  expect_refused(ledger->spent("alise", "mnist"), ErrorKind::kNotFound, {"did you mean 'alice'"});
}

TEST_F(LedgerTest, OnlyTheUnlimitedPayForWhatHasNoEpsilon) {
  auto ledger = open_with(Limits::unlimited());
  for (RoundId round = 1; round <= 3; ++round) {
    ASSERT_TRUE(ledger->charge(request(round, Cost{})));
    ASSERT_TRUE(ledger->charge(request(round + 10, Cost{1.0, 0.75, 1.0, 1})));
  }
  const auto spent = ledger->spent("alice", "mnist");
  EXPECT_EQ(spent->epsilon, kInfinite);
  EXPECT_EQ(spent->delta_sum, 1.0);
  ASSERT_TRUE(ledger->set_limits("alice", "mnist", kTen));
  expect_refused(ledger->charge(request(4)), ErrorKind::kRefused, {"lifetime"});
  ledger.reset();
  EXPECT_EQ(open()->spent("alice", "mnist")->epsilon, kInfinite);
}

TEST_F(LedgerTest, LimitsCountFromNowOn) {
  auto ledger = open_with({.epsilon_per_round = 1.0, .epsilon = 1.0});
  ASSERT_TRUE(ledger->charge(request(1)));
  EXPECT_FALSE(ledger->charge(request(2)));
  ASSERT_TRUE(ledger->set_limits("alice", "mnist", {.epsilon_per_round = 1.0, .epsilon = 2.0}));
  ASSERT_TRUE(ledger->charge(request(2)));
  ASSERT_TRUE(ledger->set_limits("alice", "mnist", {.epsilon_per_round = 1.0, .epsilon = 1.5}));
  expect_refused(ledger->charge(request(3, 0.5)), ErrorKind::kRefused,
                 {"limit is 1.5, spent 2, asked 0.5, remains 0"});
  ASSERT_TRUE(ledger->charge(request(2)));  // what was charged stays charged
  const auto before = ledger->head();
  ASSERT_TRUE(ledger->set_limits("alice", "mnist", {.epsilon_per_round = 1.0, .epsilon = 1.5}));
  EXPECT_EQ(ledger->head()->entries, before->entries);  // the same limits are no entry
}

TEST_F(LedgerTest, LimitsOfManyAreSetTogetherOrNotAtAll) {
  auto ledger = open();
  std::vector<Ledger::AccountLimits> all = {
      {"a", "mnist", kTen}, {"b", "mnist", kTen}, {"", "x", {}}};
  EXPECT_FALSE(ledger->set_limits_all(all));
  EXPECT_EQ(ledger->head()->entries, 0U);
  all.pop_back();
  ASSERT_TRUE(ledger->set_limits_all(all));
  EXPECT_TRUE(ledger->charge(request(1, 1.0, "b")));
  EXPECT_EQ(ledger->head()->entries, 3U);
}

TEST_F(LedgerTest, AChargeHasOneReport) {
  auto ledger = open_with(kTen);
  const auto charge = ledger->charge(request(1));
  expect_refused(ledger->delivered(*charge), ErrorKind::kRefused, {"no report is bound"});
  expect_refused(ledger->report(*charge), ErrorKind::kNotFound, {"no report is bound"});
  ASSERT_TRUE(ledger->bind(*charge, report_bytes("one")));
  ASSERT_TRUE(ledger->bind(*charge, report_bytes("one")));
  expect_refused(ledger->bind(*charge, report_bytes("two")), ErrorKind::kRefused,
                 {"another report is bound", "entry 2", "round 1"});
  expect_refused(ledger->bind_hashes(std::vector<Ledger::BoundHash>{{2, sha256_hex("two")}}),
                 ErrorKind::kRefused, {"another report"});
  EXPECT_EQ(ledger->report(*charge).value(), report_bytes("one"));
  EXPECT_EQ(ledger->head()->entries, 3U);
}

TEST_F(LedgerTest, AReportNeedsACharge) {
  auto ledger = open_with(kTen);
  for (const std::uint64_t id :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    const Charge made_up{.id = id};
    expect_refused(ledger->bind(made_up, report_bytes("x")), ErrorKind::kRefused, {"not a charge"});
    expect_refused(ledger->delivered(made_up), ErrorKind::kRefused, {"not a charge"});
    expect_refused(ledger->report(made_up), ErrorKind::kRefused, {"not a charge"});
  }
  EXPECT_EQ(ledger->head()->entries, 1U);
}

TEST_F(LedgerTest, AnEmptyReportIsAReport) {
  auto ledger = open_with(kTen);
  const auto charge = ledger->charge(request(1));
  ASSERT_TRUE(ledger->bind(*charge, {}));
  EXPECT_TRUE(ledger->report(*charge)->empty());
  EXPECT_TRUE(verify_ledger(file()));
}

TEST_F(LedgerTest, BytesOfDeliveredReportsGoWithTheNextReport) {
  auto ledger = open_with(kTen);
  ASSERT_TRUE(ledger->set_limits("bob", "mnist", kTen));
  const auto lost = ledger->charge(request(1));
  const auto first = ledger->charge(request(2));
  const auto second = ledger->charge(request(3));
  const auto others = ledger->charge(request(3, 1.0, "bob"));
  ASSERT_TRUE(ledger->bind(*lost, report_bytes("lost")));
  ASSERT_TRUE(ledger->bind(*first, report_bytes("first")));
  ASSERT_TRUE(ledger->delivered(*first));
  ASSERT_TRUE(ledger->bind(*others, report_bytes("bob's")));
  EXPECT_TRUE(ledger->report(*first));  // another account's report lets it be
  ASSERT_TRUE(ledger->bind(*second, report_bytes("second")));
  expect_refused(ledger->report(*first), ErrorKind::kNotFound, {"delivered long ago"});
  EXPECT_TRUE(ledger->report(*lost));  // nobody has confirmed it
  EXPECT_TRUE(ledger->report(*second));
  EXPECT_TRUE(ledger->report(*others));
  EXPECT_TRUE(verify_ledger(file()));
  ledger.reset();
  ledger = open();
  EXPECT_FALSE(ledger->report(*first));
  EXPECT_EQ(ledger->report(*lost).value(), report_bytes("lost"));
}

TEST_F(LedgerTest, HashesAreBoundTogetherOrNotAtAll) {
  auto ledger = open_with(kTen);
  const auto one = ledger->charge(request(1));
  const auto two = ledger->charge(request(2));
  const std::string hash = sha256_hex("report");
  const auto bind = [&](std::vector<Ledger::BoundHash> reports) {
    return ledger->bind_hashes(reports);
  };
  expect_refused(bind({{one->id, hash}, {99, hash}}), ErrorKind::kRefused, {"99"});
  expect_refused(bind({{one->id, hash}, {two->id, "ABC"}}), ErrorKind::kUsage, {"ABC", "64"});
  EXPECT_EQ(ledger->charge(request(1))->state, ChargeState::kCharged);
  ASSERT_TRUE(bind({{one->id, hash}, {two->id, hash}}));
  ASSERT_TRUE(bind({{one->id, hash}}));
  EXPECT_EQ(ledger->charge(request(2))->report_hash, hash);
  expect_refused(ledger->report(*one), ErrorKind::kNotFound, {"only its hash"});
  EXPECT_TRUE(ledger->bind(*one, report_bytes("report")));
  EXPECT_EQ(ledger->head()->entries, 5U);
}

TEST_F(LedgerTest, BadNamesAndNumbersAreRefused) {
  auto ledger = open_with(kTen);
  const double nan = std::nan("");
  for (const std::string& name :
       {std::string(), std::string("a\tb"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("\xff\xfe"), std::string("\xC0\x80"), std::string("\xED\xA0\x80"),
        std::string("\xE2\x82"), std::string(201, 'x')}) {
    expect_refused(ledger->set_limits(name, "mnist", kTen), ErrorKind::kUsage, {"client's name"});
    auto bad = request(1);
    bad.task = name;
    expect_refused(ledger->charge(bad), ErrorKind::kUsage, {"task's name"});
  }
  ASSERT_TRUE(ledger->set_limits("Zoë 東京 \xF0\x9F\x94\x92", "mnist", kTen));
  for (const double bad : {-1.0, nan, -kInfinite}) {
    expect_refused(ledger->set_limits("alice", "mnist", {bad, 1.0}), ErrorKind::kUsage, {});
    expect_refused(ledger->set_limits("alice", "mnist", {1.0, bad}), ErrorKind::kUsage, {});
    expect_refused(ledger->set_limits("alice", "mnist", {1.0, 1.0, bad}), ErrorKind::kUsage, {});
    expect_refused(ledger->charge(request(1, Cost{bad, 0.0, 1.0, 1})), ErrorKind::kUsage, {});
    expect_refused(ledger->charge(request(1, Cost{1.0, bad, 1.0, 1})), ErrorKind::kUsage, {});
    expect_refused(ledger->charge(request(1, Cost{1.0, 0.0, bad, 1})), ErrorKind::kUsage, {});
  }
  expect_refused(ledger->set_limits("alice", "mnist", {1.0, 1.0, 1.5}), ErrorKind::kUsage,
                 {"delta", "[0, 1]"});
  expect_refused(ledger->charge(request(1, Cost{1.0, 0.0, 1.0, 0})), ErrorKind::kUsage, {"unit"});
  EXPECT_EQ(ledger->head()->entries, 2U);
}

TEST_F(LedgerTest, AccountsAreApart) {
  auto ledger = open_with({.epsilon_per_round = 1.0, .epsilon = 1.0});
  ASSERT_TRUE(ledger->set_limits("alice", "cifar", {.epsilon_per_round = 1.0, .epsilon = 1.0}));
  ASSERT_TRUE(ledger->charge(request(1)));
  auto other = request(1);
  other.dataset = "cifar";
  ASSERT_TRUE(ledger->charge(other));
  EXPECT_FALSE(ledger->charge(request(2)));
  const auto report = read_ledger(file());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->accounts.size(), 2U);
  EXPECT_EQ(report->accounts[1].dataset, "cifar");
  EXPECT_EQ(report->accounts[1].spent.epsilon, 1.0);
}

TEST_F(LedgerTest, TwoOpenLedgersSeeEachOther) {
  auto one = open_with({.epsilon_per_round = 1.0, .epsilon = 3.0});
  auto two = open();
  ASSERT_TRUE(one->charge(request(1)));
  ASSERT_TRUE(two->charge(request(2)));
  EXPECT_EQ(two->charge(request(1))->id, 2U);
  ASSERT_TRUE(one->charge(request(3)));
  EXPECT_FALSE(two->charge(request(4)));
  EXPECT_EQ(one->head()->hash, two->head()->hash);
  EXPECT_EQ(one->spent("alice", "mnist")->rounds, 3U);
}

TEST_F(LedgerTest, ThreadsShareALedger) {
  auto ledger = open_with({.epsilon_per_round = 1.0, .epsilon = 20.0});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&ledger, t] {
      for (RoundId round = 0; round < 10; ++round) {
        static_cast<void>(ledger->charge(request(t * 100 + round)));
        static_cast<void>(ledger->spent("alice", "mnist"));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ledger->spent("alice", "mnist")->epsilon, 20.0);
  EXPECT_TRUE(verify_ledger(file()));
}

// The chain as a stranger would check it: with the exported lines and SHA-256.
TEST_F(LedgerTest, TheExportProvesItself) {
  auto ledger = open_with({.epsilon_per_round = 2.0, .epsilon = kInfinite, .rounds = 9});
  ASSERT_TRUE(ledger->set_limits("bob \"b\"", "mnist", kTen));
  const auto charge = ledger->charge(request(1, 0.1));
  ASSERT_TRUE(ledger->bind(*charge, report_bytes("r")));
  ASSERT_TRUE(ledger->delivered(*charge));
  std::string text;
  ASSERT_TRUE(export_ledger(file(), text));
  std::istringstream lines(text);
  std::string line, previous(64, '0');
  std::vector<json> all;
  while (std::getline(lines, line)) {
    all.push_back(json::parse(line));
    EXPECT_EQ(all.back()["entry"], all.size());
    EXPECT_EQ(all.back()["previous"], previous);
    EXPECT_EQ(all.back()["hash"], sha256_hex(previous + all.back()["body"].get<std::string>()));
    previous = all.back()["hash"];
  }
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(previous, ledger->head()->hash);
  EXPECT_EQ(all[0]["kind"], "limits");
  EXPECT_EQ(all[0]["epsilon"], nullptr);
  EXPECT_EQ(all[0]["rounds"], 9);
  EXPECT_EQ(all[1]["client"], "bob \"b\"");
  EXPECT_EQ(all[2]["kind"], "charge");
  EXPECT_EQ(all[2]["epsilon"], 0.1);
  EXPECT_EQ(all[2]["round"], 1);
  EXPECT_EQ(all[3]["report"], sha256_hex("r"));
  EXPECT_EQ(all[4]["charge"], 3);
}

TEST_F(LedgerTest, TheSameStepsMakeTheSameChain) {
  std::string first;
  for (int repetition = 0; repetition < 2; ++repetition) {
    const TemporaryFolder folder;
    auto ledger = open_ledger(folder / "l").value();
    ASSERT_TRUE(ledger->set_limits("alice", "mnist", kTen));
    ASSERT_TRUE(ledger->bind(*ledger->charge(request(1)), report_bytes("r")));
    const std::string hash = ledger->head()->hash;
    if (repetition == 0) first = hash;
    EXPECT_EQ(hash, first);
  }
}

TEST_F(LedgerTest, AnAnchorMustLieOnTheChain) {
  auto ledger = open_with(kTen);
  const auto early = *ledger->head();
  ASSERT_TRUE(ledger->charge(request(1)));
  const auto late = *ledger->head();
  EXPECT_TRUE(verify_ledger(file(), early));
  EXPECT_TRUE(verify_ledger(file(), late));
  EXPECT_TRUE(verify_ledger(file(), LedgerHead{0, std::string(64, '0')}));
  expect_refused(verify_ledger(file(), LedgerHead{1, late.hash}), ErrorKind::kCorrupt,
                 {"never ended at 1:"});
  EXPECT_FALSE(verify_ledger(file(), LedgerHead{3, late.hash}));
  EXPECT_FALSE(verify_ledger(file(), LedgerHead{0, late.hash}));
}

TEST_F(LedgerTest, ReadingLeavesTheFileAlone) {
  open_with(kTen).reset();
  const auto before = std::filesystem::last_write_time(file());
  const auto files = TemporaryFolder::entries(folder_.path());
  EXPECT_TRUE(verify_ledger(file()));
  std::string lines;
  EXPECT_TRUE(export_ledger(file(), lines));
  EXPECT_EQ(std::filesystem::last_write_time(file()), before);
  EXPECT_EQ(TemporaryFolder::entries(folder_.path()), files);
  expect_refused(read_ledger(folder_ / "nothing"), ErrorKind::kNotFound, {"no such ledger"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nothing"));
}

}  // namespace
}  // namespace sotto
