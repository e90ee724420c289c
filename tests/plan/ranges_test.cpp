// Ranges: given for all, for some by name, from the initial weights, adapted to released values.
#include "plan/ranges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/planner.h"
#include "recipe/tensor_rules.h"

namespace sotto {
namespace {

Layout layout() {
  Layout made;
  made.add("0.weight", {2, 4}, TensorRole::kParameter);
  made.add("0.bias", {2}, TensorRole::kParameter);
  made.add("1.running_mean", {2}, TensorRole::kBuffer);
  made.add("2.weight", {3, 2}, TensorRole::kParameter);
  made.add("2.bias", {3}, TensorRole::kParameter);
  return made;
}

Result<Recipe> read(const std::string& more) {
  return parse_recipe("[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n" + more, "r.toml");
}

Recipe recipe_of(const std::string& more) {
  auto recipe = read(more);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return recipe ? *recipe : Recipe{};
}

constexpr const char* kSrr =
    "[privacy]\nmechanism = \"srr\"\nepsilon = 5\ncentre = 0.25\nradius = 0.5\n";

TEST(Ranges, PatternsMatchAsExpected) {
  EXPECT_TRUE(matches("*", "0.weight"));
  EXPECT_TRUE(matches("*.bias", "10.bias"));
  EXPECT_TRUE(matches("1.*mean", "1.running_mean"));
  EXPECT_TRUE(matches("*a*a*", "banana"));
  EXPECT_FALSE(matches("0.weight", "10.weight"));
  EXPECT_FALSE(matches("*.bias", "0.bias.x"));
  EXPECT_FALSE(matches("", "x"));
  EXPECT_FALSE(matches("a*b*c", "acb"));
}

TEST(Ranges, TheLaterEntryWinsKeyByKey) {
  const Recipe recipe = recipe_of(std::string(kSrr) +
                                  "[[tensor]]\nmatch = \"*\"\nradius = 0.2\nprecision = 5\n"
                                  "[[tensor]]\nmatch = \"2.*\"\ncentre = 1.15\n");
  const std::vector<Range> ranges = start_ranges(recipe, layout(), {});
  EXPECT_EQ(ranges[0].centre, 0.25);
  EXPECT_EQ(ranges[0].radius, 0.2);
  EXPECT_EQ(ranges[3].centre, 1.15);
  EXPECT_EQ(ranges[3].radius, 0.2);
  EXPECT_EQ(rule_of(recipe, "2.bias").parameters.at("precision"), 5.0);
}

TEST(Ranges, EntriesAreReadStrictly) {
  const auto error = [](const std::string& entry) {
    const auto recipe = read(kSrr + entry);
    EXPECT_FALSE(recipe) << entry;
    return recipe ? std::string() : recipe.error().message;
  };
  EXPECT_NE(error("[[tensor]]\nradius = 1\n").find("match is missing"), std::string::npos);
  EXPECT_NE(error("[[tensor]]\nmatch = \"*\"\nradius = 0\n").find("r.toml:12"), std::string::npos);
  EXPECT_NE(error("[[tensor]]\nmatch = \"*\"\nradios = 1\n").find("radius"), std::string::npos);
  EXPECT_NE(error("[tensor]\nmatch = \"*\"\n").find("[[tensor]]"), std::string::npos);
  EXPECT_NE(error("[[tensor]]\nmatch = \"*\"\nalpha = 1\n").find("takes no 'alpha'"),
            std::string::npos);
  EXPECT_NE(error("[[tensor]]\nmatch = \"*\"\nepsilon = -1\n").find("must be"), std::string::npos);
  const Recipe unused = recipe_of(std::string(kSrr) + "[[tensor]]\nmatch = \"7.weight\"\n");
  const auto checked = check_tensor_rules(unused, layout());
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("did you mean '0.weight'"), std::string::npos)
      << checked.error().message;
}

TEST(Ranges, ComeFromTheInitialWeightsWhereAsked) {
  const Recipe recipe = recipe_of(
      "[privacy]\nmechanism = \"srr\"\nepsilon = 5\n[bound]\nrange = \"adaptive\"\nmargin = 2\n");
  std::vector<float> initial(layout().size(), 1.0F);
  for (std::size_t i = 0; i < 8; ++i) initial[i] = i % 2 == 0 ? 3.0F : 1.0F;
  const std::vector<Range> ranges = start_ranges(recipe, layout(), initial);
  EXPECT_NEAR(ranges[0].centre, 2.0, 1e-12);
  EXPECT_NEAR(ranges[0].radius, 2.0, 1e-12);  // deviation 1, margin 2
  EXPECT_NEAR(ranges[1].centre, 1.0, 1e-12);
  EXPECT_NEAR(ranges[1].radius, 0.1, 1e-12);  // all equal: room to move
}

TEST(Ranges, AdaptToWhatWasReleasedWithoutTheNoise) {
  std::vector<double> released;
  for (int i = 0; i < 1000; ++i) released.push_back(1.0 + (i % 2 == 0 ? 0.5 : -0.5));
  const Range now{0.0, 1.0};
  const Range exact = adapted_range(released, 0.0, 3.0, now);
  EXPECT_NEAR(exact.centre, 1.0, 1e-12);
  EXPECT_NEAR(exact.radius, 1.5, 1e-9);
  // Of a variance of 0.25, 0.16 is noise: a deviation of 0.3 remains.
  EXPECT_NEAR(adapted_range(released, 0.16, 3.0, now).radius, 0.9, 1e-9);
  // No more than twice or half of the last one.
  EXPECT_NEAR(adapted_range(released, 0.0, 30.0, now).radius, 2.0, 1e-12);
  EXPECT_NEAR(adapted_range(released, 1.0, 3.0, now).radius, 0.5, 1e-12);
  const double one[] = {7.0};
  EXPECT_EQ(adapted_range(one, 0.0, 3.0, now).centre, 0.0);
}

TEST(Ranges, OfWhichNoMechanismCanBeMadeStay) {
  // Ten groups with step 20 need 910 values: a radius of 0.01 has 201.
  const Recipe recipe = recipe_of(
      "[privacy]\nmechanism = \"srr\"\nepsilon = 5\nradius = 0.075\ngroups = 10\nstep = 20\n"
      "[bound]\nrange = \"adaptive\"\n");
  auto planner = Planner::make(recipe, layout(), {}, 1.0);
  ASSERT_TRUE(planner) << planner.error().message;
  std::vector<Range> ranges = planner->ranges();
  ranges[0].radius = 0.01;
  ranges[1].radius = 0.08;
  EXPECT_EQ(planner->set_ranges(ranges), 1U);
  EXPECT_EQ(planner->ranges()[0].radius, 0.075);
  EXPECT_EQ(planner->ranges()[1].radius, 0.08);
}

TEST(Planner, RefusesRoundsAndGroupsThatTheRecipeDoesNotHave) {
  const Recipe recipe = recipe_of(std::string(kSrr) + "[federation]\nrounds = 3\n");
  const auto planner = Planner::make(recipe, layout(), {}, 1.0);
  ASSERT_TRUE(planner) << planner.error().message;
  EXPECT_TRUE(planner->parts(1, 0));
  EXPECT_TRUE(planner->parts(3, 0));
  for (const RoundId round : {RoundId{0}, RoundId{4}, ~RoundId{0}}) {
    const auto parts = planner->parts(round, 0);
    ASSERT_FALSE(parts) << round;
    EXPECT_EQ(parts.error().kind, ErrorKind::kRefused);  // a client declines
  }
  EXPECT_FALSE(planner->parts(1, 1));
  EXPECT_FALSE(planner->parts(1, ~std::size_t{0}));
}

TEST(Planner, TensorsWithEqualParametersShareAMechanism) {
  const Recipe recipe = recipe_of(std::string(kSrr) +
                                  "[[tensor]]\nmatch = \"*.bias\"\nprecision = 5\nradius = 0.3\n");
  const auto planner = Planner::make(recipe, layout(), {}, 1.0);
  ASSERT_TRUE(planner) << planner.error().message;
  const auto parts = planner->parts(1, 0);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[0].tensors, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ((*parts)[1].tensors, (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ((*parts)[1].mechanism->domain().ranges[0].radius, 0.3);
  EXPECT_NE((*parts)[0].mechanism->id(), (*parts)[1].mechanism->id());
}

TEST(Planner, BuffersAreSentThroughTheMechanismOrNotAtAll) {
  const auto tensors = [](const std::string& more) {
    const auto planner = Planner::make(recipe_of(kSrr + more), layout(), {}, 1.0);
    EXPECT_TRUE(planner);
    return planner->parts(1, 0)->front().tensors;
  };
  EXPECT_EQ(tensors("").size(), 5U);
  EXPECT_EQ(tensors("[bound]\nbuffers = \"local\"\n"), (std::vector<std::size_t>{0, 1, 3, 4}));
  EXPECT_EQ(tensors("[bound]\nbuffers = \"reset\"\n"), (std::vector<std::size_t>{0, 1, 3, 4}));
  EXPECT_EQ(tensors("[bound]\npayload = \"gradient\"\n").size(), 4U);
}

TEST(Planner, ClientsWithTheSameBudgetAreOneGroup) {
  const Recipe recipe =
      recipe_of("[privacy]\nmechanism = \"srr\"\nradius = 0.1\nclient_budgets = [1, 3, 1]\n");
  const auto planner = Planner::make(recipe, layout(), {}, 1.0);
  ASSERT_TRUE(planner) << planner.error().message;
  EXPECT_EQ(planner->groups(), 2U);
  EXPECT_EQ(planner->group_of(0), 0U);
  EXPECT_EQ(planner->group_of(1), 1U);
  EXPECT_EQ(planner->group_of(5), 0U);
  EXPECT_NEAR(planner->parts(1, 1)->front().mechanism->guarantee().unit_epsilon, 3.0, 1e-3);
}

}  // namespace
}  // namespace sotto
