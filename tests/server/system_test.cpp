// Runs that use what the seeds' systems need: payloads, schedules, moving ranges, groups of
// clients, kept state, delays. Each must survive a kill and end in the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/selection.h"
#include "server/combine.h"
#include "server/server_step.h"
#include "temporary_folder.h"
#include "toy_run.h"

namespace sotto {
namespace {

const std::vector<std::string> kTwoPoint = {"privacy.mechanism=two-point", "privacy.epsilon=2",
                                            "privacy.radius=12", "federation.fraction=1"};

std::vector<std::string> two_point(const std::vector<std::string>& more) {
  std::vector<std::string> settings = kTwoPoint;
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Stopped after three rounds and resumed: the same model as in one go.
void expect_resumes(const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "whole";
  const RunResult whole = run(toy_recipe(settings), options);
  options.out = folder / "halves";
  options.on_round = [](const RoundMetrics& metrics) {
    if (metrics.round == 3) throw std::runtime_error("killed");
  };
  EXPECT_THROW((void)run_recipe(toy_recipe(settings), options, make_toy), std::runtime_error);
  options.on_round = {};
  options.resume = true;
  const RunResult resumed = run(toy_recipe(settings), options);
  EXPECT_EQ(resumed.model, whole.model);
  ASSERT_EQ(resumed.claims.size(), whole.claims.size());
  for (std::size_t i = 0; i < whole.claims.size(); ++i) {
    EXPECT_EQ(resumed.claims[i].epsilon, whole.claims[i].epsilon) << scope_text(whole.claims[i]);
  }
}

TEST(System, WithoutNoiseDeltasGiveTheModelThatWeightsGive) {
  const RunResult weights = run(toy_recipe(), {});
  const RunResult delta = run(toy_recipe({"bound.payload=delta"}), {});
  ASSERT_EQ(weights.model.size(), delta.model.size());
  for (std::size_t i = 0; i < weights.model.size(); ++i) {
    ASSERT_NEAR(weights.model[i], delta.model[i], 1e-5);
  }
}

TEST(System, TheServersStepIsTheOneItSays) {
  Recipe recipe = toy_recipe({"server.lr=0.5", "server.momentum=0.9", "bound.payload=delta"});
  ServerStep delta(recipe);
  std::vector<float> model = {1.0F, 2.0F, 3.0F};
  const double first[] = {2.0, 4.0};
  delta.apply(1, 1, first, model);
  EXPECT_EQ(model, (std::vector<float>{1.0F, 3.0F, 5.0F}));
  delta.apply(2, 1, first, model);  // velocity 3.8 and 7.6
  EXPECT_NEAR(model[1], 4.9, 1e-6);
  EXPECT_NEAR(model[2], 8.8, 1e-6);

  recipe = toy_recipe({"bound.payload=gradient", "server.lr=2", "server.decay=cosine"});
  ServerStep gradient(recipe);
  model = {1.0F};
  const double slope[] = {1.0};
  gradient.apply(1, 0, slope, model);
  EXPECT_NEAR(model[0], -1.0, 1e-6);
  gradient.apply(4, 0, slope, model);  // half way of 6 rounds
  EXPECT_NEAR(model[0], -2.0, 1e-6);

  ServerStep weights(toy_recipe({"server.lr=0.25"}));
  model = {4.0F};
  const double mean[] = {8.0};
  weights.apply(1, 0, mean, model);
  EXPECT_NEAR(model[0], 5.0, 1e-6);
  const double huge[] = {1e300};
  weights.apply(1, 0, huge, model);
  EXPECT_TRUE(std::isfinite(model[0]));
}

TEST(System, AScheduleSendsOnlyItsLayers) {
  std::vector<std::uint64_t> bytes;
  RunOptions options;
  options.on_round = [&](const RoundMetrics& metrics) { bytes.push_back(metrics.bytes_up); };
  const RunResult result =
      run(toy_recipe(two_point({"schedule.mode=single", "federation.rounds=6"})), options);
  // mlp(3) has layers of 2,355 and 40 weights; the output layer goes first, a bit a weight.
  ASSERT_EQ(bytes.size(), 6U);
  EXPECT_LT(bytes[0], 40U * 100U);
  EXPECT_GT(bytes[3], 40U * 294U);
  // Three rounds of 40 weights and three of 2,355, of epsilon 2 each.
  const Claim* const sum = &*std::ranges::find_if(result.claims, [](const Claim& claim) {
    return scope_text(claim) == "client, whole training" && claim.delta == 0.0;
  });
  EXPECT_NEAR(sum->epsilon, 3.0 * 2.0 * (40.0 + 2355.0), 0.1);
}

TEST(System, ATotalIsSplitOverRoundsAndWeights) {
  const RunResult result =
      run(toy_recipe({"privacy.mechanism=two-point", "privacy.radius=12", "federation.fraction=1",
                      "schedule.total=100", "schedule.mode=proportional"}),
          {});
  const Claim* const sum = &*std::ranges::find_if(result.claims, [](const Claim& claim) {
    return scope_text(claim) == "client, whole training" && claim.delta == 0.0;
  });
  EXPECT_NEAR(sum->epsilon, 100.0, 0.01);
}

TEST(System, ResumesWithEverythingThatItKeeps) {
  expect_resumes(two_point({"server.momentum=0.5"}));
  expect_resumes(two_point({"bound.range=adaptive", "bound.margin=2"}));
  expect_resumes(two_point({"schedule.mode=single", "schedule.cycles=2"}));
  expect_resumes({"privacy.mechanism=two-point", "privacy.radius=12",
                  "privacy.client_budgets=[1,4]", "federation.fraction=1"});
  expect_resumes(two_point({"federation.selection=anonymous", "federation.fraction=0.4"}));
}

TEST(System, AdaptiveRangesFollowTheWeights) {
  // Weights end between 0 and 10: a range that started at 100 has come down.
  const RunResult fixed = run(toy_recipe(two_point({"privacy.radius=100"})), {});
  const RunResult adaptive =
      run(toy_recipe(two_point({"bound.range=adaptive", "privacy.radius=100"})), {});
  const auto noise = [](const RunResult& result) {
    double sum = 0.0;
    for (const float weight : result.model) sum += (weight - 4.5) * (weight - 4.5);
    return sum / static_cast<double>(result.model.size());
  };
  EXPECT_LT(noise(adaptive), 0.25 * noise(fixed));
}

TEST(System, RangesThatCannotFollowAreToldOfOnce) {
  // Groups of 2, 6, ..., 38 values fill a radius of 100; half of it cannot hold them.
  std::vector<std::string> notes;
  RunOptions options;
  options.on_note = [&](const std::string& note) { notes.push_back(note); };
  run(toy_recipe({"privacy.mechanism=srr", "privacy.epsilon=5", "privacy.radius=100",
                  "privacy.precision=0", "privacy.groups=10", "privacy.step=4",
                  "bound.range=adaptive"}),
      options);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("round 1: the ranges of 4 of 4 tensors stay"), std::string::npos)
      << notes[0];
}

TEST(System, GroupsAreWeightedByTheirNoise) {
  const RunResult result =
      run(toy_recipe({"privacy.mechanism=two-point", "privacy.radius=12",
                      "privacy.client_budgets=[0.5,6]", "federation.fraction=1"}),
          {});
  ASSERT_EQ(result.groups.size(), 2U);
  EXPECT_EQ(result.groups[0].clients, 20U);
  EXPECT_LT(client_claim(result.groups[0].claims)->epsilon,
            client_claim(result.groups[1].claims)->epsilon);
  EXPECT_EQ(client_claim(result.claims)->epsilon, client_claim(result.groups[1].claims)->epsilon);
}

TEST(System, WhoIsAcceptedFollowsTheCoins) {
  // 20,000 rounds of 10 clients with probability 0.3: as in selection_test.
  std::vector<int> counts(10);
  for (RoundId round = 0; round < 20000; ++round) {
    for (const std::uint32_t client : accept_clients(3, round, 10, 0.3)) ++counts[client];
  }
  for (const int count : counts) EXPECT_NEAR(count, 6000, 389);
  const RunResult result =
      run(toy_recipe(two_point({"federation.selection=anonymous", "federation.fraction=0.4"})), {});
  std::set<std::uint64_t> sizes;
  for (const RoundMetrics& metrics : result.rounds) sizes.insert(metrics.reports);
  EXPECT_GT(sizes.size(), 1U);
}

TEST(System, DelaysAreDrawnForEveryChunkAndChangeNothingElse) {
  const RunResult none = run(toy_recipe(two_point({})), {});
  const RunResult one =
      run(toy_recipe(two_point({"shuffle.mode=latency", "shuffle.latency=2.0"})), {});
  const RunResult many =
      run(toy_recipe(two_point({"shuffle.mode=latency", "shuffle.latency=2.0", "shuffle.split=1"})),
          {});
  EXPECT_EQ(none.model, one.model);
  EXPECT_EQ(none.model, many.model);
  EXPECT_EQ(none.rounds[0].delay_seconds, 0.0);
  // The longest of 40 draws from U(0, 2), and of 40 * 2,395.
  EXPECT_GT(one.rounds[0].delay_seconds, 1.5);
  EXPECT_LT(one.rounds[0].delay_seconds, many.rounds[0].delay_seconds);
  EXPECT_GT(many.rounds[0].delay_seconds, 1.999);
  EXPECT_LE(many.rounds[0].delay_seconds, 2.0);
}

}  // namespace
}  // namespace sotto
