// Membership inference against a system whose answer is known: labels that only memory can tell.
#include "attack/membership.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sotto/native.h"

namespace sotto {
namespace {

/// Random points with random labels: nothing is to be learned but the samples themselves.
Dataset noise_data(std::size_t size, std::uint64_t seed) {
  Dataset data;
  data.shape = {1, 8, 8};
  data.classes = 4;
  BitSource bits = BitSource::from_seed(seed, "noise");
  std::vector<float> values(size * data.shape.size());
  for (float& value : values) value = static_cast<float>(bits.normal());
  data.values = std::move(values);
  for (std::size_t i = 0; i < size; ++i) {
    data.labels.push_back(static_cast<std::int32_t>(bits.below(4)));
  }
  return data;
}

Result<std::shared_ptr<const TrainerFactory>> make_linear(const TrainerRequest& request) {
  return make_native_factory(request);
}

MembershipAttack attack_with(const std::vector<std::string>& settings) {
  constexpr const char* kText =
      "[data]\nname = \"embedded\"\nnormalize = false\npartition = \"iid\"\n"
      "[model]\nname = \"linear\"\n[train]\nlr = 0.1\nbatch_size = 4\nepochs = 10\n"
      "[federation]\nclients = 2\nrounds = 2\n";
  MembershipAttack attack;
  auto recipe = parse_recipe(kText, "memory.toml", settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  attack.recipe = *recipe;
  attack.data =
      std::make_shared<const DataSplit>(DataSplit{"noise", noise_data(80, 1), noise_data(80, 2)});
  attack.population = 80;
  attack.runs = 10;
  attack.reports = 2;
  attack.threads = 2;
  attack.roc.replicates = 200;
  attack.roc.limit = 0.05;
  return attack;
}

MembershipResult infer(const MembershipAttack& attack) {
  auto found = infer_membership(attack, make_linear);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : MembershipResult{};
}

const Roc& roc_of(const MembershipResult& result, const std::string& target,
                  const std::string& attack) {
  for (const MembershipFinding& finding : result.findings) {
    if (finding.target == target && finding.attack == attack) return finding.roc;
  }
  ADD_FAILURE() << target << ' ' << attack;
  static const Roc kNone;
  return kNone;
}

TEST(Membership, MemoryGivesMembersAway) {
  const MembershipResult found = infer(attack_with({"privacy.mechanism=none"}));
  ASSERT_EQ(found.findings.size(), 9U);
  for (const char* target : {"model", "models", "report"}) {
    for (const char* attack : {"loss", "likelihood-ratio", "likelihood-ratio-offline"}) {
      const Roc& roc = roc_of(found, target, attack);
      EXPECT_GT(roc.auc, 0.8) << target << ' ' << attack;
      EXPECT_GT(roc.auc_interval.low, 0.7) << target << ' ' << attack;
      EXPECT_GT(roc.tpr, 0.2) << target << ' ' << attack;
    }
  }
  EXPECT_EQ(roc_of(found, "model", "loss").members, 400U);  // half of 80, ten times
  EXPECT_EQ(roc_of(found, "model", "loss").others, 400U);
  EXPECT_EQ(roc_of(found, "report", "loss").members, 400U);  // two clients of 20 samples
  EXPECT_EQ(roc_of(found, "report", "loss").others, 800U);   // and 40 that nobody had
  EXPECT_GT(found.member_accuracy, 0.9);
  EXPECT_LT(found.other_accuracy, 0.45);
  EXPECT_TRUE(std::isinf(found.client_epsilon));
}

TEST(Membership, TinyEpsilonLeavesGuessing) {
  const MembershipResult found = infer(
      attack_with({"privacy.mechanism=two-point", "privacy.epsilon=0.0001", "privacy.radius=2"}));
  int guessing = 0;  // intervals of 95 %: one of nine may miss by chance
  for (const MembershipFinding& finding : found.findings) {
    EXPECT_NEAR(finding.roc.auc, 0.5, 0.1) << finding.target << ' ' << finding.attack;
    const Interval& interval = finding.roc.auc_interval;
    guessing += interval.low <= 0.5 && interval.high >= 0.5 ? 1 : 0;
  }
  EXPECT_GE(guessing, 8);
  EXPECT_LE(found.weight_epsilon, 0.0001 * (1.0 + 1e-9));
  EXPECT_LT(found.client_epsilon, 1.0);
}

// What several rounds released is another statistic than the last model, and it needs two rounds.
TEST(Membership, ModelsOfEarlierRoundsCount) {
  MembershipAttack attack = attack_with({"privacy.mechanism=none", "federation.rounds=4"});
  attack.reports = 0;
  attack.models = 3;
  const MembershipResult several = infer(attack);
  ASSERT_EQ(several.findings.size(), 6U);
  EXPECT_NE(roc_of(several, "models", "loss").curve, roc_of(several, "model", "loss").curve);
  attack.models = 1;
  const MembershipResult last = infer(attack);
  ASSERT_EQ(last.findings.size(), 3U);
  EXPECT_EQ(roc_of(last, "model", "loss").curve, roc_of(several, "model", "loss").curve);
}

/// A model of other data knows neither half: its members are members in name only.
TEST(Membership, AModelWithoutTheMembersTellsNothing) {
  MembershipAttack attack = attack_with({"privacy.mechanism=none"});
  RunOptions options;
  options.threads = 1;
  options.data =
      std::make_shared<const DataSplit>(DataSplit{"other", noise_data(40, 3), noise_data(10, 4)});
  const auto other = run_recipe(attack.recipe, options, make_linear);
  ASSERT_TRUE(other) << other.error().message;
  attack.model = other->model;
  const MembershipResult found = infer(attack);
  ASSERT_EQ(found.findings.size(), 3U);
  for (const MembershipFinding& finding : found.findings) {
    EXPECT_NEAR(finding.roc.auc, 0.5, 0.2) << finding.attack;
    EXPECT_LE(finding.roc.auc_interval.low, 0.5) << finding.attack;
    EXPECT_GE(finding.roc.auc_interval.high, 0.5) << finding.attack;
  }
  // And one of the very data does tell.
  options.data =
      std::make_shared<const DataSplit>(DataSplit{"own", attack.data->train, noise_data(10, 4)});
  const auto own = run_recipe(attack.recipe, options, make_linear);
  ASSERT_TRUE(own) << own.error().message;
  attack.model = own->model;
  EXPECT_GT(roc_of(infer(attack), "model", "likelihood-ratio").auc, 0.7);
}

TEST(Membership, DoesNotDependOnThreads) {
  MembershipAttack attack =
      attack_with({"privacy.mechanism=two-point", "privacy.epsilon=5", "privacy.radius=2"});
  const MembershipResult two = infer(attack);
  attack.threads = 1;
  const MembershipResult one = infer(attack);
  ASSERT_EQ(one.findings.size(), two.findings.size());
  for (std::size_t i = 0; i < one.findings.size(); ++i) {
    EXPECT_EQ(one.findings[i].roc.auc, two.findings[i].roc.auc);
    EXPECT_EQ(one.findings[i].roc.curve, two.findings[i].roc.curve);
    EXPECT_EQ(one.findings[i].roc.tpr_interval.high, two.findings[i].roc.tpr_interval.high);
  }
  attack.seed = 2;
  EXPECT_NE(infer(attack).findings.front().roc.auc, one.findings.front().roc.auc);
}

/// A report of differences is decoded onto the model that the round began with.
TEST(Membership, ReportsOfDifferences) {
  const MembershipResult found =
      infer(attack_with({"privacy.mechanism=none", "bound.payload=delta"}));
  EXPECT_GT(roc_of(found, "report", "loss").auc, 0.8);
}

TEST(Membership, NamesWhatIsWrong) {
  const auto error = [](const MembershipAttack& attack) {
    const auto found = infer_membership(attack, make_linear);
    EXPECT_FALSE(found);
    return found ? "" : found.error().message;
  };
  MembershipAttack attack = attack_with({});
  attack.runs = 7;
  EXPECT_NE(error(attack).find("even"), std::string::npos);
  attack = attack_with({});
  attack.population = 81;
  EXPECT_NE(error(attack).find("20 to 80"), std::string::npos);
  attack = attack_with({});
  attack.report_round = 3;
  EXPECT_NE(error(attack).find("rounds 1 to 2"), std::string::npos);
  attack = attack_with({});
  attack.model = {1.0F};
  EXPECT_NE(error(attack).find("260"), std::string::npos);
}

}  // namespace
}  // namespace sotto
