// The server's loop with a trainer of the test's own: no tensor library, every property of a run.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "federation/checkpoint.h"
#include "sotto/federation.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

/// "Trains" by moving each weight towards a number that depends on the client's data and bits.
class ToyTrainer final : public Trainer {
 public:
  explicit ToyTrainer(const Layout& layout) : layout_(layout), weights_(layout.size()) {}
  const Layout& layout() const noexcept override { return layout_; }
  Result<void> load(std::span<const float> weights) override {
    weights_.assign(weights.begin(), weights.end());
    return {};
  }
  Result<void> store(std::span<float> weights) const override {
    std::copy(weights_.begin(), weights_.end(), weights.begin());
    return {};
  }
  Result<void> train(const Dataset& data, std::span<const std::uint32_t> indices,
                     const Preprocess& /*preprocess*/, const TrainOptions& options,
                     BitSource bits) override {
    for (float& weight : weights_) {
      const auto label = data.labels[indices[bits.below(indices.size())]];
      const double goal = label + bits.unit();
      weight += static_cast<float>(options.learning_rate * (goal - weight));
    }
    return {};
  }
  /// Accuracy follows the first weight, so that tests can steer it.
  Result<EvaluationSums> evaluate(const Dataset& /*data*/, std::span<const std::uint32_t> indices,
                                  const Preprocess& /*preprocess*/) override {
    EvaluationSums sums;
    sums.samples = indices.size();
    const double share = std::clamp(static_cast<double>(weights_[0]) / 10.0, 0.0, 1.0);
    sums.correct = static_cast<std::uint64_t>(share * static_cast<double>(indices.size()));
    sums.loss = 1.0 / 3.0 * static_cast<double>(indices.size());
    return sums;
  }

 private:
  Layout layout_;
  std::vector<float> weights_;
};

class ToyFactory final : public TrainerFactory {
 public:
  explicit ToyFactory(Layout layout) : layout_(std::move(layout)) {}
  Result<std::unique_ptr<Trainer>> make() const override {
    return std::make_unique<ToyTrainer>(layout_);
  }
  const Layout& layout() const noexcept override { return layout_; }
  std::vector<float> initial_weights(std::uint64_t /*seed*/) const override {
    return std::vector<float>(layout_.size(), 0.0F);
  }
  unsigned parallelism() const noexcept override { return 64; }
  Result<void> save(std::span<const float> weights,
                    const std::filesystem::path& path) const override {
    return write_file_atomically(path, std::as_bytes(weights));
  }
  std::string device() const override { return "cpu"; }
  std::string version() const override { return "toy"; }

 private:
  Layout layout_;
};

Result<std::shared_ptr<const TrainerFactory>> make_toy(const TrainerRequest& request) {
  return std::make_shared<const ToyFactory>(request.network.layout());
}

Recipe toy_recipe(const std::vector<std::string>& settings = {}) {
  constexpr const char* kText =
      "[data]\nname = \"embedded\"\n[model]\nname = \"mlp(3)\"\n[train]\nlr = 0.3\n"
      "[federation]\nclients = 40\nfraction = 0.5\nrounds = 6\n";
  auto recipe = parse_recipe(kText, "toy.toml", settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return *recipe;
}

RunResult run(const Recipe& recipe, const RunOptions& options) {
  auto result = run_recipe(recipe, options, make_toy);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : RunResult{};
}

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
  const auto& claims = privacy["claims"];
  ASSERT_EQ(claims.size(), 3U);
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
  EXPECT_EQ(claims[2]["scope"], "client, whole training");
  EXPECT_NEAR(claims[2]["epsilon"], 0.06 * weights, 1e-9);
  EXPECT_EQ(claims[2]["vacuous"], true);
  for (const auto& claim : claims) EXPECT_EQ(claim["source"], "sotto");
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
