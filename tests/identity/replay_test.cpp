// The memory of requests: each is taken once, whatever clocks do, also after a restart.
#include "account/ledger/ledger_database.h"
#include "federation_fixture.h"

namespace sotto::identity {
namespace {

constexpr std::uint64_t kDay = 86'400'000'000;  // microseconds
constexpr std::uint64_t kStart = 20'000 * kDay;

std::string answer(ReplayGuard& guard, std::string_view client, std::uint64_t number) {
  const auto admitted = guard.admit(client, number);
  return admitted ? "admitted" : std::string(name_of(admitted.error().fault));
}

/// Asks with the next number; told that it is behind, once more above. How often it had to ask.
int ask(ReplayGuard& guard, RequestNumbers& numbers) {
  for (int asked = 1; asked < 5; ++asked) {
    if (guard.admit("alice", numbers.next())) return asked;
    EXPECT_TRUE(numbers.jump_beyond(guard.largest("alice")));
  }
  return 5;
}

TEST(Replay, ANumberIsTakenOncePerClient) {
  ReplayGuard guard = ReplayGuard::in_memory();
  EXPECT_EQ(answer(guard, "alice", 7), "admitted");
  EXPECT_EQ(answer(guard, "alice", 7), "duplicate");
  EXPECT_EQ(answer(guard, "bob", 7), "admitted");
  EXPECT_EQ(answer(guard, "alice", 8), "admitted");
  EXPECT_EQ(answer(guard, "alice", 7), "duplicate");
  EXPECT_EQ(guard.largest("alice"), 8);
  EXPECT_EQ(guard.largest("nobody"), 0);
}

TEST(Replay, RequestsMayOvertakeOneAnother) {
  ReplayGuard guard = ReplayGuard::in_memory();
  for (std::uint64_t number : {5, 9, 3, 8, 4}) EXPECT_EQ(answer(guard, "a", number), "admitted");
  for (std::uint64_t number : {5, 9, 3, 8, 4}) EXPECT_EQ(answer(guard, "a", number), "duplicate");
  EXPECT_EQ(answer(guard, "a", 1), "admitted");
}

TEST(Replay, WhatIsForgottenIsBehind) {
  ReplayGuard guard = ReplayGuard::in_memory();
  for (std::uint64_t i = 1; i <= ReplayGuard::kWindow + 1; ++i) {
    EXPECT_EQ(answer(guard, "a", 10 * i), "admitted");
  }
  EXPECT_EQ(answer(guard, "a", 10), "behind");  // it is the one that was forgotten
  EXPECT_EQ(answer(guard, "a", 9), "behind");   // never seen, and nobody can know
  EXPECT_EQ(answer(guard, "a", 20), "duplicate");
  EXPECT_EQ(answer(guard, "a", 11), "admitted");
  EXPECT_EQ(answer(guard, "a", 11), "behind");  // taken, and forgotten at once
}

TEST(Replay, NumbersHaveAnEnd) {
  ReplayGuard guard = ReplayGuard::in_memory();
  EXPECT_EQ(answer(guard, "a", 0), "behind");
  EXPECT_EQ(answer(guard, "a", ~std::uint64_t{0}), "malformed");
  EXPECT_EQ(answer(guard, "a", kMostNumber + 1), "malformed");
  EXPECT_EQ(answer(guard, "a", kMostNumber), "admitted");
  // A hostile recipient cannot lead a client to the end of its numbers.
  RequestNumbers numbers([] { return kStart; });
  EXPECT_FALSE(numbers.jump_beyond(kMostNumber));
  EXPECT_FALSE(numbers.jump_beyond(~std::uint64_t{0}));
  EXPECT_EQ(numbers.next(), kStart);
}

TEST(Replay, NumbersRiseWhateverTheClockDoes) {
  std::uint64_t clock = kStart;
  RequestNumbers numbers([&] { return clock; });
  std::uint64_t last = 0;
  for (const std::uint64_t now : {kStart, kStart, kStart - kDay, kStart + 30 * kDay, kStart,
                                  std::uint64_t{0}, ~std::uint64_t{0}, kStart}) {
    clock = now;
    const std::uint64_t number = numbers.next();
    EXPECT_GT(number, last);
    EXPECT_LT(number, kMostNumber);
    last = number;
  }
}

TEST(Replay, AClockThatWasThirtyDaysAheadCostsOneMoreRequest) {
  const TemporaryFolder home;
  ReplayGuard guard = ReplayGuard::open(home / "requests.db").value();
  std::uint64_t clock = kStart + 30 * kDay;
  {
    RequestNumbers numbers([&] { return clock; });
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(guard, numbers), 1);
    clock = kStart;  // set right while the process runs
    EXPECT_EQ(ask(guard, numbers), 1);
  }
  // The process starts again, and so does the recipient.
  RequestNumbers numbers([&] { return clock; });
  guard = ReplayGuard::open(home / "requests.db").value();
  EXPECT_EQ(ask(guard, numbers), 2);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(guard, numbers), 1);
}

TEST(Replay, AStepBackCostsARunningProcessNothing) {
  ReplayGuard guard = ReplayGuard::in_memory();
  std::uint64_t clock = kStart;
  RequestNumbers numbers([&] { return clock; });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ask(guard, numbers), 1);
    clock -= 100'000'000;
  }
}

TEST(Replay, TwoProcessesOfOneIdentityBothGetIn) {
  ReplayGuard guard = ReplayGuard::in_memory();
  std::uint64_t clock = kStart;
  RequestNumbers one([&] { return clock; });
  RequestNumbers late([&] { return clock - 1'000'000; });  // its clock is a second behind
  for (int i = 0; i < 200; ++i) {
    clock += 10'000;
    EXPECT_EQ(ask(guard, one), 1);
    EXPECT_LE(ask(guard, late), 2);
  }
}

TEST(Replay, AProcessThatStartsAgainStillKnows) {
  const TemporaryFolder home;
  {
    ReplayGuard guard = ReplayGuard::open(home / "requests.db").value();
    for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(answer(guard, "alice", i), "admitted");
  }
  ReplayGuard guard = ReplayGuard::open(home / "requests.db").value();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(answer(guard, "alice", i), i > 100 - ReplayGuard::kWindow ? "duplicate" : "behind");
  }
  EXPECT_EQ(answer(guard, "alice", 101), "admitted");
  EXPECT_EQ(guard.largest("alice"), 101);
}

TEST(Replay, AFileOfVersionOneIsTakenOver) {
  const TemporaryFolder home;
  {
    auto old = Database::open(home / "requests.db", Database::Mode::kWrite).value();
    ASSERT_TRUE(
        old->run("PRAGMA application_id = 1399812690;"
                 "CREATE TABLE seen (key BLOB PRIMARY KEY, client TEXT, time INTEGER);"
                 "INSERT INTO seen VALUES (x'00', 'alice', 9000000000000000000);"
                 "CREATE TABLE horizon (one INTEGER PRIMARY KEY, time INTEGER);"
                 "INSERT INTO horizon VALUES (1, 9000000000000000000)"));
  }
  ReplayGuard guard = ReplayGuard::open(home / "requests.db").value();
  EXPECT_EQ(answer(guard, "alice", kStart), "admitted");
}

TEST(Replay, DamageIsNoticed) {
  const TemporaryFolder home;
  { EXPECT_EQ(ReplayGuard::open(home / "requests.db").value().largest("a"), 0); }
  for (const char* row : {"('a', 0, x'0102')", "('a', 9, x'0500000000000000')",
                          "('a', 0, x'05000000000000000500000000000000')",
                          "('a', 0, x'05000000000000000400000000000000')"}) {
    {
      auto database = Database::open(home / "requests.db", Database::Mode::kWrite).value();
      ASSERT_TRUE(
          database->run(("INSERT OR REPLACE INTO senders VALUES " + std::string(row)).c_str()));
    }
    EXPECT_FALSE(ReplayGuard::open(home / "requests.db").has_value()) << row;
  }
}

TEST(Replay, AnotherFileIsRefused) {
  const TemporaryFolder home;
  home.write("text", "this is not a database, but it is long enough to look at");
  EXPECT_FALSE(ReplayGuard::open(home / "text").has_value());
  EXPECT_FALSE(ReplayGuard::open(home.path()).has_value());
}

}  // namespace
}  // namespace sotto::identity
