// A client's round as a state machine, on a real ledger: every event in every state, and each again
// after the client was killed. And what becomes of a report on its way, with other roles that are
// made up.
#include <algorithm>
#include <functional>

#include "client/client_round.h"
#include "participant_parts.h"
#include "plan/budget.h"

namespace sotto::rpc {
namespace {

// ---- the ledger's states ------------------------------------------------------------------------

enum class Kept { kNew, kPaid, kMade, kTaken, kGone };

struct Row {
  Kept state;
  const char* label;
  bool makes;      // a report that was not there before
  bool sends;      // a report at all
  bool for_other;  // model
  Kept after_task;
  Kept after_taken;
  Kept after_later;  // a later round's report is made
};

class RoundEvents : public ParticipantTest, public testing::WithParamInterface<Row> {
 protected:
  void SetUp() override {
    recipe_ = csv_recipe();
    data_ = folder.write("complete.csv", kComplete).string();
  }
  /// As after a kill: nothing but the ledger is left.
  void start() {
    participant_.reset();
    auto made = make(recipe_, data_);
    ASSERT_TRUE(made) << made.error().message;
    participant_ = std::move(*made);
  }
  Result<std::vector<Envelope>> report(RoundId round, float weight = 0.01F) {
    return participant_->report(task_of(recipe_, round),
                                std::vector<float>(participant_->weights(), weight));
  }
  ChargeRequest charge_request() const {
    const Network network = find_network(recipe_.model.name, {1, 1, 4}, 3).value();
    const Planner planner = Planner::make(recipe_, network.layout(), {}, 1.0).value();
    const RoundCharge cost = charge_of(planner.parts(1, 0).value());
    return {"ada", "data", "task", 1, cost.mechanism_id, cost.cost};
  }
  std::unique_ptr<Ledger> ledger() {
    participant_.reset();
    return open_ledger(folder / "ada.sqlite").value();
  }
  /// Of round 1.
  Kept state(std::uint64_t other_rounds = 0) {
    const auto book = ledger();
    if (book->spent("ada", "data").value().rounds == other_rounds) return Kept::kNew;
    const Charge charge = book->charge(charge_request()).value();
    if (charge.state == ChargeState::kCharged) return Kept::kPaid;
    if (charge.state == ChargeState::kBound) return Kept::kMade;
    return book->report(charge) ? Kept::kTaken : Kept::kGone;
  }
  void reach(Kept state) {
    start();  // sets the limits
    if (state == Kept::kNew) return;
    if (state == Kept::kPaid) {
      ASSERT_TRUE(ledger()->charge(charge_request()));
      return start();
    }
    auto made = report(1);
    ASSERT_TRUE(made) << made.error().message;
    first_ = std::move(*made);
    if (state == Kept::kMade) return;
    ASSERT_TRUE(participant_->delivered());
    if (state == Kept::kTaken) return;
    ASSERT_TRUE(report(2));
  }
  static bool same(const std::vector<Envelope>& a, const std::vector<Envelope>& b) {
    return std::ranges::equal(
        a, b, [](const Envelope& x, const Envelope& y) { return x.serialize() == y.serialize(); });
  }

  Recipe recipe_;
  std::string data_;
  std::unique_ptr<Participant> participant_;
  std::vector<Envelope> first_;  // the report of round 1
};

TEST_P(RoundEvents, DoWhatTheTableSays) {
  const Row& row = GetParam();
  const std::uint64_t others = row.state == Kept::kGone ? 1 : 0;
  for (const bool killed : {false, true}) {
    const auto in_state = [&](const std::function<void()>& event) {
      participant_.reset();
      std::filesystem::remove(folder / "ada.sqlite");
      std::filesystem::remove(folder / "ada.sqlite.head");
      first_.clear();
      reach(row.state);
      if (HasFatalFailure()) return;
      if (killed) start();
      event();
    };
    in_state([&] { EXPECT_EQ(state(others), row.state); });
    in_state([&] {
      const auto sent = report(1);
      ASSERT_EQ(sent.has_value(), row.sends);
      if (!sent) {
        EXPECT_EQ(sent.error().kind, ErrorKind::kRefused);
      }
      if (sent && !row.makes) {
        EXPECT_TRUE(same(*sent, first_)) << "another report";
      }
      EXPECT_EQ(state(others), row.after_task);
      // However often it is asked for, a round is paid once.
      EXPECT_EQ(ledger()->spent("ada", "data").value().rounds, others + 1);
    });
    in_state([&] {
      const auto sent = report(1, 0.02F);
      EXPECT_EQ(sent.has_value(), row.for_other);
      if (!sent) {
        EXPECT_EQ(sent.error().kind, ErrorKind::kRefused);
      }
    });
    // What is not the recipe's changes nothing.
    in_state([&] {
      TaskHeader task = task_of(recipe_, 1);
      task.parts[0].mechanism_id += "x";
      const auto sent =
          participant_->report(task, std::vector<float>(participant_->weights(), 0.01F));
      ASSERT_FALSE(sent);
      EXPECT_EQ(sent.error().kind, ErrorKind::kRefused);
      EXPECT_EQ(state(others), row.state);
    });
    in_state([&] {
      if (!row.sends) return;
      ASSERT_TRUE(report(1));
      ASSERT_TRUE(participant_->delivered());
      EXPECT_EQ(state(others), row.after_taken);
    });
    in_state([&] {
      ASSERT_TRUE(report(3));
      EXPECT_EQ(state(others + 1), row.after_later);
    });
  }
}

TEST_P(RoundEvents, WhatTheLimitsForbidStaysUnpaid) {
  const Row& row = GetParam();
  if (row.state == Kept::kGone) return;  // two rounds are paid already
  limits.rounds = 1;
  reach(row.state);
  const auto other = report(4);
  // One round is allowed: this one where nothing is paid yet, else none but the one that is paid.
  EXPECT_EQ(other.has_value(), row.state == Kept::kNew);
  EXPECT_EQ(report(1).has_value(), row.state != Kept::kNew);
  EXPECT_EQ(ledger()->spent("ada", "data").value().rounds, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Participant, RoundEvents,
    testing::Values(
        Row{Kept::kNew, "new_round", true, true, true, Kept::kMade, Kept::kTaken, Kept::kNew},
        Row{Kept::kPaid, "paid", true, true, true, Kept::kMade, Kept::kTaken, Kept::kPaid},
        Row{Kept::kMade, "made", false, true, false, Kept::kMade, Kept::kTaken, Kept::kMade},
        Row{Kept::kTaken, "taken", false, true, false, Kept::kTaken, Kept::kTaken, Kept::kGone},
        Row{Kept::kGone, "gone", false, false, false, Kept::kGone, Kept::kGone, Kept::kGone}),
    [](const auto& row) { return std::string(row.param.label); });

// ---- a report on its way ------------------------------------------------------------------------

using spool_files::Asked;
using State = ClientRound::State;

struct MadeUpMaker final : ReportMaker {
  Result<std::vector<Envelope>> report(const TaskHeader&, std::span<const float>) override {
    if (problem) return tl::unexpected(*problem);
    return std::vector<Envelope>();
  }
  const Contract& contract() const override { return made_for; }
  std::uint32_t minimum() const override { return 2; }
  Result<void> delivered() override {
    ++deliveries;
    return {};
  }
  Result<Spent> spent() const override { return Spent{}; }

  std::optional<Error> problem;
  Contract made_for;
  int deliveries = 0;
};

struct MadeUpRoles final : RoundCalls {
  Result<void> decline(const TaskHeader&) override {
    ++declined;
    return answer;
  }
  Result<void> submit(const TaskHeader&, const Handed& report) override {
    ++submitted;
    EXPECT_EQ(report.minimum, 2U);
    return answer;
  }
  Result<std::vector<Asked>> compare(const Tag&, RoundId round) override {
    compared.push_back(round);
    return asked;
  }

  Result<void> answer;
  std::vector<Asked> asked;
  std::vector<RoundId> compared;
  int declined = 0;
  int submitted = 0;
};

struct Way {
  MadeUpMaker maker;
  MadeUpRoles roles;
  ClientRound round{roles};

  Result<void> task(RoundId number, std::optional<Error> problem, Result<void> answer) {
    maker.problem = std::move(problem);
    maker.made_for.round = number;
    maker.made_for.shuffled = true;
    roles.answer = std::move(answer);
    TaskHeader header;
    header.round = number;
    header.attempt.fill(static_cast<std::byte>(number));
    return round.run(maker, header, {});
  }
  void reach(State state) {
    if (state == State::kHandedIn) (void)task(1, {}, {});
    if (state == State::kTooLate) (void)task(1, {}, refused());
    if (state == State::kHeld) (void)task(1, {}, away());
    if (state == State::kDeclined) (void)task(1, Error{ErrorKind::kRefused, "too dear"}, {});
    ASSERT_EQ(round.state(), state);
  }
  static Result<void> refused() { return fail(ErrorKind::kRefused, "the round is over"); }
  static Result<void> away() { return fail(ErrorKind::kIo, "nobody there"); }
};

TEST(ClientRound, WhateverWasBeforeATaskIsDoneAsTheTableSays) {
  for (const State before :
       {State::kNone, State::kHandedIn, State::kTooLate, State::kHeld, State::kDeclined}) {
    const auto in_state = [&](const std::function<void(Way&)>& event) {
      SCOPED_TRACE(static_cast<int>(before));
      Way way;
      way.reach(before);
      const ClientRound::Counts counts = way.round.counts();
      const int deliveries = way.maker.deliveries;
      event(way);
      // The task is done with, whatever came of it.
      EXPECT_EQ(way.round.done_round(), 2U);
      EXPECT_EQ(way.round.done_attempt()[0], std::byte{2});
      const State state = way.round.state();
      const bool moved = way.maker.problem.has_value() && state == before &&
                         way.maker.problem->kind != ErrorKind::kRefused;
      const auto more = [&](State which) { return !moved && state == which ? 1U : 0U; };
      EXPECT_EQ(way.round.counts().reports, counts.reports + more(State::kHandedIn));
      EXPECT_EQ(way.round.counts().late, counts.late + more(State::kTooLate));
      EXPECT_EQ(way.round.counts().declined, counts.declined + more(State::kDeclined));
      EXPECT_EQ(way.maker.deliveries, deliveries + static_cast<int>(more(State::kHandedIn)));
    };
    in_state([](Way& way) {
      EXPECT_TRUE(way.task(2, {}, {}));
      EXPECT_EQ(way.round.state(), State::kHandedIn);
    });
    in_state([](Way& way) {
      EXPECT_TRUE(way.task(2, {}, Way::refused()));
      EXPECT_EQ(way.round.state(), State::kTooLate);
    });
    in_state([](Way& way) {
      const auto done = way.task(2, {}, Way::away());
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().kind, ErrorKind::kIo);
      EXPECT_EQ(way.round.state(), State::kHeld);
    });
    in_state([](Way& way) {
      const int declined = way.roles.declined;
      EXPECT_TRUE(way.task(2, Error{ErrorKind::kRefused, "too dear"}, {}));
      EXPECT_EQ(way.round.state(), State::kDeclined);
      EXPECT_EQ(way.roles.declined, declined + 1);
    });
    // A server that does not want to hear it is no reason to stop; one that is away may be.
    in_state([](Way& way) {
      EXPECT_TRUE(way.task(2, Error{ErrorKind::kRefused, "too dear"}, Way::refused()));
      EXPECT_EQ(way.round.state(), State::kDeclined);
    });
    in_state([](Way& way) {
      EXPECT_FALSE(way.task(2, Error{ErrorKind::kRefused, "too dear"}, Way::away()));
      EXPECT_EQ(way.round.state(), State::kDeclined);
    });
    in_state([before](Way& way) {
      const int submitted = way.roles.submitted;
      const auto done = way.task(2, Error{ErrorKind::kCorrupt, "the ledger is damaged"}, {});
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().kind, ErrorKind::kCorrupt);
      EXPECT_EQ(way.round.state(), before);
      EXPECT_EQ(way.roles.submitted, submitted) << "nothing leaves";
    });
  }
}

TEST(ClientRound, AnAttemptThatIsForgottenMayBeGivenAgain) {
  Way way;
  way.reach(State::kTooLate);
  way.round.forget_attempt();
  EXPECT_EQ(way.round.done_round(), 1U);
  EXPECT_EQ(way.round.done_attempt(), Attempt{});
}

TEST(ClientRound, ComparesEachRoundAtOnceAndAgainBeforeTheNext) {
  Way way;
  ASSERT_TRUE(way.task(1, {}, {}));
  EXPECT_EQ(way.roles.compared, std::vector<RoundId>({1}));
  way.roles.asked = {{std::string(64, 'f'), 0, 3}};
  ASSERT_TRUE(way.task(2, {}, {}));
  EXPECT_EQ(way.roles.compared, std::vector<RoundId>({1, 1, 2}));
  EXPECT_EQ(way.round.counts().asked_otherwise, 2U);
  // A warning is given once for a round.
  way.round.compare();
  EXPECT_EQ(way.roles.compared.size(), 3U);
}

}  // namespace
}  // namespace sotto::rpc
