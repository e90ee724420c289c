// policy.toml: strict reading, and every way in which a plan can go beyond it.
#include "sotto/policy.h"

#include <cmath>
#include <limits>

#include "federation_fixture.h"

namespace sotto::identity {
namespace {

Policy policy() {
  Policy policy;
  policy.mechanisms = {"srr", "two-point"};
  policy.shuffle = {"shuffler"};
  policy.models = {"linear"};
  policy.recipes = {std::string(64, 'a')};
  policy.epsilon_per_round = 1.0;
  policy.epsilon = 8.0;
  policy.delta = 1e-6;
  policy.rounds = 100;
  policy.min_batch = 50;
  policy.server_key.fill(7);
  return policy;
}

PlanFacts plan() {
  PlanFacts plan;
  plan.mechanisms = {"srr"};
  plan.shuffle = "shuffler";
  plan.model = "linear";
  plan.recipe = std::string(64, 'a');
  plan.epsilon_per_round = 1.0;
  plan.epsilon = 8.0;
  plan.delta = 1e-6;
  plan.unit_epsilon = 0.5;
  plan.rounds = 100;
  plan.min_batch = 50;
  plan.server_key.fill(7);
  return plan;
}

TEST(PolicyFile, WhatIsWrittenIsReadBack) {
  Policy written = policy();
  for (const bool with_unit : {false, true}) {
    if (with_unit) written.unit_epsilon = 0.1;
    written.epsilon = std::numeric_limits<double>::infinity();
    written.models = {"linear", "a \"quoted\" \\ name\n\x1f\x7f zoë 数 \U0001F600"};
    const auto read = parse_policy(policy_text(written), "policy.toml");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(policy_text(*read), policy_text(written));
    EXPECT_EQ(read->unit_epsilon, written.unit_epsilon);
    EXPECT_EQ(read->models, written.models);
    EXPECT_EQ(read->epsilon, written.epsilon);
    EXPECT_EQ(read->server_key, written.server_key);
  }
}

TEST(PolicyFile, EveryKeyIsNeeded) {
  const std::string text = policy_text(policy());
  std::size_t removed = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    const bool built_in =
        line.starts_with("weights") || line.starts_with("memory_mb") || line.starts_with("epochs");
    if (line.find(" = ") != std::string::npos && line.front() != '#' && !built_in) {
      const std::string name = line.substr(0, line.find(' '));
      expect_error(parse_policy(text.substr(0, at) + text.substr(end), "p"), {"missing", name});
      ++removed;
    }
    at = end;
  }
  EXPECT_EQ(removed, 10U);
}

/// Policies from before there was a bound for work keep their word, and get the built-in bound.
TEST(PolicyFile, WorkIsBoundedWhereNothingIsSaid) {
  Policy written = policy();
  written.work = {1000, 20, 3};
  const std::string text = policy_text(written);
  const auto read = parse_policy(text, "p");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->work.weights, 1000U);
  EXPECT_EQ(read->work.memory_mb, 20U);
  EXPECT_EQ(read->work.epochs, 3U);
  std::string without = text;
  for (const char* line : {"\nweights = 1000", "\nmemory_mb = 20", "\nepochs = 3"}) {
    ASSERT_NE(without.find(line), std::string::npos) << line;
    without.erase(without.find(line), std::string(line).size());
  }
  const auto old = parse_policy(without, "p");
  ASSERT_TRUE(old.has_value()) << old.error().message;
  EXPECT_EQ(old->work.weights, WorkLimits{}.weights);
  EXPECT_EQ(old->work.memory_mb, WorkLimits{}.memory_mb);
  EXPECT_EQ(old->work.epochs, WorkLimits{}.epochs);
}

/// The policy with one line more or another value.
Result<Policy> with(const std::string& from, const std::string& to) {
  std::string text = policy_text(policy());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return parse_policy(text, "policy.toml");
}

TEST(PolicyFile, ErrorsNameLineAndNearest) {
  expect_error(
      with("\nepsilon_per_round", "\nepsilon_per_rond"),
      {"policy.toml:", "limits.epsilon_per_rond", "did you mean 'limits.epsilon_per_round'"});
  expect_error(with("[limits]", "[limits]\nmodels = []"), {"did you mean 'allow.models'"});
  expect_error(with("[limits]", "[limit]"), {"[limit]", "did you mean 'limits'"});
  expect_error(with("[allow]", "epsilon = 1\n[allow]"), {"did you mean 'limits.epsilon'"});
  expect_error(with("\"srr\"", "\"ssr\""), {"'ssr'", "did you mean 'srr'"});
  expect_error(with("\"shuffler\"", "\"shuffle\""), {"did you mean 'shuffler'"});
  expect_error(with("epsilon_per_round = 1", "epsilon_per_round = 0"), {"above 0"});
  expect_error(with("epsilon_per_round = 1", "epsilon_per_round = nan"), {"above 0"});
  expect_error(with("epsilon_per_round = 1", "epsilon_per_round = -1"), {"above 0"});
  expect_error(with("epsilon_per_round = 1", "epsilon_per_round = \"1\""), {"above 0"});
  expect_error(with("delta = 1e-06", "delta = 1"), {"[0, 0.5]"});
  expect_error(with("rounds = 100", "rounds = 0"), {"whole number"});
  expect_error(with("rounds = 100", "rounds = 1.5"), {"whole number"});
  expect_error(with("min_batch = 50", "min_batch = 0"), {"whole number"});
  expect_error(with("\nweights = 200000000", "\nweights = 0"), {"whole number"});
  expect_error(with("\nepochs = 1000", "\nepochs = inf"), {"whole number"});
  expect_error(with("# unit_epsilon = 1.0", "unit_epsilon = 0"), {"above 0"});
  expect_error(with("key = \"07", "key = \"7"), {"64 hexadecimal"});
  expect_error(with("\"" + std::string(64, 'a'), "\"" + std::string(63, 'a')), {"fingerprints"});
  expect_error(with("[\"linear\"]", "\"linear\""), {"list of texts"});
  expect_error(with("[\"linear\"]", "[1]"), {"list of texts"});
  expect_error(with("[allow]", "[allow"), {"not valid TOML", "policy.toml:3"});
  expect_error(parse_policy("", "p"), {"missing"});
  expect_error(read_policy("/nowhere/policy.toml"), {"/nowhere/policy.toml"});
}

TEST(PolicyFile, KeysWithoutEndAreRefusedBeforeTheyAreParsed) {
  std::string key;
  for (int i = 0; i < 200'000; ++i) key += "a.";
  const auto read = parse_policy(key + "a = 1\n", "policy.toml");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("200 dots"), std::string::npos);
}

TEST(PolicyCheck, APlanAtTheLimitsIsAllowed) {
  EXPECT_TRUE(check(policy(), plan()).has_value());
  Policy any = policy();
  any.recipes = {"any"};
  PlanFacts other = plan();
  other.recipe = "";
  EXPECT_TRUE(check(any, other).has_value());
}

TEST(PolicyCheck, EveryBreachIsNamed) {
  const auto breach = [](auto change, const std::string& part) {
    PlanFacts worse = plan();
    change(worse);
    Policy strict = policy();
    strict.unit_epsilon = 0.5;
    ASSERT_EQ(breaches(strict, worse).size(), 1U) << part;
    expect_error(check(strict, worse), {part});
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double above = std::nextafter(1.0, 2.0);
  breach([](PlanFacts& p) { p.mechanisms = {"srr", "none"}; }, "mechanism 'none'");
  breach([](PlanFacts& p) { p.mechanisms = {}; }, "no mechanism");
  breach([](PlanFacts& p) { p.shuffle = "none"; }, "shuffle mode 'none'");
  breach([](PlanFacts& p) { p.model = "mlp(10)"; }, "model 'mlp(10)'");
  breach([](PlanFacts& p) { p.recipe = std::string(64, 'b'); }, "recipe 'bbbb");
  breach([&](PlanFacts& p) { p.epsilon_per_round = above; }, "1.0000000000000002 is more than 1");
  breach([&](PlanFacts& p) { p.epsilon_per_round = nan; }, "epsilon of a round = nan");
  breach([](PlanFacts& p) { p.epsilon_per_round = -1.0; }, "epsilon of a round = -1");
  breach([](PlanFacts& p) { p.epsilon = 8.1; }, "lifetime epsilon = 8.1");
  breach([](PlanFacts& p) { p.delta = 1e-5; }, "lifetime delta = 1e-05");
  breach([](PlanFacts& p) { p.unit_epsilon = 0.6; }, "epsilon of a unit = 0.6");
  breach([](PlanFacts& p) { p.rounds = 101; }, "101 rounds");
  breach([](PlanFacts& p) { p.min_batch = 49; }, "a batch of 49");
  breach([](PlanFacts& p) { p.work.weights = 200'000'001; }, "200000001 weights");
  breach([](PlanFacts& p) { p.work.memory_mb = 8193; }, "8193 MB of memory");
  breach([](PlanFacts& p) { p.work.epochs = 1001; }, "1001 epochs");
  breach([](PlanFacts& p) { p.server_key[3] = 8; }, "server's key");
}

TEST(PolicyCheck, WorkIsJudgedByItself) {
  EXPECT_TRUE(check(WorkLimits{10, 10, 10}, Work{10, 10, 10}).has_value());
  expect_error(check(WorkLimits{10, 10, 10}, Work{11, 12, 13}),
               {"more work than this client takes on", "11 weights", "12 MB", "13 epochs"});
}

TEST(PolicyCheck, AllBreachesAreNamedTogether) {
  EXPECT_EQ(breaches(policy(), PlanFacts{}).size(), 6U);
  EXPECT_EQ(breaches(Policy{}, plan()).size(), 9U);
  PlanFacts worse = plan();
  worse.shuffle = "none";
  worse.rounds = 1000;
  expect_error(check(policy(), worse), {"shuffle mode", "1000 rounds"});
}

}  // namespace
}  // namespace sotto::identity
