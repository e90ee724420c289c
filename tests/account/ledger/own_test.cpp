// The ledger of its owner: limits of the whole file hold whatever names a charge has, an account
// apart exists only by the owner's word, and a second head file tells one ledger from another.
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "account/ledger/ledger_book.h"
#include "account/ledger/ledger_head.h"
#include "base/file.h"
#include "ledger_fixture.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Limits kTwo = {.epsilon_per_round = 1.0, .epsilon = 2.0};
constexpr Limits kMany = {.epsilon_per_round = 1.0, .epsilon = 100.0};

ChargeRequest named(const std::string& dataset, const std::string& task, RoundId round,
                    const std::string& client = "alice", const Cost& cost = pure_cost(1.0)) {
  ChargeRequest request = sotto::request(round, cost, client, task);
  request.dataset = dataset;
  return request;
}

class OwnLedgerTest : public LedgerTest {
 protected:
  std::unique_ptr<Ledger> own(const Limits& limits, const OwnLedgerOptions& options = {}) const {
    auto ledger = open_own_ledger(file(), options);
    EXPECT_TRUE(ledger) << message(ledger);
    if (!ledger) return nullptr;
    const auto set = (*ledger)->set_limits("alice", "whatever", limits);
    EXPECT_TRUE(set) << message(set);
    return std::move(*ledger);
  }
  /// What a program of before has left: a data set of its own for each server's seed.
  void old_account(const std::string& dataset, const std::string& task, RoundId rounds,
                   const Limits& limits = kMany, const Cost& cost = pure_cost(1.0)) const {
    auto ledger = open();
    ASSERT_TRUE(ledger->set_limits("alice", dataset, limits));
    for (RoundId round = 1; round <= rounds; ++round) {
      const auto charge = ledger->charge(named(dataset, task, round, "alice", cost));
      ASSERT_TRUE(charge) << message(charge);
      ASSERT_TRUE(ledger->bind(*charge, report_bytes(dataset + std::to_string(round))));
    }
  }
};

TEST_F(OwnLedgerTest, NoNameOpensAnotherBudget) {
  auto ledger = own(kTwo);
  double spent = 0.0;
  for (const std::string dataset : {"mine.csv:1", "mine.csv:2", "./mine.csv", "x"}) {
    for (const std::string task : {"seed 1", "seed 2"}) {
      for (const std::string client : {"alice", "bob"}) {
        if (ledger->charge(named(dataset, task + dataset, 1, client))) spent += 1.0;
      }
    }
  }
  EXPECT_EQ(spent, 2.0);
  expect_refused(ledger->charge(named("new", "new", 1)), ErrorKind::kRefused,
                 {"client 'alice', the whole ledger", "lifetime epsilon", "spent 2"});
  EXPECT_EQ(ledger->spent("anybody", "anything")->epsilon, 2.0);
  ledger.reset();
  EXPECT_FALSE(own(kTwo)->charge(named("after a restart", "t", 1)));
  EXPECT_TRUE(verify_ledger(file()));
}

TEST_F(OwnLedgerTest, WithoutLimitsNothingIsAllowed) {
  auto ledger = open_own_ledger(file()).value();
  EXPECT_FALSE(*ledger->has_account("alice", "x"));
  expect_refused(ledger->charge(request(1, 0.0)), ErrorKind::kRefused, {"without limits"});
  expect_refused(ledger->spent("alice", "x"), ErrorKind::kNotFound, {"the whole ledger"});
}

TEST_F(OwnLedgerTest, TheSameRoundOfAClientIsChargedOnce) {
  auto ledger = own(kTwo);
  const auto charge = ledger->charge(named("a", "t", 1));
  EXPECT_EQ(ledger->charge(named("b", "t", 1))->id, charge->id);
  EXPECT_NE(ledger->charge(named("b", "t", 1, "bob"))->id, charge->id);  // another one's report
  expect_refused(ledger->charge(named("a", "t", 1, "alice", pure_cost(0.5))), ErrorKind::kRefused,
                 {"charged before for another report"});
}

TEST_F(OwnLedgerTest, AccountsOfBeforeAreSummed) {
  old_account("mine.csv:1", "seed 1", 2);
  old_account("mine.csv:2", "seed 2", 2);
  auto ledger = own({.epsilon_per_round = 1.0, .epsilon = 5.0});
  EXPECT_EQ(ledger->spent("", "")->epsilon, 4.0);
  EXPECT_TRUE(ledger->charge(named("mine.csv:3", "seed 3", 1)));
  EXPECT_FALSE(ledger->charge(named("mine.csv:4", "seed 4", 1)));
  const auto report = read_ledger(file());
  EXPECT_EQ(report->whole.spent.epsilon, 5.0);
  EXPECT_TRUE(report->whole.limited);
  EXPECT_EQ(report->accounts.size(), 3U);
}

TEST_F(OwnLedgerTest, TheReportOfAnAccountOfBeforeIsSentAgain) {
  old_account("mine.csv:1", "seed 1", 2);
  auto ledger = own({.epsilon_per_round = 1.0, .epsilon = 2.0});
  const auto charge = ledger->charge(named("./mine.csv", "seed 1", 2));
  ASSERT_TRUE(charge) << message(charge);
  EXPECT_EQ(charge->state, ChargeState::kBound);
  EXPECT_EQ(ledger->report(*charge).value(), report_bytes("mine.csv:12"));
  EXPECT_TRUE(ledger->delivered(*charge));
  EXPECT_EQ(ledger->spent("", "")->rounds, 2U);
}

TEST_F(OwnLedgerTest, OfSeveralChargesOfARoundTheFurthestIsFound) {
  {
    auto ledger = open();
    for (const std::string dataset : {"a", "b", "c"}) {
      ASSERT_TRUE(ledger->set_limits("alice", dataset, kMany));
      ASSERT_TRUE(ledger->charge(named(dataset, "t", 1)));
    }
    ASSERT_TRUE(ledger->bind(*ledger->charge(named("b", "t", 1)), report_bytes("sent")));
  }
  auto ledger = own(kMany);
  EXPECT_EQ(ledger->report(*ledger->charge(named("d", "t", 1))).value(), report_bytes("sent"));
}

// A ledger that the program of before this rule has written, when three servers with three seeds
// asked one client under a limit of 2.5.
TEST_F(OwnLedgerTest, ALedgerOfTheFirstVersionIsReadAndSummed) {
  const fs::path stored = fs::path(LEDGER_DATA) / "three-accounts.sqlite";
  fs::copy_file(stored, file());
  fs::copy_file(stored.string() + ".head", file().string() + ".head");
  const auto before = verify_ledger(file());
  ASSERT_TRUE(before) << message(before);
  EXPECT_EQ(before->head.hash, "e713d5f42c6820ac0c9740c3f74be278ca299aa63443ab0f7b9e0f8ddff50128");
  EXPECT_EQ(before->accounts.size(), 3U);
  EXPECT_EQ(before->whole.spent.epsilon, 6.25);
  EXPECT_FALSE(before->whole.limited);
  auto ledger = own({.epsilon_per_round = 2.0, .epsilon = 2.5});
  EXPECT_EQ(ledger->spent("", "")->epsilon, 6.25);
  ChargeRequest request{"ada",
                        "mine.csv",
                        "f3057b167faa4ffe8247fe69671472a7719ac60845ef67c0a5f5c78cc3bc613e:"
                        "fd022911124f440b",
                        1,
                        "two-point.v1:c21b0e2df2daa553",
                        {1.25, 0.0, 0.125, 10}};
  const auto found = ledger->charge(request);
  ASSERT_TRUE(found) << message(found);
  EXPECT_EQ(found->id, 16U);
  EXPECT_EQ(found->state, ChargeState::kDelivered);
  request.round = 2;
  expect_refused(ledger->charge(request), ErrorKind::kRefused, {"spent 6.25", "remains 0"});
  EXPECT_TRUE(verify_ledger(file(), before->head));
}

TEST_F(OwnLedgerTest, AnAccountApartIsTheOwnersWord) {
  auto whole = own(kTwo);
  ASSERT_TRUE(whole->charge(named("x", "t", 1)));
  expect_refused(open_own_ledger(file(), {"clinic", {}}), ErrorKind::kNotFound,
                 {"no account 'clinic'", "sotto ledger account add"});
  ASSERT_TRUE(declare_account(file(), "clinic"));
  ASSERT_TRUE(declare_account(file(), "trial"));
  expect_refused(open_own_ledger(file(), {"clinik", {}}), ErrorKind::kNotFound,
                 {"did you mean 'clinic'"});
  auto clinic = own(kTwo, {"clinic", {}});
  ASSERT_TRUE(clinic->charge(named("x", "t", 2)));
  ASSERT_TRUE(clinic->charge(named("x", "t", 3)));
  expect_refused(clinic->charge(named("x", "t", 4)), ErrorKind::kRefused, {"account 'clinic'"});
  EXPECT_EQ(whole->spent("", "")->epsilon, 1.0);
  ASSERT_TRUE(whole->charge(named("x", "t", 5)));
  EXPECT_FALSE(whole->charge(named("x", "t", 6)));
  // A round has one report, whichever account paid for it and made it.
  for (auto* const ledger : {whole.get(), clinic.get()}) {
    const RoundId round = ledger == whole.get() ? 1 : 2;
    ASSERT_TRUE(ledger->bind(*ledger->charge(named("x", "t", round)), report_bytes("made")));
  }
  EXPECT_EQ(clinic->charge(named("x", "t", 1))->id, whole->charge(named("x", "t", 1))->id);
  EXPECT_EQ(whole->charge(named("x", "t", 2))->id, clinic->charge(named("x", "t", 2))->id);
  const auto report = verify_ledger(file());
  ASSERT_TRUE(report) << message(report);
  EXPECT_EQ(report->whole.spent.epsilon, 2.0);
  ASSERT_EQ(report->declared.size(), 2U);
  EXPECT_EQ(report->declared[0].name, "clinic");
  EXPECT_EQ(report->declared[0].spent.epsilon, 2.0);
  EXPECT_FALSE(report->declared[1].limited);
}

/// A report is made from the data of the account that has paid for it.
TEST_F(OwnLedgerTest, ARoundOfAnotherAccountIsNotMadeHere) {
  auto whole = own({.epsilon_per_round = 1e-9, .epsilon = 1e-9});
  ASSERT_TRUE(declare_account(file(), "clinic"));
  auto clinic = own(kTwo, {"clinic", {}});
  const auto charge = clinic->charge(named("x", "t", 1));
  ASSERT_TRUE(charge) << message(charge);
  expect_refused(whole->charge(named("x", "t", 1)), ErrorKind::kRefused,
                 {"charged to account 'clinic'"});
  // Once it is made it may be sent again, by whoever is asked.
  ASSERT_TRUE(clinic->bind(*charge, report_bytes("one")));
  const auto again = whole->charge(named("x", "t", 1));
  ASSERT_TRUE(again) << message(again);
  EXPECT_EQ(again->id, charge->id);
}

TEST_F(OwnLedgerTest, AFileWithTwoNamesIsRefused) {
  own(kTwo);
  fs::create_hard_link(file(), fs::path(file()).concat(".other"));
  expect_refused(open_own_ledger(file(), {}), ErrorKind::kRefused, {"several names"});
}

TEST_F(OwnLedgerTest, ANameInUseCannotBeDeclared) {
  expect_refused(declare_account(file(), "clinic"), ErrorKind::kNotFound, {"no such ledger"});
  EXPECT_FALSE(fs::exists(file()));
  old_account("mnist", "t", 1);
  // It would take what was spent out of the whole file.
  expect_refused(declare_account(file(), "mnist"), ErrorKind::kRefused, {"'mnist'", "data set"});
  ASSERT_TRUE(declare_account(file(), "clinic"));
  expect_refused(declare_account(file(), "clinic"), ErrorKind::kRefused, {"declared twice"});
  for (const std::string bad : {"", "a\tb", "a\nb"}) {
    expect_refused(declare_account(file(), bad), ErrorKind::kUsage, {"account's name"});
  }
  // Nor can somebody who chooses data sets' names spend from it.
  auto plain = open();
  expect_refused(plain->set_limits("eve", "clinic", kMany), ErrorKind::kRefused, {"--account"});
  expect_refused(plain->charge(named("clinic", "t", 1)), ErrorKind::kRefused, {"--account"});
  expect_refused(plain->set_limits("", "", kMany), ErrorKind::kUsage, {"client's name"});
  expect_refused(plain->set_limits("eve", "", kMany), ErrorKind::kUsage, {"data set's name"});
  expect_refused(plain->charge(named("", "t", 1)), ErrorKind::kUsage, {"data set's name"});
}

TEST_F(OwnLedgerTest, LimitsOfTheWholeFileHoldForNamedAccountsToo) {
  own(kTwo).reset();
  auto plain = open();
  for (const std::string client : {"a", "b", "c"}) {
    ASSERT_TRUE(plain->set_limits(client, "mnist", kMany));
  }
  EXPECT_TRUE(plain->charge(named("mnist", "t", 1, "a")));
  EXPECT_TRUE(plain->charge(named("mnist", "t", 1, "b")));
  expect_refused(plain->charge(named("mnist", "t", 1, "c")), ErrorKind::kRefused,
                 {"data set 'mnist'", "whole ledger: lifetime epsilon"});
}

TEST_F(OwnLedgerTest, AccountsOfBothKindsAllowNothingMore) {
  const Limits limits{.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6};
  const Cost with_delta{0.5, 1e-8, 0.5, 1};
  // Opened first, but charged last: the order of the charges decides.
  {
    auto ledger = open();
    ASSERT_TRUE(ledger->set_limits("alice", "late", limits));
  }
  old_account("early", "t", 1, limits);
  old_account("late", "t", 1, limits, with_delta);
  auto ledger = own(limits);
  for (const Cost& cost : {pure_cost(0.5), with_delta}) {
    expect_refused(ledger->charge(named("x", "t", 9, "alice", cost)), ErrorKind::kRefused,
                   {"no rule covers both"});
  }
}

TEST_F(OwnLedgerTest, TheSecondFilterHoldsOnTheSum) {
  const Limits limits{.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6};
  const auto allowed = [&](Ledger& ledger, bool one_name) {
    int count = 0;
    for (RoundId round = 1; round < 500; ++round) {
      const std::string dataset = one_name ? "x" : std::to_string(round);
      if (ledger.charge(named(dataset, "t", round, "alice", pure_cost(0.25)))) ++count;
    }
    return count;
  };
  const TemporaryFolder other;
  auto one = open_ledger(other / "one.db").value();
  ASSERT_TRUE(one->set_limits("alice", "x", limits));
  const int expected = allowed(*one, true);
  EXPECT_GT(expected, 32);  // more than the sum of epsilons allows
  EXPECT_EQ(allowed(*own(limits), false), expected);
}

TEST_F(OwnLedgerTest, TheExportHasTheOwnersEntries) {
  own(kTwo).reset();
  ASSERT_TRUE(declare_account(file(), "clinic"));
  ASSERT_TRUE(own(kTwo, {"clinic", {}})->charge(named("x", "t", 1)));
  std::string text;
  ASSERT_TRUE(export_ledger(file(), text));
  std::istringstream lines(text);
  std::vector<json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["client"], "");
  EXPECT_EQ(all[0]["dataset"], "");
  EXPECT_EQ(all[1]["kind"], "account");
  EXPECT_EQ(all[1]["account"], "clinic");
  EXPECT_EQ(all[2]["dataset"], "clinic");
  EXPECT_EQ(all[3]["client"], "alice");
  EXPECT_EQ(all[3]["dataset"], "clinic");
}

TEST(Book, OwnersEntriesThatCannotBeAreRefused) {
  Book book;
  const auto apply = [&](const std::string& text) {
    const auto entry = decode(text);
    return entry && book.apply(*entry, text);
  };
  EXPECT_FALSE(apply("charge\ta\t\tt\t1\tm\t1\t0\t1\t1"));  // no limits of the whole file
  EXPECT_FALSE(apply("limits\t\tclinic\t1\t1\t0\t9"));      // not declared
  EXPECT_FALSE(apply("limits\ta\t\t1\t1\t0\t9"));           // of one client, but of no data
  EXPECT_FALSE(apply("account\t"));
  ASSERT_TRUE(apply("limits\t\t\t1\t1\t0\t9"));
  ASSERT_TRUE(apply("charge\ta\t\tt\t1\tm\t1\t0\t1\t1"));
  EXPECT_FALSE(apply("charge\t\t\tt\t1\tm\t1\t0\t1\t1"));  // of nobody
  ASSERT_TRUE(apply("account\tclinic"));
  EXPECT_FALSE(apply("account\tclinic"));
  EXPECT_FALSE(apply("charge\ta\tclinic\tt\t1\tm\t1\t0\t1\t1"));  // no limits yet
  EXPECT_FALSE(apply("limits\ta\tclinic\t1\t1\t0\t9"));
  ASSERT_TRUE(apply("limits\ta\tmnist\t1\t1\t0\t9"));
  EXPECT_FALSE(apply("account\tmnist"));
  EXPECT_EQ(book.head().entries, 4U);
}

TEST_F(OwnLedgerTest, AnIdentityRemembersItsLedger) {
  const fs::path witness = folder_ / "identity.head";
  const OwnLedgerOptions options{"", witness};
  own(kTwo, options).reset();
  EXPECT_FALSE(fs::exists(witness));  // nothing was spent, so any ledger will do
  {
    auto ledger = own(kTwo, options);
    ASSERT_TRUE(ledger->bind(*ledger->charge(request(1)), report_bytes("one")));
  }
  ASSERT_TRUE(fs::exists(witness));
  EXPECT_EQ(read_head(witness)->value().entries, 3U);
  expect_refused(open_own_ledger(folder_ / "other.db", options), ErrorKind::kRefused,
                 {"other.db", "not the ledger that this identity has spent from",
                  witness.string() + " remembers 3 entries", "has 0"});
  // The same steps with another report make another chain.
  {
    auto other = open_own_ledger(folder_ / "other.db").value();
    ASSERT_TRUE(other->set_limits("alice", "x", kTwo));
    ASSERT_TRUE(other->bind(*other->charge(request(1)), report_bytes("two")));
  }
  expect_refused(open_own_ledger(folder_ / "other.db", options), ErrorKind::kRefused,
                 {"has others"});
  EXPECT_TRUE(open_own_ledger(folder_ / "other.db"));

  // An older copy together with its own head file, which nothing else would show.
  const auto old = read_file(file()), old_head = read_file(file().string() + ".head");
  ASSERT_TRUE(own(kTwo, options)->charge(request(2)));
  ASSERT_TRUE(write_file_atomically(file(), *old));
  ASSERT_TRUE(write_file_atomically(file().string() + ".head", *old_head));
  EXPECT_TRUE(verify_ledger(file()));
  expect_refused(open_own_ledger(file(), options), ErrorKind::kRefused, {"an older copy"});
  fs::remove(witness);  // the owner's own hand
  EXPECT_TRUE(open_own_ledger(file(), options));
}

mode_t mode_of(const fs::path& file) {
  struct stat info {};
  EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
  return info.st_mode & 0777U;
}

TEST_F(OwnLedgerTest, OnlyItsOwnerReadsIt) {
  const mode_t before = ::umask(0);
  {
    auto ledger = own(kTwo, {"", folder_ / "identity.head"});
    ASSERT_TRUE(ledger->charge(request(1)));
    for (const char* part : {"", "-wal", "-shm", ".head"}) {
      EXPECT_EQ(mode_of(file().string() + part), 0600U) << part;
    }
    EXPECT_EQ(mode_of(folder_ / "identity.head"), 0600U);
  }
  ::chmod(file().c_str(), 0664);
  EXPECT_TRUE(verify_ledger(file()));
  EXPECT_EQ(mode_of(file()), 0664U);  // who only reads changes nothing
  open().reset();
  EXPECT_EQ(mode_of(file()), 0600U);
  ::umask(before);
}

}  // namespace
}  // namespace sotto
