// The seeds' baselines inside a run: secure aggregation changes no bit of the model, vanished
// clients are missing and nothing else, learning alone shares nothing, and DP-SGD's claims are
// those of its accountant.
#include "plan/baselines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "server/toy_run.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

using Settings = std::vector<std::string>;

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::string error_of(const Settings& settings) {
  const auto recipe = parse_recipe("[data]\nname = \"embedded\"\n[model]\nname = \"mlp(3)\"\n",
                                   "toy.toml", settings);
  if (recipe) {
    const auto result = run_recipe(*recipe, {}, make_toy);
    return result ? "none" : result.error().message;
  }
  return recipe.error().message;
}

void expect_error(const Settings& settings, const std::string& part) {
  const std::string error = error_of(settings);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

const Claim* find(const std::vector<Claim>& claims, const std::string& scope) {
  for (const Claim& claim : claims) {
    if (scope_text(claim) == scope) return &claim;
  }
  return nullptr;
}

TEST(Baselines, KeysThatContradictEachOtherAreRefused) {
  expect_error({"train.noise=1"}, "train.noise: noise is measured in clips");
  expect_error({"train.clip=1", "bound.payload=gradient"}, "train.clip: DP-SGD trains");
  expect_error({"aggregate.dropout=0.1"}, "aggregate.dropout: belongs to secure aggregation");
  expect_error({"aggregate.threshold=0.5"}, "aggregate.threshold: belongs to");
  expect_error({"aggregate.secure=true", "aggregate.honest=3"}, "divides the noise of DP-SGD");
  expect_error({"aggregate.secure=true", "shuffle.mode=shuffler"}, "nothing to shuffle");
  expect_error({"federation.mode=local", "federation.k=3"}, "nobody is picked");
  expect_error({"federation.mode=local", "privacy.mechanism=two-point", "privacy.epsilon=1"},
               "sends nothing that privacy.mechanism");
  expect_error({"federation.mode=local", "ledger.rounds=3"}, "spends nothing");
  expect_error({"federation.mode=alone"}, "one of \"federated\" \"local\"");
  expect_error({"aggregate.threshold=0"}, "(0, 1]");
}

// A trainer that ignores clip and noise must not be credited with them.
TEST(Baselines, ATrainerThatDoesNotClipIsRefused) {
  expect_error({"train.clip=1", "train.noise=1"}, "does not clip the gradients of single samples");
}

#ifdef SOTTO_WITH_SECURE

const Settings kSecure = {"aggregate.secure=true"};

TEST(SecureRun, TheModelIsThePlainOneBitForBit) {
  for (const Settings& settings :
       {Settings{}, Settings{"privacy.mechanism=srr", "privacy.epsilon=3"},
        Settings{"privacy.mechanism=gaussian", "privacy.epsilon=3", "privacy.delta=1e-4",
                 "privacy.norm=5"}}) {
    const RunResult plain = run(toy_recipe(settings), {});
    const RunResult secure = run(toy_recipe(with(settings, kSecure)), {});
    EXPECT_EQ(secure.model, plain.model);
    EXPECT_EQ(secure.rounds[0].reports, plain.rounds[0].reports);
    EXPECT_GT(secure.rounds[0].bytes_up, plain.rounds[0].bytes_up);
  }
}

TEST(SecureRun, VanishedClientsAreMissingAndNothingElse) {
  const Recipe recipe = toy_recipe(with(kSecure, {"aggregate.dropout=0.2"}));
  RunOptions options;
  options.threads = 1;
  const RunResult one = run(recipe, options);
  std::uint64_t missing = 0;
  for (const RoundMetrics& metrics : one.rounds) {
    EXPECT_LE(metrics.reports, 20U);
    EXPECT_EQ(metrics.released, metrics.reports >= 14 ? metrics.reports : 0);
    missing += 20 - metrics.reports;
  }
  EXPECT_GT(missing, 5U);  // 24 on average
  EXPECT_LT(missing, 60U);
  options.threads = 3;
  EXPECT_EQ(run(recipe, options).model, one.model);
}

TEST(SecureRun, BelowTheThresholdNothingIsReleased) {
  std::vector<std::string> notes;
  RunOptions options;
  options.on_note = [&](const std::string& note) { notes.push_back(note); };
  const RunResult result =
      run(toy_recipe(with(kSecure, {"aggregate.dropout=0.9", "aggregate.threshold=1"})), options);
  EXPECT_EQ(result.model, std::vector<float>(result.model.size(), 0.0F));  // as it began
  for (const RoundMetrics& metrics : result.rounds) EXPECT_EQ(metrics.released, 0U);
  ASSERT_EQ(notes.size(), 6U);
  EXPECT_NE(
      notes[0].find("fewer than the threshold of secure aggregation, 20; nothing is released"),
      std::string::npos)
      << notes[0];
}

TEST(SecureRun, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const Settings settings = with(kSecure, {"aggregate.dropout=0.15", "federation.rounds=5"});
  RunOptions options;
  options.out = folder / "whole";
  const RunResult whole = run(toy_recipe(settings), options);
  options.out = folder / "parts";
  run(toy_recipe(with(settings, {"federation.rounds=2"})), options);
  options.resume = true;
  const RunResult parts = run(toy_recipe(settings), options);
  EXPECT_EQ(parts.model, whole.model);
  ASSERT_EQ(parts.rounds.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(parts.rounds[i].reports, whole.rounds[i].reports);
  }
}

TEST(SecureRun, ClaimsSayWhatTheServerSeesAndKeepTheMechanisms) {
  const Settings settings = {"privacy.mechanism=two-point", "privacy.epsilon=0.01"};
  const RunResult plain = run(toy_recipe(settings), {});
  const RunResult secure = run(toy_recipe(with(settings, kSecure)), {});
  ASSERT_EQ(secure.claims.size(), plain.claims.size() + 1);
  for (std::size_t i = 0; i < plain.claims.size(); ++i) {
    EXPECT_EQ(secure.claims[i].epsilon, plain.claims[i].epsilon);
  }
  EXPECT_EQ(scope_text(secure.claims.back()), "secure aggregation, one round");
  EXPECT_TRUE(std::isinf(secure.claims.back().epsilon));
  EXPECT_NE(secure.claims.back().assumption.find("66 % of its clients"), std::string::npos);
}

TEST(SecureRun, RoundsThatCouldNeverBeUnmaskedAreRefused) {
  expect_error(with(kSecure, {"federation.k=1"}), "2 at least");
}

#endif

TEST(LocalLearning, EveryClientHasAModelOfItsOwn) {
  const Recipe recipe = toy_recipe({"federation.mode=local", "federation.fraction=1"});
  RunOptions options;
  const RunResult result = run(recipe, options);
  ASSERT_EQ(result.rounds.size(), 6U);
  const RoundMetrics& last = result.rounds.back();
  EXPECT_EQ(last.clients, 40U);
  EXPECT_EQ(last.reports, 0U);
  EXPECT_EQ(last.bytes_up, 0U);
  ASSERT_TRUE(last.accuracy && last.lowest_accuracy && last.highest_accuracy);
  EXPECT_LT(*last.lowest_accuracy, *last.accuracy);
  EXPECT_GT(*last.highest_accuracy, *last.accuracy);
  EXPECT_TRUE(result.model.empty());
  ASSERT_EQ(result.claims.size(), 1U);
  EXPECT_EQ(result.claims[0].epsilon, 0.0);
  EXPECT_EQ(client_claim(result.claims), result.claims.data());
  options.threads = 3;
  EXPECT_EQ(run(recipe, options).rounds.back().accuracy, last.accuracy);
}

TEST(LocalLearning, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const Settings settings = {"federation.mode=local", "federation.fraction=1"};
  RunOptions options;
  const RunResult whole = run(toy_recipe(settings), options);
  options.out = folder / "parts";
  run(toy_recipe(with(settings, {"federation.rounds=2"})), options);
  EXPECT_FALSE(std::filesystem::exists(options.out / "model.pt"));
  EXPECT_FALSE(std::filesystem::exists(options.out / "certificate.json"));
  options.resume = true;
  const RunResult parts = run(toy_recipe(settings), options);
  ASSERT_EQ(parts.rounds.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(parts.rounds[i].accuracy, whole.rounds[i].accuracy);
    EXPECT_EQ(parts.rounds[i].loss, whole.rounds[i].loss);
    EXPECT_EQ(parts.rounds[i].lowest_accuracy, whole.rounds[i].lowest_accuracy);
  }
  // Not a checkpoint of a federated run, which holds one model.
  const auto other = run_recipe(toy_recipe(), options, make_toy);
  EXPECT_FALSE(other);
}

std::vector<Claim> planned(const Settings& settings) {
  const auto plan = plan_privacy(toy_recipe(settings), {}, {});
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? plan->groups.front().claims : std::vector<Claim>();
}

const Settings kPrivate = {"train.clip=1", "train.noise=4", "train.batch_size=10",
                           "account.delta=1e-5", "federation.rounds=3"};

TEST(RecordClaims, AreTheAccountantsForTheWorstClient) {
  const std::vector<Claim> claims = planned(kPrivate);
  const Claim* const record = find(claims, "one record, whole training");
  ASSERT_NE(record, nullptr);
  // The embedded set over 40 clients: the smallest client has the largest sampling rate.
  const std::size_t train = find_known_set("embedded")->train_size;
  TrainOptions options;
  options.batch_size = 10;
  const Lots lots = lots_of(options, train / 40);
  const Claim exact = dpsgd_claim(4.0, lots.sampling(), 3 * lots.steps, 1e-5);
  EXPECT_GE(record->epsilon, exact.epsilon);
  EXPECT_LT(record->epsilon, exact.epsilon * 1.05);
  EXPECT_EQ(record->delta, 1e-5);
  // A client with all its records is promised nothing.
  EXPECT_TRUE(std::isinf(client_claim(claims)->epsilon));
  // Twice the rounds cost more, more noise less.
  EXPECT_GT(find(planned(with(kPrivate, {"federation.rounds=6"})), std::string(scope_text(*record)))
                ->epsilon,
            record->epsilon);
  EXPECT_LT(
      find(planned(with(kPrivate, {"train.noise=8"})), std::string(scope_text(*record)))->epsilon,
      record->epsilon);
}

TEST(RecordClaims, ClippingAloneProtectsNothing) {
  const std::vector<Claim> claims = planned({"train.clip=1"});
  EXPECT_TRUE(std::isinf(find(claims, "one record, whole training")->epsilon));
}

TEST(RecordClaims, HybridIsOursForOneStepAndItsAuthorsForMore) {
  const Settings hybrid = with(kPrivate, {"aggregate.secure=true", "aggregate.honest=9"});
  const std::string published = "as published, one record, the server's view";
  const std::string proven = "one record, whole training, the server's view";
  const std::vector<Claim> many = planned(hybrid);
  ASSERT_NE(find(many, published), nullptr);
  EXPECT_EQ(find(many, proven), nullptr);
  EXPECT_EQ(find(many, published)->authors, "Truex et al. 2019");
  const std::vector<Claim> one = planned(with(hybrid, {"train.batch_size=1000"}));
  ASSERT_NE(find(one, proven), nullptr);
  EXPECT_EQ(find(one, published), nullptr);
  // The sum has the whole noise, a single report a third of it.
  const double sum = find(one, proven)->epsilon;
  EXPECT_DOUBLE_EQ(sum, dpsgd_claim(4.0, 1.0, 3, 1e-5).epsilon);
  EXPECT_GT(find(one, "one record, whole training")->epsilon, 2.0 * sum);
  // Momentum carries a client's own noise on: no longer one plain step.
  const std::vector<Claim> moving =
      planned(with(hybrid, {"train.batch_size=1000", "train.momentum=0.5"}));
  EXPECT_EQ(find(moving, proven), nullptr);
}

TEST(RecordClaims, HybridSharesTheNoise) {
  TrainOptions options;
  set_private(toy_recipe(with(kPrivate, {"aggregate.secure=true", "aggregate.honest=9"})), options);
  EXPECT_DOUBLE_EQ(options.noise, 4.0 / 3.0);
  EXPECT_FALSE(options.rounds_noise);
  set_private(toy_recipe(kPrivate), options = TrainOptions());
  EXPECT_DOUBLE_EQ(options.noise, 4.0);
  EXPECT_TRUE(options.rounds_noise);
}

TEST(RecordClaims, BatchNormIsRefusedWithTheLayersName) {
  const auto plan = plan_privacy(toy_recipe(with(kPrivate, {"model.name=ldp-fed"})), {}, {});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("layer 1 "), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace sotto
