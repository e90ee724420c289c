// Features that are centred on what clients report in the first rounds, or on public data: that the
// statistic is bounded, that the released one is the true one where nothing randomizes it, that
// features change as promised for clients and evaluation alike, and what it costs.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.h"
#include "client/client.h"
#include "plan/feature_statistics.h"
#include "plan/planner.h"
#include "plan/round_plan.h"
#include "server/server_step.h"
#include "sotto/features.h"
#include "sotto/native.h"
#include "temporary_folder.h"
#include "train/changed_features.h"

namespace sotto {
namespace {

Result<Recipe> parse(const std::vector<std::string>& settings) {
  constexpr const char* kText =
      "[data]\nname = \"embedded\"\npartition = \"iid\"\nfeatures = \"gabor\"\n"
      "[model]\nname = \"linear\"\n[federation]\nclients = 120\nrounds = 4\n"
      "[bound]\npayload = \"gradient\"\nnormalize = true\n[server]\nlr = 4\n"
      "[privacy]\nmechanism = \"privunit\"\nepsilon = 4\n"
      "[statistics]\nmean = \"private\"\n[shuffle]\nmode = \"shuffler\"\n[ledger]\nkeep = false\n";
  return parse_recipe(kText, "r.toml", settings);
}

Recipe recipe_of(const std::vector<std::string>& settings = {}) {
  auto recipe = parse(settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return recipe ? *recipe : Recipe{};
}

std::string error_of(const std::vector<std::string>& settings) {
  const auto recipe = parse(settings);
  EXPECT_FALSE(recipe);
  return recipe ? "" : recipe.error().message;
}

/// 120 samples of the embedded set to train on and 60 to test on.
std::shared_ptr<const DataSplit> small_set() {
  static const auto kSplit = [] {
    const DataSplit all = make_embedded(0, 2);
    std::vector<std::uint32_t> some(120);
    std::iota(some.begin(), some.end(), 0U);
    DataSplit split{all.name, select(all.train, some), {}};
    split.test = select(all.test, std::span(some).first(60));
    return std::make_shared<const DataSplit>(std::move(split));
  }();
  return kSplit;
}

RunOptions small_run(unsigned threads = 2) {
  RunOptions options;
  options.data = small_set();
  options.threads = threads;
  return options;
}

Result<std::shared_ptr<const TrainerFactory>> native(const TrainerRequest& request) {
  return make_native_factory(request, {});
}

RunResult run(const Recipe& recipe, const RunOptions& options) {
  auto result = run_recipe(recipe, options, native);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : RunResult{};
}

/// Of the small set's train part: a row for each sample.
std::vector<std::vector<double>> true_features() {
  DataSplit split = *small_set();
  EXPECT_TRUE(apply_features("gabor", split, 2));
  const auto& values = std::get<std::vector<float>>(split.train.values);
  const std::size_t size = split.train.shape.size();
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < values.size(); i += size) {
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i),
                      values.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
  return rows;
}

std::vector<double> mean_of(const std::vector<std::vector<double>>& rows) {
  std::vector<double> mean(rows.front().size(), 0.0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += row[i] / static_cast<double>(rows.size());
    }
  }
  return mean;
}

constexpr std::size_t kFeatures = 833;
constexpr std::size_t kWeights = 10 * kFeatures + 10;

TEST(Statistics, TheReleasedMeanIsTheTrueOneWhereNothingRandomizesIt) {
  const RunResult result = run(recipe_of({"statistics.mechanism=none"}), small_run());
  ASSERT_EQ(result.model.size(), kWeights + 2 * kFeatures);
  const auto rows = true_features();
  const std::vector<double> mean = mean_of(rows);
  const float scale = result.model.back();
  double square = 0.0;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kFeatures; ++i) {
      square += std::pow(row[i] - mean[i], 2) / static_cast<double>(rows.size());
    }
  }
  for (std::size_t i = 0; i < kFeatures; ++i) {
    ASSERT_NEAR(result.model[kWeights + i], mean[i], 1e-6) << i;
    ASSERT_EQ(result.model[kWeights + kFeatures + i], scale);
  }
  // The mean square norm is again what it was before: 64.
  EXPECT_NEAR(static_cast<double>(scale) * std::sqrt(square), kFeatureNorm, 1e-4);
  EXPECT_GT(scale, 1.1F);
}

TEST(Statistics, SeveralRoundsGiveOneMean) {
  const RunResult once = run(recipe_of({"statistics.mechanism=none"}), small_run());
  const RunResult thrice =
      run(recipe_of({"statistics.mechanism=none", "statistics.rounds=3"}), small_run());
  for (std::size_t i = 0; i < kFeatures; ++i) {
    ASSERT_NEAR(once.model[kWeights + i], thrice.model[kWeights + i], 1e-6);
  }
  // With noise, more rounds bring the mean closer to the truth.
  const std::vector<double> mean = mean_of(true_features());
  const auto distance = [&](const RunResult& result) {
    double square = 0.0;
    for (std::size_t i = 0; i < kFeatures; ++i) {
      square += std::pow(result.model[kWeights + i] - mean[i], 2);
    }
    return square;
  };
  const double one = distance(run(recipe_of({"statistics.epsilon=30"}), small_run()));
  const double three =
      distance(run(recipe_of({"statistics.epsilon=30", "statistics.rounds=3"}), small_run()));
  EXPECT_LT(three, 0.5 * one);
  EXPECT_GT(three, 0.2 * one);
}

/// Weights stay where they were in the rounds that report statistics.
TEST(Statistics, RoundsOfStatisticsMoveNoWeight) {
  const Recipe recipe = recipe_of({"statistics.rounds=2", "federation.rounds=3"});
  struct Models final : RunObserver {
    std::vector<std::vector<float>> seen;
    std::vector<std::size_t> sizes;
    void on_plan(const RoundPlan& plan, std::span<const float> model) override {
      seen.emplace_back(model.begin(), model.end());
      sizes.push_back(plan.groups.front().parts.front().mechanism->outputs());
    }
  };
  const auto models = std::make_shared<Models>();
  RunOptions options = small_run();
  options.observer = models;
  const RunResult result = run(recipe, options);
  ASSERT_EQ(models->seen.size(), 3U);
  EXPECT_EQ(models->sizes, (std::vector<std::size_t>{kFeatures, kFeatures, kWeights}));
  const auto weights = [](const std::vector<float>& model) {
    return std::vector<float>(model.begin(), model.begin() + kWeights);
  };
  EXPECT_EQ(weights(models->seen[0]), weights(models->seen[2]));
  EXPECT_NE(weights(result.model), weights(models->seen[2]));
  // And the rounds that move weights leave the statistics.
  EXPECT_TRUE(std::equal(result.model.begin() + kWeights, result.model.end(),
                         models->seen[2].begin() + kWeights));
}

/// A cosine runs over the rounds that move weights.
TEST(Statistics, TheLearningRateFallsFromTheFirstGradientOn) {
  const Recipe recipe =
      recipe_of({"statistics.rounds=2", "federation.rounds=4", "server.decay=cosine"});
  ServerStep server(recipe);
  const std::vector<double> gradient = {1.0};
  std::vector<float> model = {0.0F};
  server.apply(3, 0, gradient, model);
  EXPECT_EQ(model[0], -4.0F);
  server.apply(4, 0, gradient, model);
  EXPECT_NEAR(model[0], -6.0F, 1e-6);
}

/// The scale is that of features of norm 8 around their mean, of which the given one is a noisy
/// copy.
TEST(Statistics, TheScaleAccountsForNoiseInTheMean) {
  Layout network;
  network.add("1.weight", {2, 50}, TensorRole::kParameter);
  network.add("1.bias", {2}, TensorRole::kParameter);
  const Layout layout = add_feature_tensors(recipe_of(), network, 50);
  std::vector<float> model(layout.size(), 0.0F);
  // Features (7, +-sqrt(15), 0, ...); the mean is off by (0, 0, 3, 0, ...).
  std::vector<double> mean(50, 0.0);
  mean[0] = 7.0;
  mean[2] = 3.0;
  set_feature_mean(layout, mean, 9.0, model);
  EXPECT_EQ(model[102], 7.0F);
  EXPECT_NEAR(model[152], 8.0 / std::sqrt(15.0 + 9.0), 1e-6);
  EXPECT_EQ(model.back(), model[152]);
  // However large what was released is, features are stretched by 4 at most, and stay finite.
  mean.assign(50, std::numeric_limits<double>::infinity());
  set_feature_mean(layout, mean, 0.0, model);
  EXPECT_EQ(model[102], 8.0F);
  EXPECT_EQ(model.back(), 4.0F);
}

/// What a client hands to the mechanism in a round of statistics.
struct Seen final : RunObserver {
  std::vector<float> values;
  void on_report(const RoundPlan& /*plan*/, std::uint32_t /*client*/, const Part& /*part*/,
                 std::span<const float> bounded, const Report& /*report*/) override {
    values.assign(bounded.begin(), bounded.end());
  }
};

std::vector<float> reported(const Dataset& data, std::span<const std::uint32_t> samples,
                            std::span<const float> change, bool gradient) {
  TrainerRequest request;
  request.network = *find_network("linear", data.shape, 3);
  request.input = data.shape;
  request.classes = 3;
  request.gradients = true;
  const Recipe recipe = recipe_of();
  const auto below = *make_native_factory(request, {});
  const auto factory =
      change_features(below, add_feature_tensors(recipe, below->layout(), data.shape.size()));
  const auto layout = std::make_shared<const Layout>(factory->layout());
  const Planner planner = Planner::make(recipe, *layout, {}, 1.0).value();
  const RoundId round = gradient ? 2 : 1;
  const auto trainer = *factory->make();
  ClientSettings settings;
  settings.data = &data;
  Client client(settings, layout, *trainer);
  Seen seen;
  client.observer = &seen;
  const RoundPlan plan = recipe_plan(recipe, round);
  ClientGroup group{{0}, planner.parts(round, 0).value()};
  ClientTask task;
  task.samples = samples;
  task.bits = [](std::string_view purpose) { return BitSource::from_seed(2, purpose); };
  std::vector<float> model = factory->initial_weights(3);
  std::ranges::copy(change, model.end() - static_cast<std::ptrdiff_t>(change.size()));
  const auto sent = client.run(plan, group, model, std::move(task),
                               [](const Envelope&) -> Result<void> { return {}; });
  EXPECT_TRUE(sent) << sent.error().message;
  return seen.values;
}

Dataset four_features() {
  Dataset data;
  data.shape = {1, 1, 4};
  data.classes = 3;
  data.views = 2;  // of two samples
  data.labels = {0, 2};
  data.values = std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0, 30, 40, 0, 0};
  return data;
}

double norm_of(std::span<const float> values) {
  double square = 0.0;
  for (const float value : values) square += static_cast<double>(value) * value;
  return std::sqrt(square);
}

TEST(Statistics, AClientReportsTheMeanOfItsSamplesAndViewsInABall) {
  const Dataset data = four_features();
  const std::uint32_t first = 0;
  const std::uint32_t second = 1;
  const std::vector<float> no_change;
  // 3 4 5 6 is longer than the ball and becomes a vector of norm 8 of the same direction.
  const std::vector<float> sent = reported(data, std::span(&first, 1), no_change, false);
  ASSERT_EQ(sent.size(), 4U);
  EXPECT_LE(norm_of(sent), kFeatureNorm);
  EXPECT_NEAR(norm_of(sent), kFeatureNorm, 1e-4);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(sent[i] / sent[0], (3.0 + static_cast<double>(i)) / 3.0, 1e-5);
  EXPECT_LE(norm_of(reported(data, std::span(&second, 1), no_change, false)), kFeatureNorm);
  // A short one keeps its length: nothing is stretched here, whatever bound.normalize says.
  Dataset small = data;
  small.values = std::vector<float>{1, 2, 0, 0, 3, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
  EXPECT_EQ(reported(small, std::span(&first, 1), no_change, false),
            (std::vector<float>{2, 1, 0, 0.5F}));
}

/// Whatever a server sends in place of the statistics: what is randomized lies in the same domain
/// and passes the same mechanism, so a client's guarantee is the same.
TEST(Statistics, NoStatisticsOfAServerLeaveTheDomain) {
  const Dataset data = four_features();
  const std::uint32_t sample = 0;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> changes = {
      {0, 0, 0, 0, 1, 1, 1, 1},          {3, 4, 5, 6, 1e30F, 1e30F, 1, 1},
      {kNan, kInf, 0, 0, kInf, 1, 1, 1}, {1e38F, -1e38F, 0, 0, 1e38F, 1e38F, 1, 1},
      {1, 2, 3, 4, 0, 0, 0, 0},          {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}};
  const std::vector<float> honest = reported(data, std::span(&sample, 1), changes[0], false);
  std::vector<std::vector<float>> gradients;
  for (const std::vector<float>& change : changes) {
    // The statistic itself does not depend on what was sent.
    EXPECT_EQ(reported(data, std::span(&sample, 1), change, false), honest);
    gradients.push_back(reported(data, std::span(&sample, 1), change, true));
    ASSERT_EQ(gradients.back().size(), 15U);
    EXPECT_LE(norm_of(gradients.back()), 1.0);
    for (const float value : gradients.back()) EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_NE(gradients[0], gradients[4]);
}

TEST(Statistics, GradientsAndEvaluationSeeChangedFeatures) {
  const DataSplit all = [] {
    DataSplit split = *small_set();
    EXPECT_TRUE(apply_features("gabor", split, 2));
    return split;
  }();
  TrainerRequest request;
  request.network = *find_network("linear", all.train.shape, all.train.classes);
  request.input = all.train.shape;
  request.classes = all.train.classes;
  request.gradients = true;
  const auto below = *make_native_factory(request, {});
  const auto factory =
      change_features(below, add_feature_tensors(recipe_of(), below->layout(), kFeatures));
  std::vector<float> model = factory->initial_weights(7);
  ASSERT_EQ(model.size(), kWeights + 2 * kFeatures);
  Dataset by_hand = all.train;
  auto& values = std::get<std::vector<float>>(by_hand.values);
  for (std::size_t i = 0; i < kFeatures; ++i) {
    const float mean = 0.01F * static_cast<float>(i % 13);
    const float scale = 1.0F + 0.1F * static_cast<float>(i % 5);
    model[kWeights + i] = mean;
    model[kWeights + kFeatures + i] = scale;
    for (std::size_t at = i; at < values.size(); at += kFeatures) {
      values[at] = (values[at] - mean) * scale;
    }
  }
  const auto changed = *factory->make();
  const auto plain = *below->make();
  ASSERT_TRUE(changed->load(model));
  ASSERT_TRUE(plain->load(std::span(model).first(kWeights)));
  const std::vector<std::uint32_t> rows = {3, 99, 17};
  std::vector<float> one(model.size(), 1.0F);
  std::vector<float> other(kWeights);
  ASSERT_TRUE(changed->gradient(all.train, rows, {}, one));
  ASSERT_TRUE(plain->gradient(by_hand, rows, {}, other));
  EXPECT_TRUE(std::equal(other.begin(), other.end(), one.begin()));
  EXPECT_TRUE(std::all_of(one.begin() + kWeights, one.end(), [](float v) { return v == 0.0F; }));
  const auto sums = changed->evaluate(all.train, rows, {});
  const auto same = plain->evaluate(by_hand, rows, {});
  ASSERT_TRUE(sums && same);
  EXPECT_EQ(sums->loss, same->loss);
  // What is saved is a network for features as they are computed.
  const std::vector<float> folded = network_weights(below->layout(), model);
  ASSERT_TRUE(plain->load(folded));
  const auto of_folded = plain->evaluate(all.train, rows, {});
  ASSERT_TRUE(of_folded);
  EXPECT_NEAR(of_folded->loss, sums->loss, 1e-4);
  ASSERT_TRUE(plain->load(std::span(model).first(kWeights)));
  EXPECT_GT(std::abs(plain->evaluate(all.train, rows, {})->loss - sums->loss), 1e-2);
}

TEST(Statistics, ThreadsAndAStopChangeNothing) {
  const TemporaryFolder folder;
  const Recipe recipe = recipe_of({"statistics.rounds=2"});
  const RunResult whole = run(recipe, small_run(1));
  EXPECT_EQ(run(recipe, small_run(3)).model, whole.model);
  for (const char* const rounds : {"1", "2", "3"}) {
    RunOptions options = small_run();
    options.out = folder / rounds;
    // As many rounds as a recipe with fewer would have done: a killed run's checkpoint.
    Recipe shorter = recipe;
    shorter.federation.rounds = std::stoi(rounds);
    if (shorter.federation.rounds > 2) {
      run(shorter, options);
    } else {
      struct Stop final : RunObserver {
        RoundId last = 0;
        void on_plan(const RoundPlan& plan, std::span<const float> /*model*/) override {
          if (plan.round > last) throw std::runtime_error("killed");
        }
      };
      const auto stop = std::make_shared<Stop>();
      stop->last = static_cast<RoundId>(shorter.federation.rounds);
      options.observer = stop;
      EXPECT_THROW(static_cast<void>(run_recipe(recipe, options, native)), std::runtime_error);
      options.observer.reset();
    }
    options.resume = true;
    const RunResult resumed = run(recipe, options);
    EXPECT_EQ(resumed.model, whole.model) << "stopped after round " << rounds;
    ASSERT_EQ(resumed.groups.size(), 1U);
    EXPECT_EQ(resumed.claims.size(), whole.claims.size());
    EXPECT_EQ(resumed.groups[0].exposure.turns.size(), 2U);
  }
}

TEST(Statistics, ThePriceIsThatOfBothKindsOfRounds) {
  const Recipe recipe = recipe_of({"statistics.rounds=2", "statistics.epsilon=1.5",
                                   "federation.clients=12000", "federation.rounds=10"});
  const auto plan = plan_privacy(recipe, {}, {});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->groups.size(), 1U);
  const auto mechanism = [](std::int64_t size, double epsilon, double norm) {
    auto layout = std::make_shared<Layout>();
    layout->add("x", {size}, TensorRole::kParameter);
    return std::shared_ptr<const Mechanism>(*make_mechanism(
        "privunit", {layout, {{0.0, 1.0}}}, {{"epsilon", epsilon}, {"norm", norm}}));
  };
  Exposure by_hand;
  by_hand.shuffle = ShuffleMode::kShuffler;
  by_hand.turns = {turn_of(mechanism(kFeatures, 1.5, kFeatureNorm), 2, 12000),
                   turn_of(mechanism(kWeights, 4.0, 1.0), 8, 12000)};
  const std::vector<Claim> expected = claims_of(by_hand);
  const std::vector<Claim>& claims = plan->groups[0].claims;
  ASSERT_EQ(claims.size(), expected.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_EQ(scope_text(claims[i]), scope_text(expected[i]));
    EXPECT_EQ(claims[i].epsilon, expected[i].epsilon) << scope_text(claims[i]);
    EXPECT_EQ(claims[i].delta, expected[i].delta);
  }
  // It is dearer than without statistics and cheaper than ten rounds of the dearer kind.
  const auto promised = [](const Recipe& of) {
    return client_claim(plan_privacy(of, {}, {})->groups[0].claims)->epsilon;
  };
  const double both = promised(recipe);
  Recipe fewer = recipe;
  fewer.statistics = {};
  EXPECT_LT(both, promised(fewer));
  fewer.federation.rounds = 8;
  EXPECT_GT(both, promised(fewer));
}

TEST(Statistics, TheCertificateOfARunIsDerivedAgain) {
  const TemporaryFolder folder;
  RunOptions options = small_run();
  options.out = folder / "run";
  const RunResult result = run(recipe_of(), options);
  const auto checked = check_certificate(*read_text(options.out / "certificate.json"));
  ASSERT_TRUE(checked) << checked.error().message;
  ASSERT_EQ(checked->content.exposure.turns.size(), 2U);
  EXPECT_EQ(checked->content.exposure.turns[0].rounds, 1U);
  EXPECT_EQ(checked->content.exposure.turns[1].rounds, 3U);
  EXPECT_EQ(client_claim(checked->claims)->epsilon, client_claim(result.claims)->epsilon);
}

TEST(Statistics, PublicDataCostNothing) {
  const std::vector<std::string> settings = {"statistics.mean=public", "data.name=other.csv",
                                             "data.shape=[1, 28, 28]", "data.classes=10",
                                             "statistics.public=embedded"};
  const Recipe recipe = recipe_of(settings);
  const RunResult result = run(recipe, small_run());
  ASSERT_EQ(result.model.size(), kWeights + 2 * kFeatures);
  EXPECT_EQ(result.groups[0].exposure.turns.size(), 1U);
  DataSplit all = make_embedded(0, 2);
  ASSERT_TRUE(apply_features("gabor", all, 2));
  const auto& values = std::get<std::vector<float>>(all.train.values);
  for (const std::size_t i : {0U, 17U, 832U}) {
    double mean = 0.0;
    for (std::size_t at = i; at < values.size(); at += kFeatures) {
      mean += static_cast<double>(values[at]) / static_cast<double>(all.train.size());
    }
    EXPECT_NEAR(result.model[kWeights + i], mean, 1e-6);
  }
  Recipe without = recipe;
  without.statistics = {};
  EXPECT_EQ(client_claim(run(without, small_run()).claims)->epsilon,
            client_claim(result.claims)->epsilon);
}

TEST(Statistics, WhatDoesNotFitIsSaid) {
  const std::vector<std::pair<std::vector<std::string>, std::vector<const char*>>> cases = {
      {{"statistics.mean=privat"}, {"--set", "one of", "did you mean", "private"}},
      {{"statistics.mean=none", "statistics.rounds=2"}, {"statistics.rounds", "private"}},
      {{"statistics.public=mnist"}, {"statistics.public", "needs statistics.mean = \"public\""}},
      {{"statistics.mean=public"}, {"statistics.public", "not a known set", "fashion-mnist"}},
      {{"statistics.mean=public", "statistics.public=mnits"}, {"did you mean", "mnist"}},
      {{"statistics.mean=public", "statistics.public=embedded"}, {"what the clients hold"}},
      {{"statistics.mean=public", "statistics.public=mnist", "statistics.epsilon=1"},
       {"statistics.epsilon", "private"}},
      {{"statistics.rounds=4"}, {"statistics.rounds", "federation.rounds"}},
      {{"statistics.mechanism=two-point"}, {"statistics.mechanism", "privunit"}},
      {{"statistics.epsilon=-1"}, {"statistics.epsilon", "-1"}},
      {{"statistics.epsilon=2", "statistics.mechanism=none"}, {"statistics.epsilon", "takes none"}},
      {{"data.features=none"}, {"data.features"}},
      {{"model.name=srr-mnist"}, {"model.name", "linear"}},
      {{"bound.payload=delta", "bound.normalize=false"}, {"bound.payload"}},
      {{"federation.selection=once"}, {"federation.selection"}},
  };
  for (const auto& [settings, words] : cases) {
    const std::string message = error_of(settings);
    for (const char* const word : words) {
      EXPECT_NE(message.find(word), std::string::npos) << settings.back() << ": " << message;
    }
  }
  // Keys of the file go with the command line's word.
  EXPECT_TRUE(parse({"statistics.mean=none"}));
  EXPECT_EQ(recipe_of({"statistics.mean=none"}).to_json()["statistics"]["rounds"],
            nlohmann::json(nullptr));
}

}  // namespace
}  // namespace sotto
