// How many may hand in a report at once, and that nobody keeps a place for ever.
#include "server/coordinator/turnstile.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace sotto::rpc {
namespace {

using Turn = Turnstile::Turn;

Turnstile::Limits small() {
  Turnstile::Limits limits;
  limits.calls = 3;
  limits.calls_of_one = 2;
  limits.reports = 2;
  limits.bytes = 100;
  return limits;
}

void nothing() {}

void expect_busy(const Result<void>& result, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kBusy) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(Turnstile, CallsAreBoundedForOneAndForAll) {
  Turnstile turnstile(small());
  const Turn one(turnstile, "ada", nothing);
  auto two = std::make_unique<Turn>(turnstile, "ada", nothing);
  EXPECT_TRUE(one.entered());
  EXPECT_TRUE(two->entered());
  expect_busy(Turn(turnstile, "ada", nothing).entered(), "this client has 2 calls");
  const Turn other(turnstile, "bob", nothing);
  EXPECT_TRUE(other.entered());
  expect_busy(Turn(turnstile, "cyd", nothing).entered(), "3 calls have yet to say");
  two.reset();
  EXPECT_TRUE(Turn(turnstile, "cyd", nothing).entered());
}

TEST(Turnstile, WithoutCertificatesOnlyTheSumIsBounded) {
  Turnstile turnstile(small());
  const Turn one(turnstile, "", nothing);
  const Turn two(turnstile, "", nothing);
  const Turn three(turnstile, "", nothing);
  EXPECT_TRUE(three.entered());
  EXPECT_FALSE(Turn(turnstile, "", nothing).entered());
}

TEST(Turnstile, ReportsAreBoundedByNameNumberAndBytes) {
  Turnstile turnstile(small());
  Turn ada(turnstile, "ada", nothing);
  ASSERT_TRUE(ada.admit("ada", {60}));
  Turn again(turnstile, "ada", nothing);
  expect_busy(again.admit("ada", {10}), "handing in a report already");
  {
    Turn bob(turnstile, "bob", nothing);
    expect_busy(bob.admit("bob", {41}), "1 reports are being handed in");  // bytes
    EXPECT_TRUE(bob.admit("bob", {40}));
    Turn cyd(turnstile, "cyd", nothing);
    expect_busy(cyd.admit("cyd", {0}), "2 reports are being handed in");  // number
  }
  Turn cyd(turnstile, "cyd", nothing);
  EXPECT_TRUE(cyd.admit("cyd", {40}));
}

TEST(Turnstile, AReportLargerThanAllRoomGoesAlone) {
  Turnstile turnstile(small());
  Turn ada(turnstile, "ada", nothing);
  EXPECT_TRUE(ada.admit("ada", {1000}));
  Turn bob(turnstile, "bob", nothing);
  expect_busy(bob.admit("bob", {1}), "1 reports");
}

Turnstile::Limits without_patience() {
  Turnstile::Limits limits = small();
  limits.report_time = limits.chunk_time = Turnstile::Clock::duration::zero();
  return limits;
}

TEST(Turnstile, AllWhoAreLateWithAReportArePutOutOnceWhenOthersAreTurnedAway) {
  Turnstile turnstile(without_patience());
  std::vector<std::string> out;
  Turn first(turnstile, "first", [&] { out.emplace_back("first"); });
  ASSERT_TRUE(first.admit("first", {1}));
  Turn second(turnstile, "second", [&] { out.emplace_back("second"); });
  ASSERT_TRUE(second.admit("second", {1}));
  EXPECT_TRUE(out.empty());
  Turn third(turnstile, "third", [&] { out.emplace_back("third"); });
  EXPECT_FALSE(third.admit("third", {1}));
  EXPECT_EQ(out, (std::vector<std::string>{"first", "second"}));
  EXPECT_FALSE(third.admit("third", {1}));
  EXPECT_EQ(out.size(), 2);
}

TEST(Turnstile, WhoWasPutOutComesAfterOthers) {
  Turnstile turnstile(without_patience());
  auto slow = std::make_unique<Turn>(turnstile, "slow", nothing);
  ASSERT_TRUE(slow->admit("slow", {100}));
  Turn other(turnstile, "other", nothing);
  EXPECT_FALSE(other.admit("other", {100}));
  slow.reset();
  // There is room, and the other one has not come back yet.
  Turn again(turnstile, "slow", nothing);
  expect_busy(again.admit("slow", {100}), "too slow; others come first");
  EXPECT_TRUE(other.admit("other", {10}));
  EXPECT_TRUE(again.admit("slow", {10}));  // nobody else waits
}

TEST(Turnstile, WhoDoesNotComeBackKeepsNobodyWaiting) {
  Turnstile::Limits limits = without_patience();
  limits.attempt_time = Turnstile::Clock::duration::zero();
  Turnstile turnstile(limits);
  auto slow = std::make_unique<Turn>(turnstile, "slow", nothing);
  ASSERT_TRUE(slow->admit("slow", {100}));
  Turn other(turnstile, "other", nothing);
  EXPECT_FALSE(other.admit("other", {100}));
  slow.reset();
  Turn again(turnstile, "slow", nothing);
  EXPECT_TRUE(again.admit("slow", {100}));
}

TEST(Turnstile, AChunkHasItsPartOfTheTimeForAReport) {
  Turnstile::Limits limits = small();
  limits.reports = 5;
  limits.calls = limits.calls_of_one = 10;
  limits.report_time = std::chrono::seconds(3);
  limits.chunk_time = std::chrono::milliseconds(30);
  Turnstile turnstile(limits);
  std::vector<std::string> out;
  const auto put_out = [&](const std::string& name) {
    return [&out, name] { out.push_back(name); };
  };
  Turn stalls(turnstile, "", put_out("stalls"));
  ASSERT_TRUE(stalls.admit("stalls", {20, 10, {}}));
  Turn dribbles(turnstile, "", put_out("dribbles"));
  ASSERT_TRUE(dribbles.admit("dribbles", {20, 10, {}}));
  Turn flows(turnstile, "", put_out("flows"));
  ASSERT_TRUE(flows.admit("flows", {20, 10, {}}));
  Turn one_chunk(turnstile, "", put_out("one chunk"));
  ASSERT_TRUE(one_chunk.admit("one chunk", {20, 1, {}}));
  Turn delayed(turnstile, "", put_out("delayed"));
  ASSERT_TRUE(delayed.admit("delayed", {20, 10, std::chrono::seconds(600)}));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  dribbles.progress(2);
  flows.progress(18);
  Turn other(turnstile, "", nothing);
  EXPECT_FALSE(other.admit("other", {1}));
  EXPECT_EQ(out, (std::vector<std::string>{"stalls", "dribbles"}));
}

TEST(Turnstile, AnswersAreBoundedForOneAndForAll) {
  Turnstile::Limits limits = small();
  limits.answers = 3;
  limits.answers_of_one = 2;
  Turnstile turnstile(limits);
  Turn one(turnstile, "ada", nothing);
  Turn two(turnstile, "ada", nothing);
  ASSERT_TRUE(one.answer("ada"));
  ASSERT_TRUE(two.answer("ada"));
  Turn three(turnstile, "ada", nothing);  // who reads an answer has left the place of a call
  ASSERT_TRUE(three.entered());
  expect_busy(three.answer("ada"), "this client is reading 2 answers already");
  Turn bob(turnstile, "bob", nothing);
  ASSERT_TRUE(bob.answer("bob"));
  Turn cyd(turnstile, "cyd", nothing);
  expect_busy(cyd.answer("cyd"), "3 answers are being read");
  EXPECT_TRUE(one.answer("ada"));  // the next piece
}

TEST(Turnstile, WhoSaysNothingOrReadsNothingIsPutOutByWhoeverComes) {
  Turnstile::Limits limits = small();
  limits.header_time = limits.answer_time = Turnstile::Clock::duration::zero();
  Turnstile turnstile(limits);
  std::vector<std::string> out;
  Turn reads_not(turnstile, "ada", [&] { out.emplace_back("reads not"); });
  ASSERT_TRUE(reads_not.answer("ada"));
  Turn silent(turnstile, "bob", [&] { out.emplace_back("silent"); });
  EXPECT_EQ(out, (std::vector<std::string>{"reads not"}));
  EXPECT_TRUE(Turn(turnstile, "cyd", nothing).entered());
  EXPECT_EQ(out, (std::vector<std::string>{"reads not", "silent"}));
  EXPECT_TRUE(Turn(turnstile, "cyd", nothing).entered());
  EXPECT_EQ(out.size(), 2);  // once is enough
}

TEST(Turnstile, WhoIsInTimeStays) {
  Turnstile turnstile(small());
  bool out = false;
  Turn first(turnstile, "first", [&] { out = true; });
  ASSERT_TRUE(first.admit("first", {100}));
  Turn second(turnstile, "second", nothing);
  EXPECT_FALSE(second.admit("second", {1}));
  EXPECT_FALSE(out);
}

}  // namespace
}  // namespace sotto::rpc
