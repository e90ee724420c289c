// A server's round as a state machine: every event in every state of a round, a client and a batch.
#include "server/coordinator/collection.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "exchange_parts.h"

namespace sotto::rpc {
namespace {

using std::chrono::seconds;
constexpr Collection::Clock::time_point kStart{};  // of a clock that the tests set
constexpr Collection::Times kTimes{seconds(10), seconds(100), seconds(5)};

/// A round that asks clients 0, 1 and 2 of three places; a report has four chunks.
Collection collection(bool shuffled) {
  const std::vector<float> model(13, 0.0F);
  Terms terms;
  terms.recipe = kTestRecipe;
  terms.shuffled = shuffled;
  return Collection::begin(small_plan(), model, terms, {}, kTimes, kStart).value();
}

std::string name(std::uint32_t client) { return "c" + std::to_string(client); }

// ---- a round ------------------------------------------------------------------------------------

void hear_all(Collection& round) {
  round.decline(0, name(0));
  round.arrived(1, 0);
  round.arrived(2, 0);
}

struct RoundRow {
  RoundState state;
  const char* label;
  RoundState after_task;
  bool clock_begins;
  RoundState after_all;
  RoundState when_over;
};

class RoundEvents : public testing::TestWithParam<RoundRow> {};

TEST_P(RoundEvents, DoWhatTheTableSays) {
  const RoundRow& row = GetParam();
  // When the state was reached, and a moment later.
  const auto moment = [&](RoundState state) {
    if (state == RoundState::kEnded) return kStart + seconds(9 + 100 + 5);
    if (state == RoundState::kAbandoned) return kStart + seconds(10);
    return kStart + seconds(9);
  };
  const auto now = moment(row.state);
  const auto in_state = [&](const std::function<void(Collection&)>& event) {
    Collection round = collection(false);
    if (row.state == RoundState::kRunning || row.state == RoundState::kEnded) {
      ASSERT_TRUE(round.start_clock(kStart + seconds(9)));
    }
    if (row.state == RoundState::kComplete) hear_all(round);
    ASSERT_EQ(round.state(now), row.state);
    event(round);
  };
  in_state([&](Collection& round) {
    EXPECT_EQ(round.start_clock(now), row.clock_begins);
    EXPECT_EQ(round.state(now), row.after_task);
    // A second task does not give the round more time.
    const auto deadline = round.deadline();
    EXPECT_FALSE(round.start_clock(now + seconds(1)));
    EXPECT_EQ(round.deadline(), deadline);
  });
  in_state([&](Collection& round) {
    hear_all(round);
    EXPECT_EQ(round.state(now), row.after_all);
  });
  in_state([&](Collection& round) {
    const auto end = round.end();
    if (row.state == RoundState::kWaiting || row.state == RoundState::kRunning) {
      EXPECT_EQ(round.state(end - std::chrono::nanoseconds(1)), row.state);
    }
    EXPECT_EQ(round.state(std::max(now, end)), row.when_over);
  });
}

using enum RoundState;
INSTANTIATE_TEST_SUITE_P(
    Collection, RoundEvents,
    testing::Values(RoundRow{kWaiting, "waiting", kRunning, true, kComplete, kAbandoned},
                    RoundRow{kRunning, "running", kRunning, false, kComplete, kEnded},
                    RoundRow{kComplete, "complete", kComplete, true, kComplete, kComplete},
                    RoundRow{kEnded, "ended", kEnded, false, kComplete, kEnded},
                    // The coordinator asks before it gives a task, under one lock.
                    RoundRow{kAbandoned, "abandoned", kRunning, true, kComplete, kAbandoned}),
    [](const auto& row) { return std::string(row.param.label); });

TEST(Collection, TheRoundsTimeIsThatOfItsClock) {
  Collection round = collection(false);
  EXPECT_EQ(round.end(), kStart + seconds(10));
  EXPECT_FALSE(round.deadline());
  ASSERT_TRUE(round.start_clock(kStart + seconds(3)));
  EXPECT_EQ(round.deadline(), kStart + seconds(103));
  EXPECT_EQ(round.end(), kStart + seconds(108));
}

// ---- a client -----------------------------------------------------------------------------------

struct ClientRow {
  ClientState state;
  const char* label;
  bool declines;
  ClientState after_decline;
  bool counts;
  ClientState after_report;
};

class ClientEvents : public testing::TestWithParam<ClientRow> {};

TEST_P(ClientEvents, DoWhatTheTableSays) {
  const ClientRow& row = GetParam();
  const std::uint32_t client = row.state == ClientState::kNotAsked ? 7 : 1;
  const auto in_state = [&](const std::function<void(Collection&)>& event) {
    Collection round = collection(false);
    if (row.state == ClientState::kDeclined) {
      ASSERT_TRUE(round.decline(client, name(client)));
    }
    if (row.state == ClientState::kCounted) {
      ASSERT_TRUE(round.arrived(client, 0));
    }
    ASSERT_EQ(round.state_of(client), row.state);
    event(round);
    // Nobody else is concerned.
    EXPECT_EQ(round.state_of(0), ClientState::kAwaited);
    EXPECT_EQ(round.state_of(2), ClientState::kAwaited);
  };
  in_state([&](Collection& round) {
    EXPECT_EQ(round.decline(client, name(client)), row.declines);
    EXPECT_EQ(round.state_of(client), row.after_decline);
  });
  in_state([&](Collection& round) {
    EXPECT_EQ(round.arrived(client, 0), row.counts);
    EXPECT_EQ(round.state_of(client), row.after_report);
    const std::size_t counted = row.after_report == ClientState::kCounted ? 1U : 0U;
    EXPECT_EQ(round.outcome("").front().reports, counted);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Collection, ClientEvents,
    testing::Values(ClientRow{ClientState::kNotAsked, "not_asked", false, ClientState::kNotAsked,
                              false, ClientState::kNotAsked},
                    ClientRow{ClientState::kAwaited, "awaited", true, ClientState::kDeclined, true,
                              ClientState::kCounted},
                    ClientRow{ClientState::kDeclined, "declined", false, ClientState::kDeclined,
                              false, ClientState::kDeclined},
                    ClientRow{ClientState::kCounted, "counted", false, ClientState::kCounted, false,
                              ClientState::kCounted}),
    [](const auto& row) { return std::string(row.param.label); });

// ---- a shuffler's batch -------------------------------------------------------------------------

struct IntakeRow {
  IntakeState state;
  const char* label;
  bool takes_none;
  bool takes_two;    // reports, going on where the sequence stands
  bool takes_other;  // number of reports
  bool takes_chunk;
  IntakeState after_chunk;
};

class IntakeEvents : public testing::TestWithParam<IntakeRow> {};

TEST_P(IntakeEvents, DoWhatTheTableSays) {
  const IntakeRow& row = GetParam();
  const auto in_state = [&](const std::function<void(Collection&)>& event) {
    Collection round = collection(true);
    if (row.state == IntakeState::kWithheld) {
      ASSERT_TRUE(round.begin_batch(0, 0, 0));
    }
    if (row.state == IntakeState::kComing || row.state == IntakeState::kWhole) {
      ASSERT_TRUE(round.begin_batch(0, 2, 0));
      const std::size_t whole = 2 * round.groups()[0].form->chunks();
      const std::size_t taken = row.state == IntakeState::kWhole ? whole : 3;
      for (std::size_t i = 0; i < taken; ++i) round.took_chunk(0, true);
    }
    ASSERT_EQ(round.groups()[0].intake(), row.state);
    event(round);
  };
  const auto taken = [](const Collection& round) { return round.groups()[0].taken; };
  in_state([&](Collection& round) {
    const std::uint64_t stream = round.groups()[0].stream;
    EXPECT_EQ(round.begin_batch(0, 0, taken(round)).has_value(), row.takes_none);
    EXPECT_EQ(round.groups()[0].stream, stream + (row.takes_none ? 1 : 0));
    if (row.state == IntakeState::kNone) {
      EXPECT_EQ(round.groups()[0].intake(), IntakeState::kWithheld);
    } else {
      EXPECT_EQ(round.groups()[0].intake(), row.state);
    }
  });
  in_state([&](Collection& round) {
    EXPECT_EQ(round.begin_batch(0, 2, taken(round)).has_value(), row.takes_two);
    if (row.state == IntakeState::kNone) {
      EXPECT_EQ(round.groups()[0].intake(), IntakeState::kComing);
    } else {
      EXPECT_EQ(round.groups()[0].intake(), row.state);
    }
  });
  in_state([&](Collection& round) {
    EXPECT_EQ(round.begin_batch(0, 3, taken(round)).has_value(), row.takes_other);
    EXPECT_FALSE(round.begin_batch(0, 4, taken(round)));  // more than were asked
    EXPECT_FALSE(round.begin_batch(1, 2, 0));             // there is one group
  });
  in_state([&](Collection& round) {
    EXPECT_FALSE(round.begin_batch(0, 2, taken(round) + 1));
    EXPECT_EQ(round.groups()[0].intake(), row.state);
  });
  in_state([&](Collection& round) {
    const std::uint64_t before = taken(round);
    EXPECT_EQ(round.next_chunk(0).has_value(), row.takes_chunk);
    if (row.takes_chunk) {
      round.took_chunk(0, true);
    } else {
      EXPECT_THROW(round.took_chunk(0, true), std::invalid_argument);
    }
    EXPECT_EQ(taken(round), before + (row.takes_chunk ? 1 : 0));
    EXPECT_EQ(round.groups()[0].intake(), row.after_chunk);
  });
  // Whoever waits goes on when nothing more can come.
  in_state([&](Collection& round) {
    const bool final = row.state == IntakeState::kWithheld || row.state == IntakeState::kWhole;
    EXPECT_EQ(round.state(kStart) == RoundState::kComplete, final);
    const Delivery::Group outcome = round.outcome("nobody").front();
    EXPECT_EQ(outcome.reports, row.state == IntakeState::kWhole ? 2U : 0U);
    EXPECT_EQ(outcome.opened.value_or(0) > 0,
              row.state == IntakeState::kComing || row.state == IntakeState::kWhole);
  });
}

INSTANTIATE_TEST_SUITE_P(Collection, IntakeEvents,
                         testing::Values(IntakeRow{IntakeState::kNone, "none", true, true, true,
                                                   false, IntakeState::kNone},
                                         IntakeRow{IntakeState::kWithheld, "withheld", true, false,
                                                   false, false, IntakeState::kWithheld},
                                         IntakeRow{IntakeState::kComing, "coming", false, true,
                                                   false, true, IntakeState::kComing},
                                         IntakeRow{IntakeState::kWhole, "whole", false, true, false,
                                                   false, IntakeState::kWhole}),
                         [](const auto& row) { return std::string(row.param.label); });

TEST(Collection, TheLastChunkMakesABatchWhole) {
  Collection round = collection(true);
  ASSERT_TRUE(round.begin_batch(0, 2, 0));
  const std::size_t chunks = round.groups()[0].form->chunks();
  for (std::size_t i = 0; i < 2 * chunks; ++i) {
    EXPECT_EQ(round.groups()[0].intake(), IntakeState::kComing) << i;
    EXPECT_EQ(round.next_chunk(0).value(), i / 2) << "chunks come position by position";
    round.took_chunk(0, true);
  }
  EXPECT_EQ(round.groups()[0].intake(), IntakeState::kWhole);
}

}  // namespace
}  // namespace sotto::rpc
