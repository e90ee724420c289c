// Working backwards: the edge is an edge, prices agree with the accountants, what cannot be met is
// said to be so.
#include "account/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sotto {
namespace {

/// Asks for first_change() of "index < edge" and counts the questions.
std::optional<std::uint64_t> change_at(std::uint64_t edge, std::uint64_t last, std::uint64_t stride,
                                       int& asked) {
  asked = 0;
  const auto found = first_change(
      [&](std::uint64_t index) -> Result<bool> {
        EXPECT_LE(index, last);
        ++asked;
        return index < edge;
      },
      last, stride);
  EXPECT_TRUE(found.has_value());
  return *found;
}

TEST(FirstChange, FindsEveryEdge) {
  int asked = 0;
  for (const std::uint64_t last : {1U, 2U, 7U, 100U}) {
    for (const std::uint64_t stride : {1U, 3U, 1000U}) {
      for (std::uint64_t edge = 1; edge <= last; ++edge) {
        EXPECT_EQ(change_at(edge, last, stride, asked), edge) << last << ' ' << stride;
      }
      EXPECT_EQ(change_at(last + 1, last, stride, asked), std::nullopt);
    }
  }
  EXPECT_EQ(change_at(1, 0, 1, asked), std::nullopt);
}

TEST(FirstChange, AsksLittle) {
  int asked = 0;
  EXPECT_EQ(change_at(50, kMostPlanned, 1, asked), 50U);
  EXPECT_LE(asked, 14);
  EXPECT_EQ(change_at(123'456'789, kMostPlanned, 1, asked), 123'456'789U);
  EXPECT_LE(asked, 60);
}

TEST(FirstChange, PassesErrorsOn) {
  const auto found = first_change(
      [](std::uint64_t index) -> Result<bool> {
        if (index > 3) return fail(ErrorKind::kRefused, "no");
        return true;
      },
      100, 1);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "no");
}

TEST(PlannedEpsilon, IsAscendingAndOfFiveDigits) {
  EXPECT_EQ(planned_epsilon(0), 1e-9);
  EXPECT_EQ(planned_epsilon(9 * 90'000), 1.0);
  EXPECT_EQ(planned_epsilon(9 * 90'000 + 2345), 1.2345);
  EXPECT_EQ(planned_epsilon(8 * 90'000 + 1), 0.10001);
  EXPECT_EQ(planned_epsilon(kPlannedEpsilons - 1), 1000.0);
  for (std::uint64_t i = 1; i < kPlannedEpsilons; i += 997) {
    EXPECT_LT(planned_epsilon(i - 1), planned_epsilon(i));
  }
}

Training shuffled(double epsilon0, std::uint64_t clients, std::uint64_t rounds) {
  Training training;
  training.epsilon0 = epsilon0;
  training.clients = clients;
  training.rounds = rounds;
  return training;
}

TEST(Price, IsThatOfTheAccountants) {
  Training training = shuffled(1.0, 1000, 20);
  ShuffleQuestion question;
  question.epsilon0 = 1.0;
  question.clients = 1000;
  question.count = 20;
  const std::vector<Bound> bounds = shuffle_bounds(question);
  const Bound found = price(training).value();
  EXPECT_DOUBLE_EQ(*found.epsilon, *best_of(bounds)->epsilon);
  EXPECT_EQ(found.name, best_of(bounds)->name);
  EXPECT_EQ(found.theorem, best_of(bounds)->theorem);
  EXPECT_EQ(found.assumption, best_of(bounds)->assumption);

  training.local = true;
  const Bound local = price(training).value();
  EXPECT_EQ(*local.epsilon, optimal_epsilon(1.0, 20, 1e-6));
  EXPECT_EQ(local.name, "optimal");
  EXPECT_NE(local.theorem.find("Kairouz"), std::string::npos);
}

TEST(Price, FallsBackToCompositionWhereNobodyHides) {
  EXPECT_EQ(price(shuffled(3.0, 1, 1)).value().name, "optimal");
  EXPECT_LE(*price(shuffled(3.0, 1, 1)).value().epsilon, 3.0);
}

/// 10 weights in chunks of 4, 4 and 2: the last chunk counts as what it is.
TEST(Price, CountsAShortLastChunkExactly) {
  Training training = shuffled(0.1, 10'000, 5);
  training.weights = 10;
  training.split = 4;
  const PrivacyLoss round = PrivacyLoss::shuffled({0.4, 0.0, 0.0}, 10'000)
                                .times(2)
                                .with(PrivacyLoss::shuffled({0.2, 0.0, 0.0}, 10'000));
  const double found = *price(training).value().epsilon;
  EXPECT_NEAR(found, round.times(5).epsilon(1e-6), 1e-6 * found);
  training.weights = 12;
  EXPECT_LT(found, *price(training).value().epsilon);
}

/// The client is in all batches of a round or in none of them.
TEST(Price, SamplesRoundsAndNotChunks) {
  Training training = shuffled(0.5, 2000, 10);
  training.weights = 50;
  training.sampling = 0.1;
  const PrivacyLoss batch = PrivacyLoss::shuffled({0.5, 0.0, 0.0}, 2000);
  const double found = *price(training).value().epsilon;
  // Batches are larger and smaller than 2,000, which costs a little.
  const double alike = batch.times(50).sampled(0.1).times(10).epsilon(1e-6);
  EXPECT_GT(found, alike);
  EXPECT_LT(found, 1.1 * alike);
  EXPECT_GT(found, 1.05 * batch.sampled(0.1).times(500).epsilon(1e-6));
}

TEST(Price, TakesWhatIsKnownOfTheMechanism) {
  Training training = shuffled(2.0, 5000, 10);
  const double generic = *price(training).value().epsilon;
  training.background = [](double epsilon, std::uint64_t weights) -> Result<Background> {
    return Background{epsilon * static_cast<double>(weights), 0.6, 0.0};
  };
  const Bound found = price(training).value();
  EXPECT_EQ(found.name, "background");
  EXPECT_LT(*found.epsilon, generic);
  training.background = [](double, std::uint64_t) -> Result<Background> {
    return fail(ErrorKind::kRefused, "nothing is known");
  };
  EXPECT_FALSE(price(training).has_value());
  EXPECT_FALSE(make_plan(training, PlanUnknown::kRounds, 1.0).has_value());
}

/// What the sampler's arithmetic may change counts, for every report that is seen.
TEST(Price, CountsTheSamplersArithmetic) {
  Training training = shuffled(1.0, 1000, 10);
  const auto with = [&](double coupling) {
    training.background = [coupling](double epsilon, std::uint64_t) -> Result<Background> {
      return Background{epsilon, 0.0, coupling};
    };
    return *price(training).value().epsilon;
  };
  const double exact = with(0.0);
  EXPECT_GT(with(1e-20), exact);
  EXPECT_LT(with(1e-20), exact * 1.001);
  // 10,000 reports: at 1e-16 a report they cost a little of delta; at 1e-9 more than there is, and
  // composition alone is left.
  EXPECT_GT(with(1e-16), exact);
  EXPECT_LT(with(1e-16), exact * 1.01);
  EXPECT_GT(with(1e-9), 3.0 * exact);
  training.local = true;  // ten reports, each with its own part of delta
  EXPECT_LT(with(1e-14), 10.0);
  EXPECT_GT(with(1e-14), with(0.0) * (1.0 - 1e-3));
  EXPECT_EQ(with(1e-6), std::numeric_limits<double>::infinity());
}

/// The answer meets the target, the next value misses it, by prices asked for anew.
void expect_edge(const Training& training, PlanUnknown unknown, double target) {
  const auto plan = make_plan(training, unknown, target);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_TRUE(plan->possible);
  ASSERT_TRUE(plan->next.has_value());
  const auto cost = [&](double value) {
    Training tried = training;
    const auto whole = static_cast<std::uint64_t>(value);
    if (unknown == PlanUnknown::kEpsilon0) tried.epsilon0 = value;
    if (unknown == PlanUnknown::kSplit) tried.split = whole;
    if (unknown == PlanUnknown::kRounds) tried.rounds = whole;
    if (unknown == PlanUnknown::kClients) tried.clients = whole;
    return *price(tried).value().epsilon;
  };
  EXPECT_EQ(cost(plan->value), *plan->price.epsilon);
  EXPECT_EQ(cost(*plan->next), *plan->next_price->epsilon);
  EXPECT_LE(*plan->price.epsilon, target);
  EXPECT_GT(*plan->next_price->epsilon, target);
  if (unknown == PlanUnknown::kEpsilon0) {
    EXPECT_NEAR(*plan->next, plan->value, 1.01e-4 * plan->value);
  } else {
    EXPECT_EQ(*plan->next - plan->value, unknown == PlanUnknown::kClients ? -1.0 : 1.0);
  }
  EXPECT_FALSE(plan->price.theorem.empty());
  EXPECT_FALSE(plan->price.assumption.empty());
}

TEST(MakePlan, EveryAnswerIsAnEdge) {
  Training training = shuffled(0.5, 2000, 10);
  training.weights = 100;
  training.split = 5;
  expect_edge(training, PlanUnknown::kEpsilon0, 2.0);
  training.epsilon0 = 0.05;
  expect_edge(training, PlanUnknown::kSplit, 1.0);
  expect_edge(training, PlanUnknown::kRounds, 2.0);
  expect_edge(training, PlanUnknown::kClients, 0.5);
  training.sampling = 0.2;
  expect_edge(training, PlanUnknown::kRounds, 2.0);
  training.local = true;
  expect_edge(training, PlanUnknown::kEpsilon0, 2.0);
  expect_edge(training, PlanUnknown::kRounds, 20.0);
}

TEST(MakePlan, SaysWhatIsReachableWhereNothingMeetsTheTarget) {
  Training training = shuffled(5.0, 100, 10);
  training.weights = 20'490;
  Plan plan = make_plan(training, PlanUnknown::kRounds, 8.0).value();
  EXPECT_FALSE(plan.possible);
  EXPECT_EQ(plan.value, 1.0);
  EXPECT_GT(*plan.price.epsilon, 40'000.0);
  EXPECT_FALSE(plan.next.has_value());
  plan = make_plan(training, PlanUnknown::kSplit, 8.0).value();
  EXPECT_FALSE(plan.possible);
  EXPECT_EQ(plan.value, 1.0);
  training.epsilon0 = 500.0;
  training.weights = 1;
  plan = make_plan(training, PlanUnknown::kClients, 8.0).value();
  EXPECT_FALSE(plan.possible);
  EXPECT_EQ(plan.value, static_cast<double>(kMostPlanned));
}

TEST(MakePlan, TheEndOfAScaleHasNoNext) {
  Training training = shuffled(0.01, 1000, 1);
  training.weights = 8;
  Plan plan = make_plan(training, PlanUnknown::kSplit, 1.0).value();
  EXPECT_TRUE(plan.possible);
  EXPECT_EQ(plan.value, 8.0);
  EXPECT_FALSE(plan.next.has_value());
  plan = make_plan(training, PlanUnknown::kClients, 1.0).value();
  EXPECT_TRUE(plan.possible);
  EXPECT_EQ(plan.value, 1.0);
  EXPECT_FALSE(plan.next.has_value());
}

TEST(MakePlan, StaysWithinWhatAMechanismAccepts) {
  Training training = shuffled(0.0, 1000, 1);
  training.least_epsilon0 = 0.02;
  training.most_epsilon0 = 0.5;
  const auto checked = [](double epsilon, std::uint64_t) -> Result<Background> {
    EXPECT_GE(epsilon, 0.02);
    EXPECT_LE(epsilon, 0.5);
    return Background{epsilon, 0.0, 0.0};
  };
  training.background = checked;
  Plan plan = make_plan(training, PlanUnknown::kEpsilon0, 100.0).value();
  EXPECT_EQ(plan.value, 0.5);
  EXPECT_FALSE(plan.next.has_value());
  plan = make_plan(training, PlanUnknown::kEpsilon0, 1e-7).value();
  EXPECT_FALSE(plan.possible);
  EXPECT_EQ(plan.value, 0.02);
}

}  // namespace
}  // namespace sotto
