// Several messages of one client in a round: each in a batch of its own, all counted, and one
// message is what there was before.
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "fake_ledger.h"
#include "plan/planner.h"
#include "server/toy_run.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

std::vector<std::string> shuffled(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"privacy.mechanism=privunit", "privacy.epsilon=2",
                             "shuffle.mode=shuffler", "federation.fraction=1"});
  return more;
}

std::vector<Part> parts_of(const Recipe& recipe) {
  Layout layout;
  layout.add("a.weight", {3, 4}, TensorRole::kParameter);
  layout.add("a.bias", {3}, TensorRole::kParameter);
  const auto planner = Planner::make(recipe, layout, {}, 1.0);
  EXPECT_TRUE(planner) << planner.error().message;
  const auto parts = planner->parts(1, 0);
  EXPECT_TRUE(parts) << parts.error().message;
  return parts ? *parts : std::vector<Part>{};
}

TEST(Messages, AreAlikeInAllButTheirNames) {
  const std::vector<Part> one = parts_of(toy_recipe(shuffled()));
  const std::vector<Part> three = parts_of(toy_recipe(shuffled({"privacy.messages=3"})));
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(three.size(), 3U);
  std::set<std::string_view> ids;
  for (const Part& part : three) {
    ids.insert(part.mechanism->id());
    EXPECT_EQ(part.tensors, one[0].tensors);
    EXPECT_EQ(part.mechanism->guarantee().epsilon, one[0].mechanism->guarantee().epsilon);
    EXPECT_EQ(part.mechanism->domain().fingerprint(), one[0].mechanism->domain().fingerprint());
  }
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_EQ(three[0].mechanism->id(), one[0].mechanism->id());
}

/// Every claim about the whole training is that of as many rounds of one message.
TEST(Messages, CostWhatRoundsCost) {
  for (const char* const mechanism :
       {"privacy.mechanism=privunit", "privacy.mechanism=two-point"}) {
    for (const char* const mode : {"shuffle.mode=shuffler", "shuffle.mode=none"}) {
      const auto claims = [&](const char* rounds, const char* messages) {
        const auto plan = plan_privacy(toy_recipe({mechanism, "privacy.epsilon=0.5", mode,
                                                   "federation.fraction=1", rounds, messages}),
                                       "/no/such/folder", {});
        EXPECT_TRUE(plan) << plan.error().message;
        std::vector<Claim> training = plan->groups.front().claims;
        std::erase_if(training,
                      [](const Claim& claim) { return claim.scope.period != Period::kTraining; });
        return training;
      };
      const auto rounds = claims("federation.rounds=12", "privacy.messages=1");
      const auto messages = claims("federation.rounds=4", "privacy.messages=3");
      ASSERT_FALSE(rounds.empty());
      ASSERT_EQ(rounds.size(), messages.size());
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        EXPECT_EQ(rounds[i].scope, messages[i].scope);
        EXPECT_DOUBLE_EQ(messages[i].epsilon, rounds[i].epsilon) << scope_text(rounds[i]);
        EXPECT_DOUBLE_EQ(messages[i].delta, rounds[i].delta);
        EXPECT_GT(messages[i].epsilon, 0.0);
      }
    }
  }
}

/// A round of three messages costs three times what one of one message does.
TEST(Messages, AllOfThemArePaid) {
  const auto spent = [](const char* messages) {
    const auto ledger = std::make_shared<FakeLedger>();
    RunOptions options;
    options.open_ledger = [ledger]() -> Result<std::shared_ptr<Ledger>> { return ledger; };
    run(toy_recipe(shuffled({messages, "federation.rounds=2"})), options);
    return ledger->accounts.begin()->second.epsilon;
  };
  EXPECT_NEAR(spent("privacy.messages=3"), 3.0 * spent("privacy.messages=1"), 1e-9);
}

TEST(Messages, ABudgetForTheTrainingIsSharedByThem) {
  const auto epsilon = [](const char* messages) {
    double sum = 0.0;
    for (const Part& part :
         parts_of(toy_recipe({"privacy.mechanism=two-point", "schedule.total=30", messages}))) {
      sum += part.mechanism->guarantee().epsilon;
    }
    return sum;
  };
  EXPECT_NEAR(epsilon("privacy.messages=3"), epsilon("privacy.messages=1"), 1e-3);
}

struct Watch final : RunObserver {
  std::mutex mutex;
  std::map<std::pair<RoundId, std::uint32_t>, std::vector<std::vector<float>>> bounded;
  std::set<std::vector<std::byte>> reports;
  std::vector<std::vector<double>> released;
  void on_report(const RoundPlan& plan, std::uint32_t client, const Part& /*part*/,
                 std::span<const float> values, const Report& report) override {
    const std::scoped_lock lock(mutex);
    bounded[{plan.round, client}].emplace_back(values.begin(), values.end());
    const auto bytes = report.symbols().bytes();
    reports.insert(std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  void on_release(const RoundPlan& /*plan*/, std::size_t /*group*/,
                  std::span<const Released> all) override {
    for (const Released& each : all) {
      EXPECT_EQ(each.reports(), 40U);
      released.emplace_back(each.values().begin(), each.values().end());
    }
  }
};

TEST(Messages, AreDrawnAnewFromOneResultAndAveraged) {
  auto watch = std::make_shared<Watch>();
  RunOptions options;
  options.observer = watch;
  const RunResult result =
      run(toy_recipe(shuffled({"privacy.messages=3", "federation.rounds=1", "bound.payload=delta",
                               "bound.normalize=true"})),
          options);
  EXPECT_EQ(watch->bounded.size(), 40U);
  for (const auto& [client, values] : watch->bounded) {
    ASSERT_EQ(values.size(), 3U);
    EXPECT_EQ(values[0], values[1]);
    EXPECT_EQ(values[0], values[2]);
  }
  EXPECT_EQ(watch->reports.size(), 120U);
  ASSERT_EQ(watch->released.size(), 3U);
  ASSERT_EQ(result.model.size(), watch->released[0].size());
  for (std::size_t i = 0; i < result.model.size(); ++i) {
    const double mean =
        (watch->released[0][i] + watch->released[1][i] + watch->released[2][i]) / 3.0;
    EXPECT_NEAR(result.model[i], mean, 1e-5 * (1.0 + std::abs(mean)));
  }
}

TEST(Messages, OneIsWhatThereWasBefore) {
  const Recipe plain = toy_recipe(shuffled()), one = toy_recipe(shuffled({"privacy.messages=1"}));
  EXPECT_EQ(one.fingerprint(), plain.fingerprint());
  EXPECT_FALSE(plain.to_json()["privacy"].contains("messages") &&
               !plain.to_json()["privacy"]["messages"].is_null());
  EXPECT_NE(toy_recipe(shuffled({"privacy.messages=2"})).fingerprint(), plain.fingerprint());
  EXPECT_EQ(run(one, {}).model, run(plain, {}).model);
}

/// The same on any number of threads, resumed, and with a certificate that holds.
TEST(Messages, TheRunIsARunLikeAnyOther) {
  const TemporaryFolder folder;
  const std::vector<std::string> settings = shuffled({"privacy.messages=2", "ledger.keep=false"});
  RunOptions options;
  options.threads = 1;
  const RunResult whole = run(toy_recipe(settings), options);
  options.threads = 3;
  options.out = folder / "run";
  const RunResult threads = run(toy_recipe(settings), options);
  EXPECT_EQ(threads.model, whole.model);
  const auto text = read_text(options.out / "certificate.json");
  ASSERT_TRUE(text);
  const auto checked = check_certificate(*text);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->content.mechanisms.size(), 2U);
  EXPECT_EQ(checked->content.exposure.turns.front().variants.front().size(), 2U);
  const RunResult fewer = run(toy_recipe(shuffled({"ledger.keep=false"})), {});
  EXPECT_GT(client_claim(whole.claims)->epsilon, client_claim(fewer.claims)->epsilon);
}

/// A batch of each message has its least size, or the round is withheld.
TEST(Messages, NeedAMechanismAndABatch) {
  const auto refused = parse_recipe(
      "[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n[privacy]\nmessages = 2\n",
      "r.toml", {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("privacy.messages: needs a mechanism"), std::string::npos)
      << refused.error().message;
  for (const char* const bad : {"privacy.messages=0", "privacy.messages=257"}) {
    const auto wrong = parse_recipe("[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n",
                                    "r.toml", std::vector<std::string>{bad});
    ASSERT_FALSE(wrong) << bad;
    EXPECT_NE(wrong.error().message.find("a whole number in [1, 256]"), std::string::npos);
  }
  EXPECT_FALSE(plan_privacy(toy_recipe(shuffled({"privacy.messages=2", "shuffle.min_batch=41"})),
                            "/no/such/folder", {}));
}

}  // namespace
}  // namespace sotto
