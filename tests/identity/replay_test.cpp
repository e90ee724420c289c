// The memory of requests: bounded, durable, and not fooled by clocks.
#include "federation_fixture.h"

namespace sotto::identity {
namespace {

using std::chrono::seconds;

const Time kStart = Time(std::chrono::hours(24 * 365 * 50));

ReplayGuard::Nonce nonce(unsigned number) {
  ReplayGuard::Nonce value{};
  for (std::size_t i = 0; i < 4; ++i) value[i] = static_cast<unsigned char>(number >> (8 * i));
  return value;
}

std::string answer(ReplayGuard& guard, std::string_view client, unsigned number, Time signed_at,
                   Time at) {
  const auto admitted = guard.admit(client, nonce(number), signed_at, at);
  return admitted ? "admitted" : std::string(name_of(admitted.error().fault));
}

TEST(Replay, ANonceIsTakenOncePerClient) {
  ReplayGuard guard = ReplayGuard::in_memory();
  EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart), "admitted");
  EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart), "duplicate");
  EXPECT_EQ(answer(guard, "bob", 1, kStart, kStart), "admitted");
  EXPECT_EQ(answer(guard, "alice", 2, kStart, kStart), "admitted");
}

TEST(Replay, WhatIsForgottenIsStale) {
  ReplayGuard guard = ReplayGuard::in_memory();
  EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart), "admitted");
  EXPECT_EQ(answer(guard, "alice", 2, kStart + seconds(121), kStart + seconds(121)), "admitted");
  EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart + seconds(121)), "stale");
  // The clock goes back: the first nonce is forgotten, its time is not.
  EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart), "stale");
  EXPECT_EQ(answer(guard, "alice", 3, kStart + seconds(1), kStart + seconds(1)), "admitted");
}

TEST(Replay, OneClientCannotFillTheMemoryOfOthers) {
  ReplayGuard::Options options;
  options.per_client = 3;
  options.capacity = 5;
  ReplayGuard guard = ReplayGuard::in_memory(options);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(answer(guard, "a", i, kStart, kStart), "admitted");
  EXPECT_EQ(answer(guard, "a", 3, kStart, kStart), "too-many");
  for (unsigned i = 0; i < 2; ++i) EXPECT_EQ(answer(guard, "b", i, kStart, kStart), "admitted");
  EXPECT_EQ(answer(guard, "c", 0, kStart, kStart), "too-many");
  const Time later = kStart + seconds(121);
  EXPECT_EQ(answer(guard, "a", 4, later, later), "admitted");
}

TEST(Replay, AProcessThatStartsAgainStillKnows) {
  const TemporaryFolder home;
  {
    ReplayGuard guard = ReplayGuard::open(home / "requests.db").value();
    EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart), "admitted");
  }
  ReplayGuard guard = ReplayGuard::open(home / "requests.db").value();
  EXPECT_EQ(answer(guard, "alice", 1, kStart, kStart + seconds(1)), "duplicate");
  EXPECT_EQ(answer(guard, "alice", 2, kStart, kStart + seconds(1)), "admitted");
}

TEST(Replay, TheFileIsTrimmedAndRemembersTheHorizon) {
  const TemporaryFolder home;
  ReplayGuard::Options options;
  options.per_client = 100'000;
  {
    ReplayGuard guard = ReplayGuard::open(home / "requests.db", options).value();
    for (unsigned i = 0; i < 1500; ++i) {
      ASSERT_EQ(answer(guard, "alice", i, kStart, kStart), "admitted");
    }
    const Time later = kStart + seconds(121);
    ASSERT_EQ(answer(guard, "alice", 5000, later, later), "admitted");
  }
  options.per_client = 2;  // what was loaded again is one entry, or the next were too many
  ReplayGuard guard = ReplayGuard::open(home / "requests.db", options).value();
  EXPECT_EQ(answer(guard, "alice", 7, kStart, kStart), "stale");  // the clock went back meanwhile
  EXPECT_EQ(answer(guard, "alice", 6000, kStart + seconds(60), kStart + seconds(60)), "admitted");
}

TEST(Replay, AnotherFileIsRefused) {
  const TemporaryFolder home;
  home.write("text", "this is not a database, but it is long enough to look at");
  EXPECT_FALSE(ReplayGuard::open(home / "text").has_value());
  EXPECT_FALSE(ReplayGuard::open(home.path()).has_value());
}

}  // namespace
}  // namespace sotto::identity
