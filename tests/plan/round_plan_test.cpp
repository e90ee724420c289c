// Planning without training and, for known sets, without data.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
                .find("SOTTO_TORCH"),
            std::string::npos);
}

GroupClaims group_of(const std::string& recipe) {
  PrivacyPlan plan = plan_of(recipe_of(recipe));
  EXPECT_EQ(plan.groups.size(), 1U);
  return plan.groups.empty() ? GroupClaims{} : plan.groups[0];
}

TEST(PrivacyRecord, NamesAllMechanismsAndTurns) {
  GroupClaims group = group_of(
      "[federation]\nclients = 20\nrounds = 7\n[privacy]\nmechanism = \"two-point\"\n"
      "epsilon = 1.0\n");
  const auto record = [&] {
    group.claims = claims_of(group.exposure);
    return privacy_record(std::span(&group, 1), true);
  };
  const nlohmann::json one = record();
  EXPECT_EQ(one["mechanism"], "two-point");
  EXPECT_EQ(one["mechanism_id"], group.exposure.mechanisms()[0]->id());
  EXPECT_EQ(one["rounds"], 7);
  EXPECT_EQ(one["batches"].size(), 1U);
  EXPECT_EQ(one["shuffle"], "none");
  ASSERT_EQ(one["mechanisms"].size(), 1U);
  EXPECT_EQ(one["mechanisms"][0]["weights"], 20490);
  ASSERT_EQ(one["turns"].size(), 1U);
  const std::shared_ptr<const Mechanism> other =
      group_of("[privacy]\nmechanism = \"srr\"\nepsilon = 2.0\n").exposure.mechanisms()[0];
  group.exposure.turns.push_back(turn_of(other, 2, 10));
  group.exposure.shuffle = ShuffleMode::kLatency;
  const nlohmann::json two = record();
  EXPECT_EQ(two["mechanism"], "two-point");
  EXPECT_EQ(two["rounds"], 9);
  EXPECT_EQ(two["shuffle"], "latency");
  EXPECT_EQ(two["mechanisms"][1]["mechanism"], "srr");
  EXPECT_EQ(two["turns"][1]["variants"][0][0], other->id());
  EXPECT_EQ(two["turns"][1]["rounds"], 2);
}

TEST(PrivacyRecord, IsThatOfTheWorstGroupAndHasThemAll) {
  std::vector<GroupClaims> groups;
  for (const char* epsilon : {"1.0", "3.0", "2.0"}) {
    GroupClaims group = group_of(
        "[federation]\nclients = 20\nrounds = 1\n[privacy]\nmechanism = \"privunit\"\nepsilon = " +
        std::string(epsilon) + '\n');
    group.name = std::string("epsilon ") + epsilon;
    group.claims = claims_of(group.exposure);
    groups.push_back(std::move(group));
  }
  EXPECT_EQ(worst_group(groups).name, "epsilon 3.0");
  const nlohmann::json record = privacy_record(groups, false);
  ASSERT_EQ(record["groups"].size(), 3U);
  EXPECT_EQ(record["claims"], record["groups"][1]["claims"]);
  EXPECT_NE(record["claims"], record["groups"][0]["claims"]);
  EXPECT_EQ(record["groups"][2]["name"], "epsilon 2.0");
  EXPECT_EQ(record["groups"][2]["clients"], 20);
  EXPECT_FALSE(record["groups"][0].contains("groups"));
  EXPECT_EQ(record["planned"], false);
  // One about which nothing is claimed is worse than any number.
  groups[0].claims.clear();
  EXPECT_EQ(worst_group(groups).name, "epsilon 1.0");
}

}  // namespace
}  // namespace sotto
