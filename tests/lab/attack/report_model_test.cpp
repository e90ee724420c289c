// A report as a model: with a single client it is the model that the server has after the round.
#include "attack/report_model.h"

#include "server/toy_run.h"

namespace sotto {
namespace {

void expect_the_servers_model(const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"federation.clients=1", "federation.fraction=1",
                                  "federation.rounds=2"};
  all.insert(all.end(), settings.begin(), settings.end());
  const Recipe recipe = toy_recipe(all);
  const Layout layout = find_network("mlp(3)", {1, 28, 28}, 10)->layout();
  RunOptions options;
  options.threads = 1;
  const auto last = std::make_shared<ReportModels>(recipe, layout, 2, 4);
  options.observer = last;
  const RunResult result = run(recipe, options);
  ASSERT_EQ(last->models().size(), 1U);
  EXPECT_EQ(last->models().begin()->second, result.model) << settings.back();
}

TEST(ReportModels, AreWhatTheServerWouldMakeOfThem) {
  expect_the_servers_model({"privacy.mechanism=none"});
  expect_the_servers_model(
      {"privacy.mechanism=two-point", "privacy.epsilon=1", "privacy.radius=9"});
  expect_the_servers_model({"privacy.mechanism=srr", "privacy.epsilon=3", "privacy.radius=9",
                            "privacy.precision=2", "bound.payload=delta"});
  expect_the_servers_model({"privacy.mechanism=none", "bound.payload=delta", "server.lr=0.5"});
}

TEST(ReportModels, KeepTheFirstClientsOfTheirRound) {
  const Recipe recipe = toy_recipe({"privacy.mechanism=none"});
  const Layout layout = find_network("mlp(3)", {1, 28, 28}, 10)->layout();
  RunOptions options;
  options.threads = 2;
  const auto some = std::make_shared<ReportModels>(recipe, layout, 3, 4);
  const auto all = std::make_shared<ReportModels>(recipe, layout, 3, 100);
  options.observer = some;
  run(recipe, options);
  options.observer = all;
  run(recipe, options);
  EXPECT_EQ(all->models().size(), 20U);
  ASSERT_EQ(some->models().size(), 4U);
  for (const auto& [client, model] : some->models()) {
    EXPECT_EQ(model, all->models().at(client)) << client;
  }
}

}  // namespace
}  // namespace sotto
