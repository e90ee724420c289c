// The server's loop with a trainer of the test's own: no tensor library, every property of a run.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "server/checkpoint.h"
#include "temporary_folder.h"
#include "toy_run.h"

namespace sotto {
namespace {

TEST(Run, TheModelDoesNotDependOnTheNumberOfThreads) {
  RunOptions options;
  options.threads = 1;
  const RunResult one = run(toy_recipe(), options);
  for (const unsigned threads : {2U, 3U, 8U}) {
    options.threads = threads;
    const RunResult many = run(toy_recipe(), options);
    EXPECT_EQ(many.model, one.model) << threads;
    EXPECT_EQ(many.rounds.back().loss, one.rounds.back().loss);
  }
}

TEST(Run, SeedsMatter) {
  const RunOptions options;
  EXPECT_EQ(run(toy_recipe(), options).model, run(toy_recipe(), options).model);
  EXPECT_NE(run(toy_recipe({"federation.seed=2"}), options).model,
            run(toy_recipe(), options).model);
}

TEST(Run, SamplesByFractionAndByCount) {
  RunOptions options;
  std::mutex mutex;
  std::set<std::uint64_t> totals;
  options.on_client = [&](RoundId, std::uint64_t, std::uint64_t total) {
    const std::scoped_lock lock(mutex);
    totals.insert(total);
  };
  EXPECT_EQ(run(toy_recipe(), options).rounds[0].reports, 20U);
  EXPECT_EQ(run(toy_recipe({"federation.k=7"}), options).rounds[0].reports, 7U);
  EXPECT_EQ(run(toy_recipe({"federation.fraction=0.001"}), options).rounds[0].reports, 1U);
  EXPECT_EQ(totals, (std::set<std::uint64_t>{1, 7, 20}));
}

TEST(Run, ARunThatIsResumedHasNoFewerRounds) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "run";
  const RunResult six = run(toy_recipe(), options);
  options.resume = true;
  const auto four = run_recipe(toy_recipe({"federation.rounds=4"}), options, make_toy);
  ASSERT_FALSE(four);
  EXPECT_EQ(four.error().kind, ErrorKind::kUsage);
  EXPECT_NE(four.error().message.find("has done 6 rounds, and federation.rounds = 4"),
            std::string::npos)
      << four.error().message;
  EXPECT_EQ(run(toy_recipe(), options).model, six.model);
}

TEST(Run, ALostCheckpointDoesNotStartARunAnew) {
  const TemporaryFolder folder;
  for (const char* const left : {"all", "metrics.jsonl"}) {
    RunOptions options;
    options.out = folder / left;
    run(toy_recipe(), options);
    std::filesystem::remove(options.out / "checkpoint.sotto");
    if (std::string(left) != "all") {
      std::filesystem::remove(options.out / "model.pt");
      std::filesystem::remove(options.out / "certificate.json");
    }
    const auto before = *read_file(options.out / "metrics.jsonl");
    options.resume = true;
    const auto refused = run_recipe(toy_recipe(), options, make_toy);
    ASSERT_FALSE(refused) << left;
    EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
    EXPECT_NE(refused.error().message.find("checkpoint.sotto of this run is missing"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(*read_file(options.out / "metrics.jsonl"), before);
  }
}

/// A certificate says whose coins all its rounds were made with.
TEST(Run, RoundsOfOtherCoinsAreNotContinued) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "run";
  run(toy_recipe({"federation.rounds=3"}), options);
  options.resume = true;
  options.coins = Coins::kClients;
  const auto refused = run_recipe(toy_recipe(), options, make_toy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("other coins"), std::string::npos);
  options.coins = Coins::kSimulation;
  EXPECT_TRUE(run_recipe(toy_recipe(), options, make_toy));
}

TEST(Run, WritesWhatItPromises) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "run";
  const RunResult result = run(toy_recipe({"federation.evaluate_every=4"}), options);

  const auto record = nlohmann::json::parse(*read_text(options.out / "run.json"));
  EXPECT_EQ(record["status"], "finished");
  EXPECT_EQ(record["stopped"], "rounds");
  EXPECT_EQ(record["final"]["round"], 6);
  EXPECT_EQ(record["data"]["clients"], 40);
  EXPECT_EQ(record["recipe"]["train"]["lr"], 0.3);
  EXPECT_TRUE(record["privacy"]["claims"][0]["epsilon"].is_null());
  EXPECT_EQ(record["privacy"]["claims"][0]["vacuous"], true);

  std::ifstream metrics(options.out / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(metrics, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_TRUE(lines[0]["accuracy"].is_null());
  EXPECT_TRUE(lines[3]["accuracy"].is_number());
  EXPECT_TRUE(lines[5]["accuracy"].is_number());  // the last round always is
  // 2,355 weights of mlp(3), 6 bytes each, and a header, from 20 clients.
  EXPECT_EQ(lines[0]["bytes_up"], 20 * (6 * result.model.size() + 26 + 24));
  EXPECT_TRUE(std::filesystem::exists(options.out / "model.pt"));
}

TEST(Run, AWeightsEpsilonDoesNotPassForAClients) {
  const std::vector<std::string> settings = {"privacy.mechanism=two-point", "privacy.epsilon=0.01",
                                             "privacy.radius=2", "federation.fraction=1"};
  const RunResult result = run(toy_recipe(settings), {});
  const auto& privacy = result.record->at("privacy");
  EXPECT_EQ(privacy["mechanism"], "two-point");
  EXPECT_EQ(privacy["planned"], false);
  EXPECT_EQ(privacy["rounds"], 6);
  const auto& claims = privacy["claims"];
  ASSERT_GE(claims.size(), 5U);
  const auto weights = static_cast<double>(result.model.size());
  const double one = claims[0]["epsilon"];
  EXPECT_EQ(claims[0]["scope"], "one weight, one round");
  EXPECT_LE(one, 0.01);
  EXPECT_NEAR(one, 0.01, 1e-12);
  EXPECT_EQ(claims[0]["vacuous"], false);
  EXPECT_EQ(claims[1]["scope"], "client, one round");
  EXPECT_GE(claims[1]["epsilon"].get<double>(), one * weights);
  EXPECT_NEAR(claims[1]["epsilon"], 0.01 * weights, 1e-9);
  EXPECT_EQ(claims[1]["vacuous"], false);
  EXPECT_EQ(claims[2]["scope"], "client, one round");
  EXPECT_LT(claims[2]["epsilon"], claims[1]["epsilon"]);
  EXPECT_EQ(claims[2]["delta"], 1e-6);
  EXPECT_EQ(claims[3]["scope"], "client, whole training");
  EXPECT_NEAR(claims[3]["epsilon"], 0.06 * weights, 1e-9);
  EXPECT_EQ(claims[3]["vacuous"], true);
  EXPECT_EQ(claims[4]["scope"], "client, whole training");
  EXPECT_LT(claims[4]["epsilon"], claims[3]["epsilon"]);
}

TEST(Run, GoesOnAfterAStopAtAnyRoundAndEndsInTheSameBits) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "whole";
  const RunResult whole = run(toy_recipe(), options);
  for (int stop = 1; stop < 6; ++stop) {
    options.out = folder / ("part" + std::to_string(stop));
    options.resume = false;
    run(toy_recipe({"federation.rounds=" + std::to_string(stop)}), options);
    options.resume = true;
    const RunResult resumed = run(toy_recipe(), options);
    EXPECT_EQ(resumed.model, whole.model) << stop;
    EXPECT_EQ(resumed.rounds.size(), 6U);
    EXPECT_EQ(*read_file(options.out / "model.pt"), *read_file(folder / "whole" / "model.pt"));
  }
}

TEST(Run, ALineBeyondTheLastCheckpointIsTakenBack) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "run";
  run(toy_recipe({"federation.rounds=3"}), options);
  std::ofstream(options.out / "metrics.jsonl", std::ios::app) << "{\"round\":4,\"accu";
  options.resume = true;
  run(toy_recipe(), options);
  std::ifstream metrics(options.out / "metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    EXPECT_EQ(nlohmann::json::parse(line)["round"], lines + 1);
  }
  EXPECT_EQ(lines, 6);
}

TEST(Run, RefusesToMixRuns) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "run";
  options.resume = true;
  EXPECT_FALSE(run_recipe(toy_recipe(), options, make_toy));  // nothing to resume
  options.resume = false;
  run(toy_recipe(), options);
  const auto before = *read_file(options.out / "model.pt");

  const auto again = run_recipe(toy_recipe(), options, make_toy);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("--resume"), std::string::npos);

  options.resume = true;
  const auto other = run_recipe(toy_recipe({"train.lr=0.2"}), options, make_toy);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("recipe that differs"), std::string::npos);
  const auto wider = run_recipe(toy_recipe({"model.name=mlp(4)"}), options, make_toy);
  EXPECT_FALSE(wider);

  std::ofstream(options.out / "checkpoint.sotto", std::ios::app) << "x";
  const auto damaged = run_recipe(toy_recipe(), options, make_toy);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("SHA-256"), std::string::npos);
  EXPECT_EQ(*read_file(options.out / "model.pt"), before);

  options.resume = false;
  options.replace = true;
  EXPECT_FALSE(run_recipe(toy_recipe({"model.name=no-such"}), options, make_toy));
  EXPECT_EQ(*read_file(options.out / "model.pt"), before);  // a mistake destroys nothing
  EXPECT_TRUE(run_recipe(toy_recipe({"train.lr=0.2"}), options, make_toy));
  EXPECT_NE(*read_file(options.out / "model.pt"), before);
}

TEST(Run, StopsWhenTheTestSetNoLongerImproves) {
  // Labels are 0 to 9, so the first weight settles near 5 and then only jitters.
  const RunResult result =
      run(toy_recipe({"federation.rounds=500", "federation.patience=4"}), RunOptions{});
  EXPECT_EQ(result.stopped, "patience");
  EXPECT_LT(result.rounds.size(), 200U);
  EXPECT_EQ(result.rounds.back().round, result.best()->round + 4);
}

TEST(Run, AnUnwritableFolderIsAnErrorBeforeAnyTraining) {
  RunOptions options;
  options.out = "/dev/null/run";
  int rounds = 0;
  options.on_round = [&](const RoundMetrics&) { ++rounds; };
  EXPECT_FALSE(run_recipe(toy_recipe(), options, make_toy));
  EXPECT_EQ(rounds, 0);
}

}  // namespace
}  // namespace sotto
