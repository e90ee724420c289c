// Runs that have to pay: who is charged, when, who is refused, and what a resumed run finds.
#include "plan/budget.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fake_ledger.h"
#include "plan/selection.h"
#include "server/checkpoint.h"
#include "server/toy_run.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

RunOptions with(const std::shared_ptr<FakeLedger>& ledger) {
  RunOptions options;
  options.open_ledger = [ledger]() -> Result<std::shared_ptr<Ledger>> { return ledger; };
  return options;
}

TEST(Budget, ClientsTakeTurnsWithTheirLimits) {
  const Recipe recipe = toy_recipe({"ledger.epsilon=[1,2,3]", "ledger.rounds=7"});
  EXPECT_EQ(limits_of(recipe, 0).epsilon, 1.0);
  EXPECT_EQ(limits_of(recipe, 5).epsilon, 3.0);
  EXPECT_EQ(limits_of(recipe, 5).rounds, 7U);
  EXPECT_EQ(limits_of(recipe, 5).delta, 1e-6);  // account.delta
  EXPECT_TRUE(std::isinf(limits_of(recipe, 5).epsilon_per_round));
  EXPECT_EQ(limits_of(toy_recipe({"ledger.epsilon=1", "ledger.delta=1e-9"}), 0).delta, 1e-9);
  EXPECT_EQ(limits_of(toy_recipe(), 0), Limits::unlimited());
  EXPECT_EQ(client_name(17), "client-00017");
}

TEST(Budget, DataSetsAreToldApart) {
  const std::string one = dataset_name(toy_recipe());
  EXPECT_TRUE(one.starts_with("embedded:"));
  EXPECT_EQ(dataset_name(toy_recipe({"train.lr=0.5"})), one);
  for (const char* other : {"federation.seed=2", "federation.clients=50", "data.partition=iid"}) {
    EXPECT_NE(dataset_name(toy_recipe({other})), one) << other;
  }
}

TEST(Budget, EveryReportIsChargedOnceBeforeDataIsReadAndBoundAfter) {
  const auto ledger = std::make_shared<FakeLedger>();
  RunOptions options = with(ledger);
  std::uint64_t trained = 0;
  std::vector<std::uint64_t> trained_at_charge;
  options.on_client = [&](RoundId, std::uint64_t, std::uint64_t) { ++trained; };
  ledger->on_charge = [&] { trained_at_charge.push_back(trained); };
  const RunResult result = run(toy_recipe(), options);
  EXPECT_EQ(ledger->entries.size(), 6U * 20U);
  EXPECT_EQ(trained_at_charge, (std::vector<std::uint64_t>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(ledger->bindings, 6);
  std::set<std::string> hashes;
  for (const auto& entry : ledger->entries) {
    EXPECT_EQ(entry.charge.report_hash.size(), 64U);
    hashes.insert(entry.charge.report_hash);
  }
  EXPECT_EQ(hashes.size(), 120U);
  // The ledger changes nothing about the model.
  EXPECT_EQ(result.model, run(toy_recipe(), {}).model);
}

TEST(Budget, HashesDoNotDependOnThreadsButOnTheSplit) {
  const auto hashes = [](unsigned threads, const char* split) {
    const auto ledger = std::make_shared<FakeLedger>();
    RunOptions options = with(ledger);
    options.threads = threads;
    run(toy_recipe({"federation.rounds=2", "shuffle.mode=shuffler", split}), options);
    std::vector<std::string> all;
    for (const auto& entry : ledger->entries) all.push_back(entry.charge.report_hash);
    return all;
  };
  EXPECT_EQ(hashes(1, "shuffle.split=0"), hashes(3, "shuffle.split=0"));
  EXPECT_NE(hashes(1, "shuffle.split=0"), hashes(1, "shuffle.split=100"));
}

TEST(Budget, WhoHasNoneLeftIsLeftOut) {
  // Odd clients take part once, even ones as often as they are picked.
  const Recipe recipe = toy_recipe({"ledger.rounds=[100,1]"});
  const auto ledger = std::make_shared<FakeLedger>();
  const RunResult result = run(recipe, with(ledger));
  ASSERT_EQ(result.rounds.size(), 6U);
  EXPECT_EQ(result.stopped, "rounds");
  std::map<std::uint32_t, std::uint64_t> taken;
  for (const RoundMetrics& metrics : result.rounds) {
    std::uint64_t refused = 0;
    for (const std::uint32_t client : pick_clients(1, metrics.round, 40, 20)) {
      if (client % 2 == 1 && taken[client] == 1) {
        ++refused;
      } else {
        ++taken[client];
      }
    }
    EXPECT_EQ(metrics.clients, 20U);
    EXPECT_EQ(metrics.refused, refused) << metrics.round;
    EXPECT_EQ(metrics.reports, 20U - refused);
    EXPECT_EQ(metrics.released, metrics.reports);
    EXPECT_EQ(metrics.to_json()["refused"], refused);
  }
  EXPECT_GT(result.rounds.back().refused, 0U);
  std::uint64_t most = 0;
  for (const auto& [client, rounds] : taken) most = std::max(most, rounds);
  EXPECT_EQ(result.record->at("privacy")["rounds"], most);
  // The report of a client that is left out does not count for the model.
  EXPECT_NE(result.model, run(toy_recipe(), {}).model);
}

TEST(Budget, NobodyLeftEndsTheRunAndSaysWhy) {
  const auto ledger = std::make_shared<FakeLedger>();
  RunOptions options = with(ledger);
  std::string notes;
  options.on_note = [&](const std::string& note) { notes += note + '\n'; };
  const RunResult result = run(toy_recipe({"ledger.rounds=2", "federation.fraction=1"}), options);
  EXPECT_EQ(result.stopped, "budget");
  EXPECT_EQ(result.rounds.size(), 2U);
  EXPECT_EQ(result.record->at("stopped"), "budget");
  EXPECT_NE(notes.find("round 3"), std::string::npos) << notes;
  EXPECT_NE(notes.find("client-00000: no round left"), std::string::npos) << notes;
  EXPECT_EQ(result.record->at("privacy")["rounds"], 2);
  EXPECT_EQ(ledger->entries.size(), 80U);
}

TEST(Budget, NothingIsComputedForARefusedClient) {
  const auto ledger = std::make_shared<FakeLedger>();
  RunOptions options = with(ledger);
  bool trained = false;
  options.on_client = [&](RoundId, std::uint64_t, std::uint64_t) { trained = true; };
  const RunResult result = run(toy_recipe({"ledger.epsilon_per_round=10"}), options);
  EXPECT_EQ(result.stopped, "budget");  // mechanism "none" costs infinitely much
  EXPECT_FALSE(trained);
  EXPECT_TRUE(result.rounds.empty());
  EXPECT_TRUE(ledger->entries.empty());
  // Nothing was sent, so nothing was spent.
  EXPECT_EQ(client_claim(result.claims)->epsilon, 0.0);
}

TEST(Budget, AResumedRunIsNotChargedTwice) {
  const TemporaryFolder folder;
  const std::vector<std::string> limits = {"ledger.rounds=[100,2]"};
  const auto whole_ledger = std::make_shared<FakeLedger>();
  const RunResult whole = run(toy_recipe(limits), with(whole_ledger));
  for (const int stop : {1, 3, 5}) {
    const auto ledger = std::make_shared<FakeLedger>();
    RunOptions options = with(ledger);
    options.out = folder / ("run" + std::to_string(stop));
    std::vector<std::string> part = limits;
    part.push_back("federation.rounds=" + std::to_string(stop));
    run(toy_recipe(part), options);
    // The next round was charged and its reports were made, but the run died before its checkpoint.
    const auto saved = *read_file(options.out / "checkpoint.sotto");
    part.back() = "federation.rounds=" + std::to_string(stop + 1);
    options.resume = true;
    run(toy_recipe(part), options);
    ASSERT_TRUE(write_file_atomically(options.out / "checkpoint.sotto", saved));

    const RunResult resumed = run(toy_recipe(limits), options);
    EXPECT_EQ(resumed.model, whole.model) << stop;
    EXPECT_EQ(ledger->entries.size(), whole_ledger->entries.size());
    EXPECT_EQ(resumed.record->at("privacy"), whole.record->at("privacy"));
  }
}

TEST(Budget, ALedgerThatLostChargesIsChargedAgainOrRefuses) {
  const TemporaryFolder folder;
  RunOptions options = with(std::make_shared<FakeLedger>());
  options.out = folder / "run";
  const std::vector<std::string> start = {"ledger.rounds=6", "federation.fraction=1",
                                          "federation.rounds=4"};
  run(toy_recipe(start), options);

  const auto empty = std::make_shared<FakeLedger>();
  std::string notes;
  options.open_ledger = with(empty).open_ledger;
  options.resume = true;
  options.on_note = [&](const std::string& note) { notes += note; };
  std::vector<std::string> rest = start;
  rest.back() = "federation.rounds=5";
  run(toy_recipe(rest), options);
  EXPECT_NE(notes.find("160 reports of earlier rounds were missing"), std::string::npos) << notes;
  EXPECT_EQ(empty->entries.size(), 200U);

  // Another training of the same clients has used up what this one needs.
  const auto spent = std::make_shared<FakeLedger>();
  run(toy_recipe(
          {"ledger.rounds=6", "federation.fraction=1", "federation.rounds=4", "train.lr=0.1"}),
      with(spent));
  options.open_ledger = with(spent).open_ledger;
  const auto refused = run_recipe(toy_recipe(rest), options, make_toy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kRefused);
  EXPECT_NE(refused.error().message.find("not in the ledger"), std::string::npos);
}

TEST(Budget, AnotherReportForAPaidRoundIsRefused) {
  const auto ledger = std::make_shared<FakeLedger>();
  run(toy_recipe({"federation.rounds=1"}), with(ledger));
  ledger->entries[3].charge.report_hash = std::string(64, '0');
  EXPECT_FALSE(run_recipe(toy_recipe({"federation.rounds=1"}), with(ledger), make_toy));
}

TEST(Budget, LimitsNeedALedger) {
  const auto refused = run_recipe(toy_recipe({"ledger.epsilon=1"}), {}, make_toy);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("need a ledger"), std::string::npos);
}

TEST(Budget, LimitsThatAClientSetEarlierStayWhereTheRecipeHasNone) {
  const auto ledger = std::make_shared<FakeLedger>();
  Limits once = Limits::unlimited();
  once.rounds = 1;
  for (std::uint32_t client = 0; client < 40; ++client) {
    ASSERT_TRUE(ledger->set_limits(client_name(client), dataset_name(toy_recipe()), once));
  }
  const RunResult result = run(toy_recipe({"federation.fraction=1"}), with(ledger));
  EXPECT_EQ(result.stopped, "budget");
  EXPECT_EQ(result.rounds.size(), 1U);
}

TEST(Batches, TooFewReportsAreNotReleasedAndTheModelStays) {
  // From the second round on every second client is refused.
  const std::vector<std::string> settings = {"shuffle.mode=shuffler", "shuffle.min_batch=40",
                                             "federation.fraction=1", "ledger.rounds=[3,1]"};
  const auto ledger = std::make_shared<FakeLedger>();
  RunOptions options = with(ledger);
  std::string notes;
  options.on_note = [&](const std::string& note) { notes += note + '\n'; };
  const RunResult result = run(toy_recipe(settings), options);
  ASSERT_EQ(result.rounds.size(), 3U);
  EXPECT_EQ(result.stopped, "budget");
  EXPECT_EQ(result.rounds[0].released, 40U);
  EXPECT_EQ(result.rounds[1].reports, 20U);
  EXPECT_EQ(result.rounds[1].released, 0U);
  EXPECT_EQ(result.rounds[1].to_json()["released"], 0);
  EXPECT_NE(notes.find("round 2: 20 reports are fewer than shuffle.min_batch"), std::string::npos);
  EXPECT_EQ(result.model,
            run(toy_recipe({"federation.fraction=1", "federation.rounds=1"}), {}).model);
  // The reports were made, so they cost; but only one batch reached the server.
  const auto& privacy = result.record->at("privacy");
  EXPECT_EQ(privacy["rounds"], 3);
  EXPECT_EQ(privacy["batches"], nlohmann::json::parse(R"([{"size":40,"rounds":1}])"));
  EXPECT_EQ(ledger->entries.size(), 80U);
}

TEST(Batches, ARecipeThatCouldNeverReleaseIsRefused) {
  const auto refused =
      run_recipe(toy_recipe({"shuffle.mode=shuffler", "shuffle.min_batch=21"}), {}, make_toy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("a round has 20 clients"), std::string::npos);
}

TEST(Batches, SplitReportsGiveTheSameModel) {
  const RunResult whole = run(toy_recipe(), {});
  const RunResult split = run(toy_recipe({"shuffle.mode=shuffler", "shuffle.split=7"}), {});
  EXPECT_EQ(split.model, whole.model);
  EXPECT_GT(split.rounds[0].bytes_up, whole.rounds[0].bytes_up);
}

TEST(Batches, ResumeRebuildsParticipationAndBatches) {
  const TemporaryFolder folder;
  const std::vector<std::string> settings = {"privacy.mechanism=two-point", "privacy.epsilon=0.1",
                                             "shuffle.mode=shuffler", "federation.k=9"};
  const RunResult whole = run(toy_recipe(settings), {});
  EXPECT_LT(whole.record->at("privacy")["rounds"], 6);  // nobody was picked every time
  RunOptions options;
  options.out = folder / "run";
  std::vector<std::string> part = settings;
  part.push_back("federation.rounds=3");
  run(toy_recipe(part), options);
  options.resume = true;
  EXPECT_EQ(run(toy_recipe(settings), options).record->at("privacy"), whole.record->at("privacy"));
}

}  // namespace
}  // namespace sotto
