// Layers and schedules: LDP-Fed's network as its authors count it, and budgets that add up.
#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "plan/layers.h"
#include "plan/planner.h"
#include "sotto/network.h"

namespace sotto {
namespace {

const std::vector<std::size_t> kLdpFed = {448, 12'896, 15'690};

Schedule schedule(const std::string& name, std::uint64_t rounds, std::uint64_t cycles) {
  auto made = Schedule::make(name, kLdpFed, rounds, cycles);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

std::vector<std::vector<std::size_t>> layers_by_round(const Schedule& schedule, RoundId rounds) {
  std::vector<std::vector<std::size_t>> layers;
  for (RoundId round = 1; round <= rounds; ++round) {
    layers.push_back(schedule.slots()[schedule.slot_of(round)].layers);
  }
  return layers;
}

TEST(Schedule, HasNoRoundBeyondItsLast) {
  for (const char* const name : {"all", "single", "proportional"}) {
    const Schedule five = schedule(name, 5, 1);
    EXPECT_FALSE(five.has(0));
    EXPECT_TRUE(five.has(1));
    EXPECT_TRUE(five.has(5));
    EXPECT_FALSE(five.has(6));
    for (const RoundId round : {RoundId{0}, RoundId{6}, ~RoundId{0}}) {
      EXPECT_THROW(five.slot_of(round), std::invalid_argument) << round;
    }
  }
}

TEST(Schedule, OfAMillionRoundsAndManyLayersIsRefused) {
  const std::vector<std::size_t> sizes(64, 10);
  EXPECT_FALSE(Schedule::make("all", sizes, 1'000'000, 1));
  EXPECT_TRUE(Schedule::make("all", std::vector<std::size_t>(4, 10), 1'000'000, 1));
}

TEST(Layers, AreCountedAsLdpFedCountsThem) {
  const auto network = find_network("ldp-fed", {1, 28, 28}, 10);
  ASSERT_TRUE(network);
  const Layout layout = network->layout();
  std::vector<std::size_t> parameters;
  std::vector<std::size_t> all(layout.tensors().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t i : all) {
    if (layout.tensors()[i].role == TensorRole::kParameter) parameters.push_back(i);
  }
  std::vector<std::size_t> sizes;
  for (const LayerTensors& layer : layers_of(layout, parameters)) sizes.push_back(layer.weights);
  EXPECT_EQ(sizes, kLdpFed);
  // With the statistics of batch norm: 2 * 16 and 2 * 32 more.
  sizes.clear();
  for (const LayerTensors& layer : layers_of(layout, all)) sizes.push_back(layer.weights);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{480, 12'960, 15'690}));
}

TEST(Schedule, BudgetsAddUpToTheWhole) {
  for (const ScheduleInfo& info : schedules()) {
    for (const std::uint64_t cycles : {1U, 2U, 3U, 5U, 16U, 26U}) {
      const Schedule made = schedule(info.name, 80, cycles);
      double sum = 0.0;
      std::uint64_t rounds = 0;
      for (std::size_t slot = 0; slot < made.slots().size(); ++slot) {
        sum += made.slots()[slot].share * static_cast<double>(made.rounds_of(slot));
        rounds += made.rounds_of(slot);
      }
      EXPECT_NEAR(sum, 1.0, 1e-12) << info.name << ' ' << cycles;
      EXPECT_EQ(rounds, 80U) << info.name << ' ' << cycles;
    }
  }
}

TEST(Schedule, AllSendsEverythingEveryRound) {
  const Schedule made = schedule("all", 80, 1);
  ASSERT_EQ(made.slots().size(), 1U);
  EXPECT_EQ(made.slots()[0].layers, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(made.slots()[0].share, 1.0 / 80.0);
}

TEST(Schedule, SingleGoesBackwardsInEqualParts) {
  const auto layers = layers_by_round(schedule("single", 8, 1), 8);
  const std::vector<std::vector<std::size_t>> expected = {{2}, {2}, {2}, {1}, {1}, {1}, {0}, {0}};
  EXPECT_EQ(layers, expected);
}

TEST(Schedule, ProportionalFollowsTheSizesAndGivesEachLayerARound) {
  // Due of 80 rounds: 1.23, 35.5, 43.2.
  const Schedule made = schedule("proportional", 80, 1);
  EXPECT_EQ(made.rounds_of(made.slot_of(1)), 43U);
  EXPECT_EQ(made.slots()[made.slot_of(1)].layers, std::vector<std::size_t>{2});
  EXPECT_EQ(made.slots()[made.slot_of(80)].layers, std::vector<std::size_t>{0});
  EXPECT_EQ(made.rounds_of(made.slot_of(80)), 1U);
  // The budget of a layer follows its size.
  EXPECT_NEAR(made.slots()[made.slot_of(1)].share * 43.0, 15'690.0 / 29'034.0, 1e-12);
}

TEST(Schedule, CyclesRevisitTheLayers) {
  const auto layers = layers_by_round(schedule("single", 6, 2), 6);
  const std::vector<std::vector<std::size_t>> expected = {{2}, {1}, {0}, {2}, {1}, {0}};
  EXPECT_EQ(layers, expected);
}

TEST(Schedule, SaysWhatIsTooShort) {
  const auto few = Schedule::make("single", kLdpFed, 80, 40);
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().message.find("2 rounds cannot give each of 3 layers one"),
            std::string::npos);
  EXPECT_FALSE(Schedule::make("all", kLdpFed, 3, 4));
}

TEST(Planner, HasManyBudgetsInNoTime) {
  // As a stranger's recipe may have them; one was compared with all others before.
  constexpr std::size_t kBudgets = 300'000;
  std::string budgets = "privacy.client_budgets=[1.0";
  for (std::size_t i = 2; i <= kBudgets; ++i) budgets += "," + std::to_string(i) + ".0";
  const std::vector<std::string> settings = {budgets + ",1.0]"};
  const auto recipe = parse_recipe(
      "[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n[federation]\nclients = 2\n"
      "[privacy]\nmechanism = \"two-point\"\nradius = 0.1\n",
      "r.toml", settings);
  ASSERT_TRUE(recipe) << recipe.error().message.substr(0, 200);
  const auto network = find_network("linear", {1, 8, 8}, 10);
  const auto begin = std::chrono::steady_clock::now();
  const auto planner = Planner::make(*recipe, network->layout(), {}, 1.0, 1);
  ASSERT_TRUE(planner) << planner.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(planner->groups(), kBudgets);
  EXPECT_EQ(planner->turns(), kBudgets + 1);
  EXPECT_EQ(planner->group_of(kBudgets), 0U);
  EXPECT_EQ(planner->budget_of(7), 8.0);
}

TEST(Planner, LdpFedsBudgetsForAWeight) {
  // alpha_p of CLDP-Basic is alpha / (E |theta|): 4.305e-7 for alpha = 1, E = 80 and 29,034
  // parameters; of a layer alone alpha / (E |layer|).
  const auto network = find_network("ldp-fed", {1, 28, 28}, 10);
  const auto alpha = [&](const std::string& mode, RoundId round, const std::string& more) {
    const auto recipe = parse_recipe(
        "[data]\nname = \"fashion-mnist\"\n[model]\nname = \"ldp-fed\"\n[federation]\nrounds = 80\n"
        "[privacy]\nmechanism = \"em\"\nprecision = 10\n[bound]\nbuffers = \"reset\"\n"
        "[schedule]\ntotal = 1.0\nmode = \"" +
            mode + "\"\n" + more,
        "r.toml");
    EXPECT_TRUE(recipe) << recipe.error().message;
    const auto planner = Planner::make(*recipe, network->layout(), {}, 0.18);
    EXPECT_TRUE(planner) << planner.error().message;
    const auto parts = planner->parts(round, 0);
    EXPECT_EQ(parts->size(), 1U);
    // alpha D / 2 with D = 2 * 10^10.
    return parts->front().mechanism->guarantee().unit_epsilon / 1e10;
  };
  EXPECT_NEAR(alpha("all", 1, ""), 1.0 / 80.0 / 29'034.0, 1e-12);
  EXPECT_NEAR(alpha("single", 1, ""), 1.0 / 80.0 / 15'690.0, 1e-12);
  EXPECT_NEAR(alpha("single", 80, ""), 1.0 / 80.0 / 448.0, 1e-12);
  EXPECT_NEAR(alpha("all", 1, "sampling_credit = true\n"), 1.0 / 80.0 / 29'034.0 / 0.18, 1e-12);
}

}  // namespace
}  // namespace sotto
