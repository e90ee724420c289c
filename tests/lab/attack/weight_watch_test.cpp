// Inside a run: watching changes nothing, and what is found is what the mechanism's noise allows.
#include "attack/weight_watch.h"

#include "server/toy_run.h"

namespace sotto {
namespace {

WeightRun watched(const std::vector<std::string>& settings) {
  WeightRun run;
  run.recipe = toy_recipe(settings);
  run.options.threads = 2;
  run.tensor = "1.weight";
  run.weights = 200;
  return run;
}

WatchedWeights watch(const WeightRun& run) {
  auto found = infer_weights_of_run(run, make_toy);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : WatchedWeights{};
}

const std::vector<std::string> kTwoPoint = {"privacy.mechanism=two-point", "privacy.epsilon=1",
                                            "privacy.centre=4", "privacy.radius=5"};

TEST(WeightWatch, ChangesNothing) {
  const Recipe recipe = toy_recipe(kTwoPoint);
  RunOptions options;
  options.threads = 2;
  const RunResult plain = run(recipe, options);
  options.observer =
      std::make_shared<WeightWatch>(0, std::vector<std::size_t>{0, 1, 2}, std::uint64_t{1});
  const RunResult observed = run(recipe, options);
  EXPECT_EQ(plain.model, observed.model);
  EXPECT_EQ(plain.rounds.back().bytes_up, observed.rounds.back().bytes_up);
}

/// Over 200 weights the mean error of independent normal noise is within 25 % (5 deviations of a
/// mean of 200 half-normal values) of what the variance says.
TEST(WeightWatch, FindsWhatTheNoiseAllows) {
  const WatchedWeights found = watch(watched(kTwoPoint));
  ASSERT_EQ(found.rounds.size(), 6U);
  EXPECT_EQ(found.weights, 200U);
  EXPECT_EQ(found.tensor, "1.weight");
  for (const WatchedRound& round : found.rounds) {
    EXPECT_EQ(round.reports, 20U);
    EXPECT_NEAR(round.error / round.error_theory, 1.0, 0.27) << round.round;
  }
  // Noise of more rounds averages out.
  EXPECT_LT(found.rounds.back().error, 0.6 * found.rounds.front().error);
  EXPECT_GT(found.rounds.back().error_now, found.rounds.back().error);
  EXPECT_FALSE(found.rounds.front().confidence.has_value());
  EXPECT_GT(found.rounds.back().drift, 1e-3);  // the toy trains
}

TEST(WeightWatch, DoesNotDependOnThreads) {
  WeightRun run = watched(kTwoPoint);
  const WatchedWeights two = watch(run);
  run.options.threads = 1;
  const WatchedWeights one = watch(run);
  ASSERT_EQ(one.rounds.size(), two.rounds.size());
  EXPECT_EQ(one.rounds.back().error, two.rounds.back().error);
  EXPECT_EQ(one.rounds.back().confidence, two.rounds.back().confidence);
}

TEST(WeightWatch, NamesWhatIsWrong) {
  WeightRun run = watched(kTwoPoint);
  run.tensor = "1.wieght";
  const auto wrong = infer_weights_of_run(run, make_toy);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("did you mean '1.weight'"), std::string::npos);
  const auto nothing = infer_weights_of_run(watched({}), make_toy);
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("nothing to infer"), std::string::npos);
  run = watched({"privacy.mechanism=ldp-sgd", "privacy.epsilon=1", "bound.payload=delta"});
  const auto vector = infer_weights_of_run(run, make_toy);
  ASSERT_FALSE(vector);
  EXPECT_NE(vector.error().message.find("value mechanisms"), std::string::npos);
}

}  // namespace
}  // namespace sotto
