// Calls a second: who keeps to them is let in for ever, who does not is turned away and cut off.
#include "transport/grpc/call_rate.h"

#include <gtest/gtest.h>

namespace sotto::rpc {
namespace {

using Verdict = CallRate::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;

CallRate::Limits small() {
  CallRate::Limits limits;
  limits.a_second = 10.0;
  limits.at_once = 20.0;
  limits.refusals = 3;
  limits.senders = 2;
  return limits;
}

const CallRate::Clock::time_point kBegin{std::chrono::hours(1)};

std::size_t let_in(CallRate& rate, const std::string& sender, CallRate::Clock::time_point now,
                   std::size_t calls) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < calls; ++i) {
    count += rate.call(sender, now) == Verdict::kLetIn ? 1 : 0;
  }
  return count;
}

TEST(CallRate, LetsSomeInAtOnceAndThenSoManyASecond) {
  CallRate rate(small());
  EXPECT_EQ(let_in(rate, "ada", kBegin, 100), 20);
  EXPECT_EQ(let_in(rate, "ada", kBegin + milliseconds(500), 100), 5);
  EXPECT_EQ(let_in(rate, "ada", kBegin + seconds(60), 100), 20);  // no more after a long pause
}

TEST(CallRate, WhoKeepsToItIsNeverTurnedAway) {
  CallRate rate(small());
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(rate.call("ada", kBegin + i * milliseconds(100)), Verdict::kLetIn) << i;
  }
}

TEST(CallRate, OneDoesNotUseUpWhatOthersHave) {
  CallRate rate(small());
  let_in(rate, "ada", kBegin, 100);
  EXPECT_EQ(let_in(rate, "bob", kBegin, 100), 20);
}

TEST(CallRate, ConnectionsAreEndedAfterSoManyRefusalsAndAgainAfterAsMany) {
  CallRate rate(small());
  ASSERT_EQ(let_in(rate, "ada", kBegin, 20), 20);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(rate.call("ada", kBegin), Verdict::kTurnAway);
    EXPECT_EQ(rate.call("ada", kBegin), Verdict::kTurnAway);
    EXPECT_EQ(rate.call("ada", kBegin), Verdict::kEndConnections);
  }
}

TEST(CallRate, RefusalsAreForgivenAfterAPause) {
  CallRate rate(small());
  let_in(rate, "ada", kBegin, 22);  // two are turned away
  EXPECT_EQ(let_in(rate, "ada", kBegin + seconds(2), 20), 20);
  EXPECT_EQ(rate.call("ada", kBegin + seconds(2)), Verdict::kTurnAway);
  EXPECT_EQ(rate.call("ada", kBegin + seconds(2)), Verdict::kTurnAway);
}

TEST(CallRate, SendersThatHavePausedAreForgotten) {
  CallRate rate(small());
  for (int i = 0; i < 100; ++i) {
    (void)rate.call(std::to_string(i), kBegin + i * seconds(3));
    EXPECT_LE(rate.senders(), 3);
  }
  // Who has not paused is remembered, also beyond the limit.
  const auto now = kBegin + seconds(300);
  for (const char* const sender : {"ada", "bob", "cyd"}) let_in(rate, sender, now, 20);
  EXPECT_EQ(rate.call("ada", now), Verdict::kTurnAway);
}

}  // namespace
}  // namespace sotto::rpc
