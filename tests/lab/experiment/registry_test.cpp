// The registry: every entry that travels with the program is sound, and a wrong one is named.
#include "experiment/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "data/known.h"
#include "experiment/carried.h"
#include "sotto/federation.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

constexpr const char* kGood = R"(
[[experiment]]
name = "one"
summary = "a test"
recipe = "embedded"
set = ["federation.rounds=4"]
quick = ["federation.rounds=1"]
seeds = 2
  [[experiment.row]]
  label = "None of it"
  paper = 0.9
  [[experiment.row]]
  label = "SRR"
  set = ["privacy.mechanism=srr"]
  vary = ["privacy.epsilon=1,2"]
  quick_vary = ["privacy.epsilon=2"]
  papers = [0.5, [0.6, 0.7]]
)";

std::string error_of(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto parsed = parse_experiments(text, "family", "file.toml");
  EXPECT_FALSE(parsed.has_value()) << to;
  return parsed ? "" : parsed.error().message;
}

TEST(Registry, ReadsAnEntry) {
  const auto parsed = parse_experiments(kGood, "family", "file.toml");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 1U);
  const Experiment& one = parsed->front();
  EXPECT_EQ(one.family, "family");
  EXPECT_EQ(one.seeds, 2);
  ASSERT_EQ(one.rows.size(), 2U);
  EXPECT_EQ(one.rows[0].papers.front().low, 0.9);
  EXPECT_EQ(one.rows[1].papers[1].high, 0.7);
}

TEST(Registry, NamesFileLineAndKey) {
  EXPECT_NE(error_of(kGood, "recipe =", "recipt =")
                .find("file.toml:5: unknown key 'recipt'; did "
                      "you mean 'recipe'"),
            std::string::npos);
  EXPECT_NE(error_of(kGood, "paper = 0.9", "paper = \"x\"").find("file.toml:11: 'paper'"),
            std::string::npos);
  EXPECT_NE(error_of(kGood, "[0.6, 0.7]", "[0.7, 0.6]").find("'papers'"), std::string::npos);
  EXPECT_NE(error_of(kGood, "seeds = 2", "figure = \"pie\"").find("'figure'"), std::string::npos);
  EXPECT_NE(error_of(kGood, "recipe = \"embedded\"", "").find("has no recipe"), std::string::npos);
  EXPECT_NE(error_of(kGood, "name = \"one\"", "").find("needs a name"), std::string::npos);
  EXPECT_NE(error_of(kGood, "summary = ", "summary ").find("not valid TOML"), std::string::npos);
}

TEST(Registry, MakesTheRunsOfAStudy) {
  const TemporaryFolder folder;
  const Experiment one = parse_experiments(kGood, "family", "file.toml")->front();
  StudyRequest request;
  request.out = folder.path();
  const auto study = make_study(one, request);
  ASSERT_TRUE(study.has_value()) << study.error().message;
  ASSERT_EQ(study->configurations.size(), 3U);
  EXPECT_EQ(study->configurations[1].label, "SRR, epsilon = 1");
  EXPECT_EQ(study->configurations[2].paper->high, 0.7);
  const auto runs = plan_runs(*study);
  ASSERT_TRUE(runs.has_value()) << runs.error().message;
  ASSERT_EQ(runs->size(), 6U);
  EXPECT_EQ((*runs)[5].name, "srr_epsilon=2_seed=2");
  EXPECT_EQ((*runs)[5].recipe.federation.seed, 2);
  EXPECT_EQ((*runs)[5].recipe.federation.rounds, 4);
  EXPECT_EQ((*runs)[5].recipe.privacy.parameters.at("epsilon"), 2.0);
}

TEST(Registry, AQuickStudyIsSmallerAndSaysSo) {
  const TemporaryFolder folder;
  const Experiment one = parse_experiments(kGood, "family", "file.toml")->front();
  StudyRequest request;
  request.out = folder.path();
  request.quick = true;
  const auto study = make_study(one, request);
  ASSERT_TRUE(study.has_value());
  EXPECT_TRUE(study->quick);
  const auto runs = plan_runs(*study);
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[1].recipe.federation.rounds, 1);
  EXPECT_EQ(study->configurations[1].paper->low, 0.6);  // of the combination that is left
}

TEST(Registry, CarriedEntriesAreSoundAndUnique) {
  const auto all = experiments();
  ASSERT_TRUE(all.has_value()) << all.error().message;
  std::set<std::string> names;
  for (const Experiment& experiment : *all) {
    EXPECT_TRUE(names.insert(experiment.name).second) << experiment.name;
    EXPECT_FALSE(experiment.rows.empty()) << experiment.name;
  }
  for (const char* name :
       {"srr-mnist", "srr-latency", "ldp-fl-mnist", "cldp-fmnist", "ldpfl-mnist", "client-level"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  const auto missing = find_experiment("srr-mnits");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("did you mean 'srr-mnist'"), std::string::npos);
}

/// Every run of every entry, full and quick, is a valid recipe whose plan can be made: a typing
/// error in a file of experiments, or a schedule of more cycles than rounds, must not wait for
/// hours of training.
TEST(Registry, EveryRunOfEveryEntryIsAValidRecipe) {
  const TemporaryFolder folder;
  const auto all = experiments();
  ASSERT_TRUE(all.has_value()) << all.error().message;
  for (const Experiment& experiment : *all) {
    if (!experiment.measure.empty()) continue;
    for (const bool quick : {false, true}) {
      StudyRequest request;
      request.out = folder.path() / experiment.name;
      request.quick = quick;
      const auto study = make_study(experiment, request);
      ASSERT_TRUE(study.has_value()) << study.error().message;
      const auto runs = plan_runs(*study);
      ASSERT_TRUE(runs.has_value()) << experiment.name << ": " << runs.error().message;
      for (const StudyRun& run : *runs) {
        // Where records are protected by DP-SGD the plan counts them, in data that are not here; of
        // a set that is not a known one the plan wants the file itself.
        if (run.recipe.federation.seed != 1 || run.recipe.train.clip > 0.0) continue;
        if (find_known_set(run.recipe.data.name) == nullptr) continue;
        const auto plan = plan_privacy(run.recipe, "/no/such/folder", {});
        EXPECT_TRUE(plan.has_value()) << experiment.name << (quick ? ", quick: " : ": ") << run.name
                                      << ": " << plan.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace sotto
