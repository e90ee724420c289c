// Planning without training and, for known sets, without data.
#include <gtest/gtest.h>

#include "sotto/federation.h"

namespace sotto {
namespace {

Recipe recipe_of(const std::string& more, const std::vector<std::string>& settings = {}) {
  auto recipe = parse_recipe("[data]\nname = \"mnist\"\n[model]\nname = \"srr-mnist\"\n" + more,
                             "r.toml", settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return *recipe;
}

PrivacyPlan plan_of(const Recipe& recipe) {
  auto plan = plan_privacy(recipe, "/no/such/folder", {});
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *plan : PrivacyPlan{};
}

TEST(Plan, NeedsNoDataOfAKnownSet) {
  const PrivacyPlan plan =
      plan_of(recipe_of("[federation]\nclients = 200\nfraction = 0.3\nrounds = 7\n"
                        "[privacy]\nmechanism = \"two-point\"\nepsilon = 1.0\n"
                        "[shuffle]\nmode = \"shuffler\"\nsplit = 10\n[account]\ndelta = 1e-5\n"));
  ASSERT_EQ(plan.groups.size(), 1U);
  const Exposure& exposure = plan.groups[0].exposure;
  EXPECT_EQ(exposure.mechanisms().front()->outputs(), 20490U);
  EXPECT_EQ(plan.clients, 200U);
  EXPECT_EQ(plan.clients_per_round, 60U);
  EXPECT_EQ(exposure.rounds(), 7U);
  EXPECT_FALSE(exposure.every_round);
  EXPECT_EQ(exposure.shuffle, ShuffleMode::kShuffler);
  EXPECT_EQ(exposure.split, 10U);
  EXPECT_EQ(exposure.delta, 1e-5);
  EXPECT_EQ(exposure.batches(), (std::map<std::uint64_t, std::uint64_t>{{60, 7}}));
}

TEST(Plan, LimitsOnRoundsLowerThePlan) {
  EXPECT_EQ(plan_of(recipe_of("[ledger]\nrounds = [2, 4]\n")).groups[0].exposure.rounds(), 4U);
  EXPECT_EQ(plan_of(recipe_of("[ledger]\nrounds = 400\n")).groups[0].exposure.rounds(), 10U);
}

TEST(Plan, SaysWhatItCannotPlan) {
  const auto error = [](const Recipe& recipe) {
    const auto plan = plan_privacy(recipe, "/no/such/folder", {});
    EXPECT_FALSE(plan);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_NE(error(recipe_of("", {"model.name=ldpfl-nothing"})).find("unknown"), std::string::npos);
  EXPECT_NE(error(recipe_of("[federation]\nclients = 70000\n")).find("60,000"), std::string::npos);
  EXPECT_NE(error(recipe_of("", {"data.partition=users"})).find("users"), std::string::npos);
  EXPECT_NE(error(recipe_of("[shuffle]\nmode = \"shuffler\"\nmin_batch = 101\n")).find("min_batch"),
            std::string::npos);
  EXPECT_NE(error(*parse_recipe("[data]\nname = \"mnist\"\n[model]\nfile = \"m.pt\"\n", "r.toml"))
                .find("SOTTO_TRAIN"),
            std::string::npos);
}

}  // namespace
}  // namespace sotto
