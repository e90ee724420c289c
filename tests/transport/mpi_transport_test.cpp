// A run over several ranks, which are threads here: the same bits as on one, the same charges, and
// an end whatever goes wrong.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "plan/fake_ledger.h"
#include "server/toy_run.h"
#include "temporary_folder.h"
#include "thread_ranks.h"
#include "transport/mpi/assign_clients.h"
#include "transport/mpi/mpi_protocol.h"

namespace sotto {
namespace {

/// Made once: every rank of every test would make it for itself.
std::shared_ptr<const DataSplit> embedded() {
  static const auto kData = std::make_shared<const DataSplit>(make_embedded(0));
  return kData;
}

/// run_recipe on rank 0 and run_mpi_worker on the others, each a thread.
Result<RunResult> run_spread(const Recipe& recipe, unsigned ranks, RunOptions options = {},
                             const MakeFactory& others = make_toy) {
  const auto post = std::make_shared<ThreadRanks::Post>();
  std::vector<std::jthread> helpers;
  for (unsigned rank = 1; rank < ranks; ++rank) {
    helpers.emplace_back([&, rank] {
      RunOptions own;
      own.threads = rank;  // ranks need not be alike
      own.data = embedded();
      own.ranks = std::make_shared<ThreadRanks>(post, rank, ranks);
      static_cast<void>(run_mpi_worker(recipe, own, others));
    });
  }
  options.threads = 1;
  options.data = embedded();
  if (ranks > 1) options.ranks = std::make_shared<ThreadRanks>(post, 0, ranks);
  Result<RunResult> result = run_recipe(recipe, options, make_toy);
  options.ranks.reset();
  return result;
}

void expect_same(const std::vector<std::string>& settings) {
  const auto one = run_spread(toy_recipe(settings), 1);
  ASSERT_TRUE(one) << one.error().message;
  for (const unsigned ranks : {2U, 3U, 4U}) {
    const auto several = run_spread(toy_recipe(settings), ranks);
    ASSERT_TRUE(several) << several.error().message;
    EXPECT_EQ(several->model, one->model) << ranks;
    ASSERT_EQ(several->rounds.size(), one->rounds.size());
    for (std::size_t i = 0; i < one->rounds.size(); ++i) {
      EXPECT_EQ(several->rounds[i].reports, one->rounds[i].reports);
      EXPECT_EQ(several->rounds[i].bytes_up, one->rounds[i].bytes_up);
      EXPECT_EQ(several->rounds[i].accuracy, one->rounds[i].accuracy);
      EXPECT_EQ(several->rounds[i].loss, one->rounds[i].loss);
      EXPECT_EQ(several->rounds[i].delay_seconds, one->rounds[i].delay_seconds);
    }
    EXPECT_EQ(several->record->at("ranks"), ranks);
    EXPECT_EQ(several->record->at("privacy"), one->record->at("privacy"));
  }
}

TEST(Spread, TheSameBitsOnAnyNumberOfRanks) {
  expect_same({});
  expect_same({"privacy.mechanism=two-point", "privacy.epsilon=1", "privacy.radius=2"});
}

TEST(Spread, TheSameBitsWithAdaptiveRangesBudgetsAndSchedules) {
  expect_same({"privacy.mechanism=two-point", "privacy.epsilon=1", "privacy.radius=2",
               "bound.range=adaptive"});
  expect_same({"privacy.mechanism=two-point", "privacy.client_budgets=[1,2,3]", "privacy.radius=2",
               "schedule.mode=single"});
  expect_same({"privacy.mechanism=two-point", "privacy.epsilon=1", "privacy.radius=2",
               "shuffle.mode=latency", "shuffle.latency=2", "shuffle.split=100"});
}

TEST(Spread, FewerClientsThanRanks) {
  expect_same({"federation.clients=3", "federation.k=2", "federation.rounds=2"});
}

TEST(Spread, GoesOnWithAnotherNumberOfRanks) {
  const TemporaryFolder folder;
  const auto whole = run_spread(toy_recipe(), 1);
  RunOptions options;
  options.out = folder / "run";
  ASSERT_TRUE(run_spread(toy_recipe({"federation.rounds=2"}), 3, options));
  options.resume = true;
  const auto resumed = run_spread(toy_recipe(), 2, options);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->model, whole->model);
}

TEST(Spread, EveryClientIsChargedOnceAndItsReportIsTheSame) {
  std::vector<std::shared_ptr<FakeLedger>> ledgers;
  for (const unsigned ranks : {1U, 3U}) {
    ledgers.push_back(std::make_shared<FakeLedger>());
    RunOptions options;
    options.open_ledger = [ledger = ledgers.back()]() -> Result<std::shared_ptr<Ledger>> {
      return ledger;
    };
    const auto result = run_spread(
        toy_recipe({"privacy.mechanism=two-point", "privacy.epsilon=1", "privacy.radius=2"}), ranks,
        options);
    ASSERT_TRUE(result) << result.error().message;
  }
  ASSERT_EQ(ledgers[0]->entries.size(), 6U * 20U);
  ASSERT_EQ(ledgers[1]->entries.size(), 6U * 20U);
  for (std::size_t i = 0; i < ledgers[0]->entries.size(); ++i) {
    EXPECT_EQ(ledgers[0]->entries[i].client, ledgers[1]->entries[i].client);
    EXPECT_FALSE(ledgers[0]->entries[i].charge.report_hash.empty());
    EXPECT_EQ(ledgers[0]->entries[i].charge.report_hash, ledgers[1]->entries[i].charge.report_hash);
  }
}

TEST(Spread, WhatCannotBeSpreadIsRefused) {
  const auto recipe = parse_recipe(
      "[data]\nname = \"embedded\"\n[model]\nname = \"mlp(3)\"\n"
      "[federation]\nclients = 4\nmode = \"local\"\nrounds = 1\n",
      "toy.toml", {});
  ASSERT_TRUE(recipe) << recipe.error().message;
  const auto alone = run_spread(*recipe, 2);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().kind, ErrorKind::kUsage);
  EXPECT_NE(alone.error().message.find("federation.mode"), std::string::npos);
}

TEST(Spread, ARankThatCannotTakePartEndsTheRun) {
  const MakeFactory broken = [](const TrainerRequest&) {
    return Result<std::shared_ptr<const TrainerFactory>>(
        fail(ErrorKind::kNotFound, "no such engine here"));
  };
  const auto result = run_spread(toy_recipe(), 3, {}, broken);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "rank 1: no such engine here");
}

TEST(Spread, RanksWithOtherDataAreRefused) {
  const auto post = std::make_shared<ThreadRanks::Post>();
  std::jthread helper([&] {
    RunOptions own;
    own.ranks = std::make_shared<ThreadRanks>(post, 1, 2);
    static_cast<void>(run_mpi_worker(toy_recipe({"data.normalize=false"}), own, make_toy));
  });
  RunOptions options;
  options.ranks = std::make_shared<ThreadRanks>(post, 0, 2);
  const auto result = run_recipe(toy_recipe(), options, make_toy);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("rank 1 has another program"), std::string::npos);
}

TEST(AssignClients, HeavyClientsDoNotHoldOneRankUp) {
  std::vector<WeightedClient> clients;
  for (std::uint32_t i = 0; i < 100; ++i) clients.push_back({i % 2, i, i < 4 ? 250U : 10U});
  const std::vector<unsigned> speeds = {1, 2, 1};
  const auto shares = assign_clients(clients, 2, speeds);
  std::vector<std::size_t> loads(3, 0);
  std::vector<int> seen(100, 0);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (const auto& group : shares[rank]) {
      EXPECT_TRUE(std::ranges::is_sorted(group));
      for (const std::uint32_t client : group) {
        ++seen[client];
        loads[rank] += clients[client].weight;
      }
    }
  }
  EXPECT_EQ(std::ranges::count(seen, 1), 100);
  EXPECT_NEAR(static_cast<double>(loads[0]), 490.0, 20.0);
  EXPECT_NEAR(static_cast<double>(loads[1]), 980.0, 20.0);
}

TEST(RankMessage, OneThatEndsTooEarlyIsNoticed) {
  MessageWriter out;
  out.put(3U).put_text("text").put_list(std::span<const double>());
  MessageReader in(out.bytes());
  EXPECT_EQ(in.get<unsigned>(), 3U);
  EXPECT_EQ(in.get_text(), "text");
  EXPECT_TRUE(in.get_list<double>().empty());
  EXPECT_THROW(in.get<char>(), std::length_error);
  MessageReader liar(MessageWriter().put<std::uint64_t>(1U << 30U).bytes());
  EXPECT_THROW(liar.get_text(), std::length_error);
}

TEST(RankMessage, NoCountReservesMoreThanTheMessageHolds) {
  mpi::Task task;
  task.round = 1;
  MessageWriter out;
  put(out, task);
  // The number of groups stands behind round, a flag and the length of an empty list.
  std::vector<std::byte> bytes = out.bytes();
  const std::size_t groups = sizeof(RoundId) + 1 + sizeof(std::uint64_t);
  bytes.at(groups + 4) = std::byte{1};
  MessageReader in(bytes);
  EXPECT_THROW(mpi::get_task(in), std::length_error);
}

}  // namespace
}  // namespace sotto
