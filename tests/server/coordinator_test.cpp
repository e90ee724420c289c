// The server's rounds without a network: what is counted, once, and what is not.
#include "server/coordinator/coordinator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "exchange_parts.h"
#include "server/round.h"
#include "sotto/aggregate.h"
#include "temporary_folder.h"

namespace sotto::rpc {
namespace {

/// A coordinator whose round is collected by a thread, as a run does it.
class Round {
 public:
  explicit Round(bool shuffled, double round_seconds = 30.0, double wait_seconds = 30.0,
                 double place_seconds = 0.0, std::uint64_t min_batch = 1)
      : key_(identity::SealKey::generate()), plan_(small_plan()) {
    Coordinator::Settings settings;
    settings.invitation.recipe_hash = kTestRecipe;
    settings.invitation.shuffled = shuffled;
    settings.round_seconds = round_seconds;
    settings.wait_seconds = wait_seconds;
    settings.place_seconds = place_seconds;
    server_ = std::make_unique<Coordinator>(settings, key_, Roster::open({}, 3).value());
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(server_->join(name(i), i));
    thread_ = std::thread([this, min_batch] {
      const std::vector<float> model(13, 0.0F);
      collected_ = collect_round(*server_, plan_, model, min_batch);
    });
    while (server_->open().round == 0) std::this_thread::yield();
  }
  ~Round() {
    if (thread_.joinable()) {
      server_->interrupt();
      thread_.join();
    }
  }
  static std::string name(std::uint32_t i) { return "c" + std::to_string(i); }
  Coordinator& server() { return *server_; }
  std::vector<std::vector<std::byte>> report(std::uint64_t seed) const {
    return sealed_report(plan_, seed, key_.public_key);
  }
  /// As the server's desk does it with a report that streams in.
  Result<bool> submit(const std::string& name, RoundId round,
                      const std::vector<std::vector<std::byte>>& sealed) {
    SOTTO_TRY(const auto awaited, server_->awaited(name, round));
    if (!awaited) return false;
    std::vector<std::optional<Envelope>> opened(sealed.size());
    for (std::size_t i = 0; i < std::min(sealed.size(), awaited->form->chunks()); ++i) {
      SOTTO_TRY(opened[i], server_->open_report(*awaited, i, sealed[i]));
    }
    return server_->submit(name, *awaited, opened);
  }
  Coordinator::Pulled::Task pull(std::uint32_t i) {
    return server_->pull(name(i), 0, {}).value().task.value();
  }
  Result<CollectedRound> outcome() {
    thread_.join();
    return collected_;
  }
  CollectedRound end() { return outcome().value(); }
  const RoundPlan& plan() const { return plan_; }

 private:
  identity::SealKey key_;
  RoundPlan plan_;
  std::unique_ptr<Coordinator> server_;
  Result<CollectedRound> collected_ = fail(ErrorKind::kInternal, "not collected");
  std::thread thread_;
};

/// The sums that the same reports have in one process.
std::vector<double> expected_mean(const RoundPlan& plan, std::span<const std::uint64_t> seeds) {
  Aggregator sums(plan.groups[0].parts[0].mechanism, plan.round);
  for (const std::uint64_t seed : seeds) {
    for (const Envelope& envelope : envelopes_of(plan, seed)) {
      if (envelope.mechanism_id() == plan.groups[0].parts[0].mechanism->id()) {
        EXPECT_TRUE(sums.accept(envelope));
      }
    }
  }
  const Released released = sums.release().value();
  return {released.values().begin(), released.values().end()};
}

std::vector<double> mean_of(const CollectedRound& round) {
  const auto values = round.groups[0].released[0].values();
  return {values.begin(), values.end()};
}

TEST(Coordinator, CountsEachClientsReportOnce) {
  Round round(false);
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (i == 2) {
      EXPECT_EQ(round.submit(Round::name(0), 1, round.report(0)), false);
    }
    EXPECT_EQ(round.submit(Round::name(i), 1, round.report(i)), true);
  }
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.reports(), 3U);
  const std::uint64_t seeds[] = {0, 1, 2};
  EXPECT_EQ(mean_of(collected), expected_mean(round.plan(), seeds));
}

TEST(Coordinator, AReportIsCountedWholeOrNotAtAll) {
  Round round(false, 0.3);
  ASSERT_TRUE(round.submit(Round::name(0), 1, round.report(0)));
  auto damaged = round.report(1);
  damaged.back().back() ^= std::byte{1};
  EXPECT_FALSE(round.submit(Round::name(1), 1, damaged));
  auto fewer = round.report(1);
  fewer.pop_back();
  EXPECT_FALSE(round.submit(Round::name(1), 1, fewer));
  auto exchanged = round.report(1);
  std::swap(exchanged[0], exchanged[1]);
  EXPECT_FALSE(round.submit(Round::name(1), 1, exchanged));
  EXPECT_FALSE(round.submit(Round::name(1), 2, round.report(1)));
  EXPECT_FALSE(round.submit("stranger", 1, round.report(1)));
  round.pull(1);  // the clock runs, and nobody else comes
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.reports(), 1U);
  const std::uint64_t seeds[] = {0};
  EXPECT_EQ(mean_of(collected), expected_mean(round.plan(), seeds));
  EXPECT_FALSE(round.submit(Round::name(1), 1, round.report(1)));  // over
}

TEST(Coordinator, ARoundDoesNotWaitForWhoDeclines) {
  Round round(false);
  const Attempt attempt = round.pull(1).attempt;
  ASSERT_TRUE(round.submit(Round::name(0), 1, round.report(0)));
  ASSERT_TRUE(round.server().decline(Round::name(1), 1, attempt));
  EXPECT_FALSE(round.submit(Round::name(1), 1, round.report(1)));
  ASSERT_TRUE(round.submit(Round::name(2), 1, round.report(2)));
  EXPECT_EQ(round.end().reports(), 2U);
}

TEST(Coordinator, WhoWasAskedGetsATicketThatTheShufflerKnows) {
  Round round(true);
  const auto open = [&] { return round.server().open(); };
  const auto ticket = [&](std::uint32_t i) {
    return make_ticket(open().ticket_key, {}, 1, 0, sender_of(Round::name(i)));
  };
  const auto task = round.pull(0);
  ASSERT_TRUE(task.ticket);
  EXPECT_EQ(*task.ticket, ticket(0));
  EXPECT_NE(*round.pull(1).ticket, ticket(0));
  // Who declines is shown by the ticket and not by name.
  EXPECT_TRUE(open().groups[0].declined.empty());
  ASSERT_TRUE(round.server().decline(Round::name(1), 1, task.attempt));
  ASSERT_TRUE(round.server().decline(Round::name(1), 1, task.attempt));
  EXPECT_EQ(open().groups[0].declined, std::vector<Ticket>{ticket(1)});
  EXPECT_EQ(open().groups[0].expected, 2U);
  EXPECT_FALSE(round.server().pull(Round::name(1), 0, {}).value().task);
}

TEST(Coordinator, CollectsTheContractThatAClientMakesByItself) {
  Round round(true);
  const Invitation& invitation = round.server().settings().invitation;
  const RoundPlan& plan = round.plan();
  const ReportForm form = ReportForm::make(plan.groups[0].parts, plan.split).value();
  const Contract own = make_contract(invitation.terms(), 1, 0, plan.groups[0].parts, form,
                                     model_digest(*round.pull(0).model));
  EXPECT_EQ(round.server().open().groups[0].contract, own.digest());
  EXPECT_TRUE(own.shuffled);
}

TEST(Coordinator, ATaskIsGivenUntilItIsDone) {
  Round round(false);
  const auto task = round.pull(0);
  EXPECT_EQ(task.model->size(), 13U);
  EXPECT_TRUE(round.server().pull(Round::name(0), 0, {}).value().task);
  EXPECT_FALSE(round.server().pull(Round::name(0), 1, task.attempt).value().task);
  EXPECT_TRUE(round.server().pull(Round::name(0), 1, fresh_tag()).value().task);  // begun anew
  EXPECT_FALSE(round.server().pull("stranger", 0, {}));
}

TEST(Coordinator, TakesABatchInOneSequenceHoweverOftenItIsCutOff) {
  Round round(true);
  EXPECT_FALSE(round.submit(Round::name(0), 1, round.report(0)));  // past the shuffler
  const std::vector<std::vector<std::vector<std::byte>>> reports = {round.report(5),
                                                                    round.report(6)};
  const Attempt attempt = round.server().open().attempt;
  const std::size_t positions = reports[0].size();
  EXPECT_FALSE(round.server().begin_batch(1, attempt, 0, 4, 0));  // more than were asked
  EXPECT_FALSE(round.server().begin_batch(1, fresh_tag(), 0, 2, 0));
  EXPECT_FALSE(round.server().begin_batch(2, attempt, 0, 2, 0));
  EXPECT_FALSE(round.server().begin_batch(1, attempt, 1, 2, 0));
  std::uint64_t next = 0;
  while (next < 2 * positions) {
    EXPECT_FALSE(round.server().begin_batch(1, attempt, 0, 2, next + 1));
    const auto stream = round.server().begin_batch(1, attempt, 0, 2, next);
    ASSERT_TRUE(stream);
    EXPECT_FALSE(round.server().begin_batch(1, attempt, 0, 3, next));  // not another size
    for (int i = 0; i < 3 && next < 2 * positions; ++i, ++next) {
      ASSERT_TRUE(round.server().deliver(attempt, 0, *stream, reports[next % 2][next / 2]));
    }
    if (next < 2 * positions) {
      EXPECT_EQ(round.server().open().groups[0].skip, next);
    }
  }
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.reports(), 2U);
  const std::uint64_t seeds[] = {5, 6};
  EXPECT_EQ(mean_of(collected), expected_mean(round.plan(), seeds));
  EXPECT_FALSE(round.server().deliver(attempt, 0, 1, reports[0][0]));
}

TEST(Coordinator, AForgedChunkIsLeftOutAndTheRestCounts) {
  Round round(true);
  std::vector<std::vector<std::vector<std::byte>>> reports = {round.report(5), round.report(6),
                                                              round.report(7)};
  const std::vector<std::byte> forged(reports[0][0].size(), std::byte{7});
  reports[1][1] = forged;                   // does not open
  reports[2][2] = reports[0][2];            // was here before
  std::swap(reports[0][0], reports[0][1]);  // opens, at another place
  const Attempt attempt = round.server().open().attempt;
  ASSERT_TRUE(round.server().begin_batch(1, attempt, 0, 3, 0));
  for (std::size_t position = 0; position < reports[0].size(); ++position) {
    for (const auto& report : reports) {
      ASSERT_TRUE(round.server().deliver(attempt, 0, 1, report[position]));
    }
  }
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.groups[0].dropped, 4U);
  EXPECT_EQ(collected.released(), 1U);  // what the poorest position has
  EXPECT_EQ(collected.groups[0].opened, 1U);
  // First four weights: reports 6 and 7; next four: report 7 alone; last two: reports 5 and 6.
  const auto mean = mean_of(collected);
  const std::uint64_t first[] = {6, 7};
  const std::uint64_t second[] = {7};
  const std::uint64_t third[] = {5, 6};
  for (std::size_t i = 0; i < 10; ++i) {
    const auto seeds = i < 4   ? std::span<const std::uint64_t>(first)
                       : i < 8 ? std::span<const std::uint64_t>(second)
                               : std::span<const std::uint64_t>(third);
    EXPECT_EQ(mean[i], expected_mean(round.plan(), seeds)[i]) << i;
  }
}

TEST(Coordinator, ABatchOfForgedChunksReleasesNothing) {
  Round round(true);
  const std::vector<std::byte> forged(round.report(1)[0].size(), std::byte{7});
  const Attempt attempt = round.server().open().attempt;
  ASSERT_TRUE(round.server().begin_batch(1, attempt, 0, 1, 0));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(round.server().deliver(attempt, 0, 1, forged));
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.released(), 0U);
  EXPECT_EQ(collected.groups[0].dropped, 4U);
  EXPECT_EQ(collected.groups[0].opened, 1U);  // whose they were is not known: they count as one
}

TEST(Coordinator, WhatAGarbageMemberKeepsFromReleaseIsSeenAllTheSame) {
  // Three are needed; one of three sends garbage, and the server has opened the other two.
  Round round(true, 30.0, 30.0, 0.0, 3);
  const std::vector<std::vector<std::vector<std::byte>>> reports = {round.report(5),
                                                                    round.report(6)};
  const std::vector<std::byte> garbage(reports[0][0].size(), std::byte{7});
  const Attempt attempt = round.server().open().attempt;
  ASSERT_TRUE(round.server().begin_batch(1, attempt, 0, 3, 0));
  for (std::size_t position = 0; position < reports[0].size(); ++position) {
    ASSERT_TRUE(round.server().deliver(attempt, 0, 1, reports[0][position]));
    ASSERT_TRUE(round.server().deliver(attempt, 0, 1, garbage));
    ASSERT_TRUE(round.server().deliver(attempt, 0, 1, reports[1][position]));
  }
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.released(), 0U);
  EXPECT_EQ(collected.groups[0].opened, 2U);
  EXPECT_NE(collected.groups[0].withheld.find("counts as seen"), std::string::npos);
}

/// A batch of three whole reports of which so many chunks come before the round is over.
std::uint64_t opened_of(std::uint64_t chunks) {
  Round round(true, 0.1);
  const std::vector<std::vector<std::vector<std::byte>>> reports = {
      round.report(5), round.report(6), round.report(7)};
  const Attempt attempt = round.server().open().attempt;
  EXPECT_TRUE(round.server().begin_batch(1, attempt, 0, 3, 0));
  for (std::uint64_t i = 0; i < chunks; ++i) {
    EXPECT_TRUE(round.server().deliver(attempt, 0, 1, reports[i % 3][i / 3]));
  }
  if (chunks < 12) round.pull(1);  // the clock runs
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.released(), chunks == 12 ? 3U : 0U);
  return collected.groups[0].opened;
}

TEST(Coordinator, ABatchThatArrivesInPartIsSeenInPart) {
  EXPECT_EQ(opened_of(0), 1U);  // it was on its way: nobody knows what came
  EXPECT_EQ(opened_of(1), 1U);
  EXPECT_EQ(opened_of(2), 2U);
  EXPECT_EQ(opened_of(3), 3U);
  EXPECT_EQ(opened_of(4), 1U);  // of the second position only one came
  EXPECT_EQ(opened_of(6), 3U);
  EXPECT_EQ(opened_of(11), 2U);
  EXPECT_EQ(opened_of(12), 3U);
}

/// A server that is killed forgets its round; what it has opened of it stays seen.
TEST(Coordinator, WhatWasOpenedBeforeAKillIsSeen) {
  const TemporaryFolder folder;
  const auto remembered = [&] { return OpenedRounds::open(folder / "opened.txt").value(); };
  {
    Round killed(true);
    killed.server().opened_rounds = remembered();
    ASSERT_TRUE(killed.server().begin_batch(1, killed.server().open().attempt, 0, 2, 0));
  }
  Round round(true);
  round.server().opened_rounds = remembered();
  ASSERT_TRUE(round.server().begin_batch(1, round.server().open().attempt, 0, 0, 0));
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.released(), 0U);
  EXPECT_EQ(collected.groups[0].opened, 1U) << "with nobody to hide among";
}

TEST(OpenedRounds, LastOverRestartsAndRefuseWhatIsNone) {
  const TemporaryFolder folder;
  {
    OpenedRounds opened = OpenedRounds::open(folder / "opened.txt").value();
    ASSERT_TRUE(opened.add(3, 1));
    ASSERT_TRUE(opened.add(3, 1));
    EXPECT_FALSE(opened.has(3, 0));
  }
  EXPECT_EQ(read_text(folder / "opened.txt").value(), "3 1\n");
  EXPECT_TRUE(OpenedRounds::open(folder / "opened.txt").value().has(3, 1));
  // A line that was cut short was never acted on.
  folder.write("opened.txt", "3 1\n4");
  EXPECT_FALSE(OpenedRounds::open(folder / "opened.txt").value().has(4, 0));
  for (const char* bad : {"3\n", "x 1\n", "3 1 2\n", "-1 0\n", "\n"}) {
    EXPECT_FALSE(OpenedRounds::open(folder.write("opened.txt", bad))) << bad;
  }
}

TEST(Coordinator, TellsWhatTheShufflerHoldsAndWhenTheClockStarts) {
  Round round(true);
  std::vector<monitor::Event> told;
  round.server().on_event = [&](const monitor::Event& event) { told.push_back(event); };
  round.server().held(2, 1);  // of another round
  round.server().held(1, 2);
  round.server().held(1, 2);
  round.server().held(1, 1000);
  round.pull(0);
  round.pull(1);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].what, monitor::What::kReportsHeld);
  EXPECT_EQ(told[0].reports, 2U);
  EXPECT_EQ(told[1].reports, 3U) << "never more than were asked";
  EXPECT_EQ(told[2].what, monitor::What::kClockStarted);
  EXPECT_EQ(told[2].seconds, 30.0);
}

TEST(Coordinator, GivesUpWhereNobodyComes) {
  Round round(false, 30.0, 0.2);
  const auto outcome = round.outcome();
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("no client came within 0.2 s"), std::string::npos);
}

/// A connection is cut, and what it still held arrives after the shuffler has begun anew.
TEST(Coordinator, ALateChunkOfAnOlderStreamCostsNothing) {
  Round round(true, 30.0, 30.0, 0.0, 3);
  const std::vector<std::vector<std::vector<std::byte>>> reports = {
      round.report(5), round.report(6), round.report(7)};
  const Attempt attempt = round.server().open().attempt;
  const auto chunk = [&](std::size_t i) {
    return std::span<const std::byte>(reports[i % 3][i / 3]);
  };
  const auto older = round.server().begin_batch(1, attempt, 0, 3, 0);
  ASSERT_TRUE(older);
  ASSERT_TRUE(round.server().deliver(attempt, 0, *older, chunk(0)));
  ASSERT_EQ(round.server().open().groups[0].skip, 1U);
  const auto newer = round.server().begin_batch(1, attempt, 0, 3, 1);
  ASSERT_TRUE(newer);
  EXPECT_FALSE(round.server().deliver(attempt, 0, *older, chunk(1)));
  for (std::size_t i = 1; i < 3 * reports[0].size(); ++i) {
    ASSERT_TRUE(round.server().deliver(attempt, 0, *newer, chunk(i))) << i;
  }
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.groups[0].dropped, 0U);
  EXPECT_EQ(collected.released(), 3U) << collected.groups[0].withheld;
}

TEST(Coordinator, ABatchThatStaysTooSmallEndsTheRound) {
  Round round(true);
  ASSERT_TRUE(round.server().begin_batch(1, round.server().open().attempt, 0, 0, 0));
  const CollectedRound collected = round.end();
  EXPECT_EQ(collected.reports(), 0U);
  EXPECT_EQ(collected.groups[0].opened, 0U);  // the shuffler kept it
}

/// A client that does not take part gives its place free, and the round goes on without it.
TEST(Places, WhoLeavesFreesItsPlaceForTheNextRound) {
  Round round(false);
  round.pull(0);
  ASSERT_TRUE(round.submit("c0", 1, round.report(0)));
  round.pull(1);
  ASSERT_TRUE(round.server().leave("c1"));
  EXPECT_FALSE(round.server().pull("c1", 0, {}));
  // The next holder of the place is not asked in this round.
  EXPECT_EQ(round.server().join("new", 1U).value().index, 1U);
  EXPECT_FALSE(round.server().pull("new", 0, {}).value().task);
  EXPECT_FALSE(round.submit("new", 1, round.report(7)));
  round.pull(2);
  ASSERT_TRUE(round.submit("c2", 1, round.report(2)));
  EXPECT_EQ(round.end().reports(), 2U);
}

/// Nobody reports twice in a round by giving its place back and taking another.
TEST(Places, OneClientHasOneVoteInARound) {
  Round round(false);
  round.pull(0);
  ASSERT_TRUE(round.submit("c0", 1, round.report(0)));
  ASSERT_TRUE(round.server().leave("c2"));
  ASSERT_TRUE(round.server().leave("c0"));
  EXPECT_EQ(round.server().join("c0", 2U).value().index, 2U);
  EXPECT_FALSE(round.server().pull("c0", 0, {}).value().task);
  EXPECT_FALSE(round.submit("c0", 1, round.report(1)));
  // Nor does another one in the place of a report that is counted.
  EXPECT_EQ(round.server().join("new", 0U).value().index, 0U);
  EXPECT_FALSE(round.server().pull("new", 0, {}).value().task);
  EXPECT_FALSE(round.submit("new", 1, round.report(3)).value_or(false));
  round.pull(1);
  ASSERT_TRUE(round.submit("c1", 1, round.report(1)));
  EXPECT_EQ(round.end().reports(), 2U);
}

/// A place whose holder is not heard of goes to the next who wants it; one whose holder is, does
/// not.
TEST(Places, WhoIsSilentLosesItsPlaceToWhoWantsIt) {
  Round round(false, 30.0, 30.0, 0.3);
  EXPECT_FALSE(round.server().join("new", std::nullopt));
  EXPECT_FALSE(round.server().join("new", 1U));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  round.pull(0);
  round.pull(2);
  EXPECT_FALSE(round.server().join("new", 0U));
  EXPECT_EQ(round.server().join("new", std::nullopt).value().index, 1U);
  // Nobody was asked in that place yet.
  EXPECT_TRUE(round.server().pull("new", 0, {}).value().task);
  EXPECT_FALSE(round.server().pull("c1", 0, {}));
  EXPECT_FALSE(round.server().join("c1", std::nullopt));
}

/// Who declines what it is asked for does not keep others out.
TEST(Places, WhoDeclinesMayBeReplaced) {
  Round round(false);
  const auto task = round.pull(1);
  EXPECT_FALSE(round.server().join("new", 1U));
  ASSERT_TRUE(round.server().decline("c1", 1, task.attempt));
  EXPECT_EQ(round.server().join("new", 1U).value().index, 1U);
  EXPECT_FALSE(round.server().pull("new", 0, {}).value().task);
}

/// Said again and again it is one refusal, and one event.
TEST(Places, WhoDeclinesTwiceIsHeardOnce) {
  Round round(false);
  std::uint64_t told = 0;
  round.server().on_event = [&](const monitor::Event& event) {
    told += event.what == monitor::What::kRoundDeclined ? 1 : 0;
  };
  const auto task = round.pull(1);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(round.server().decline("c1", 1, task.attempt));
  EXPECT_EQ(told, 1U);
}

/// Taking every task and handing in nothing does not keep others out.
TEST(Places, WhoTakesTasksAndReportsNothingLosesItsPlace) {
  Coordinator::Settings settings;
  settings.invitation.recipe_hash = kTestRecipe;
  settings.round_seconds = 0.2;
  settings.wait_seconds = 5.0;
  Coordinator server(settings, identity::SealKey::generate(), Roster::open({}, 3).value());
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(server.join(Round::name(i), i));
  const std::vector<float> model(13, 0.0F);
  for (RoundId number = 1; number <= 2; ++number) {
    EXPECT_FALSE(server.join("new", std::nullopt));
    std::thread run([&] { static_cast<void>(collect_round(server, small_plan(number), model)); });
    while (server.open().round != number) std::this_thread::yield();
    EXPECT_TRUE(server.pull("c0", 0, {}).value().task);
    run.join();
  }
  // The others were never given a task.
  EXPECT_EQ(server.join("new", std::nullopt).value().index, 0U);
}

/// A claim counts rounds by place: who had two places is more than either.
TEST(Places, TheRunKnowsThatSomebodyHadTwo) {
  Round round(false);
  ASSERT_TRUE(round.server().leave("c1"));
  EXPECT_EQ(round.server().join("new", std::nullopt).value().index, 1U);
  EXPECT_FALSE(round.server().clients_moved());
  ASSERT_TRUE(round.server().leave("c2"));
  EXPECT_EQ(round.server().join("c1", std::nullopt).value().index, 2U);
  EXPECT_TRUE(round.server().clients_moved());
}

}  // namespace
}  // namespace sotto::rpc
