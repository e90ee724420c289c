// A whole training, planned: the answer meets the target and is an edge, what is left of the
// central model's signal is what the formulas of the limit say, and messages are priced as rounds
// are.
#include "account/training_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "flat_layout.h"

namespace sotto {
namespace {

constexpr std::size_t kDimension = 2000;

MakeReport privunit() {
  return [](double epsilon0, std::optional<double> cap) {
    Parameters parameters = {{"epsilon", epsilon0}};
    if (cap) parameters["cap"] = *cap;
    return make_mechanism("privunit", Domain{flat_layout(kDimension), {{0.0, 1.0}}}, parameters);
  };
}

TrainingQuestion question(double target, std::uint64_t clients) {
  TrainingQuestion asked;
  asked.target_epsilon = target;
  asked.clients = clients;
  asked.make = privunit();
  return asked;
}

PlannedTraining plan(const TrainingQuestion& asked, std::uint64_t rounds,
                     std::uint64_t messages = 1) {
  const auto found = plan_training(asked, rounds, messages);
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  return found ? *found : PlannedTraining{};
}

/// By the accountant, from nothing but the answer.
double priced(const PlannedTraining& answer, std::uint64_t clients, double epsilon0) {
  const auto mechanism = privunit()(epsilon0, answer.cap);
  EXPECT_TRUE(mechanism);
  ShuffleQuestion shuffled;
  shuffled.epsilon0 = epsilon0;
  shuffled.clients = clients;
  shuffled.count = answer.rounds * answer.messages;
  shuffled.mechanism = (*mechanism)->background(0, kDimension);
  return *best_of(shuffle_bounds(shuffled))->epsilon;
}

TEST(GaussianRatio, IsThatOfTheLossDistribution) {
  for (const double epsilon : {0.25, 1.0, 3.6, 8.0}) {
    for (const double delta : {1e-5, 1e-6, 1e-9}) {
      const double ratio = gaussian_ratio_of(epsilon, delta);
      EXPECT_NEAR(PrivacyLoss::gaussian(ratio).epsilon(delta), epsilon, 2e-3 * epsilon);
      EXPECT_NEAR(gaussian_epsilon_of(ratio, delta), epsilon, 1e-9);
    }
  }
}

TEST(TrainingPlan, MeetsTheTargetAndTheNextEpsilonDoesNot) {
  for (const std::uint64_t rounds : {10U, 300U}) {
    const PlannedTraining answer = plan(question(1.0, 60'000), rounds);
    ASSERT_TRUE(answer.possible);
    EXPECT_DOUBLE_EQ(*answer.price.epsilon, priced(answer, 60'000, answer.epsilon0));
    EXPECT_LE(*answer.price.epsilon, 1.0);
    const double digit = std::pow(10.0, std::floor(std::log10(answer.epsilon0)) - 4.0);
    EXPECT_GT(priced(answer, 60'000, answer.epsilon0 + digit), 1.0) << rounds;
    ASSERT_TRUE(answer.noise_epsilon);
    EXPECT_LT(*answer.noise_epsilon, *answer.price.epsilon);
    EXPECT_GT(*answer.noise_epsilon, 0.4 * *answer.price.epsilon);
  }
}

TEST(TrainingPlan, TheCapIsTheBest) {
  const TrainingQuestion asked = question(1.0, 60'000);
  const PlannedTraining answer = plan(asked, 50);
  for (const double factor : {0.6, 1.5}) {
    TrainingQuestion other = asked;
    other.make = [&](double epsilon0, std::optional<double>) {
      return privunit()(epsilon0, answer.cap * factor);
    };
    EXPECT_LT(answer.squared_error, plan(other, 50).squared_error) << factor;
  }
  EXPECT_NEAR(cap_of(**privunit()(answer.epsilon0, answer.cap)), answer.cap, 1e-12);
}

TEST(TrainingPlan, MessagesArePricedAsRounds) {
  const TrainingQuestion asked = question(2.0, 60'000);
  const PlannedTraining rounds = plan(asked, 60);
  const PlannedTraining messages = plan(asked, 15, 4);
  EXPECT_EQ(messages.rounds, 15U);
  EXPECT_EQ(messages.messages, 4U);
  EXPECT_EQ(messages.epsilon0, rounds.epsilon0);
  EXPECT_EQ(messages.cap, rounds.cap);
  EXPECT_EQ(messages.signal, rounds.signal);
  EXPECT_EQ(*messages.price.epsilon, *rounds.price.epsilon);
  EXPECT_EQ(messages.bytes, 4 * rounds.bytes);
}

/// Many small reports: 2 phi^2 (1 - r q) / q, at most 0.81.
TEST(TrainingPlan, TheSignalIsThatOfTheFormula) {
  double before = 0.0;
  for (const std::uint64_t rounds : {30U, 300U, 3000U, 100'000U}) {
    const PlannedTraining answer = plan(question(1.0, 60'000), rounds);
    EXPECT_GT(answer.signal, before);
    EXPECT_LT(answer.signal, 0.811);
    before = answer.signal;
    // The edge of the cap, and the step of the density over it.
    double z = 0.0;
    for (double step = 4.0; step > 1e-9; step /= 2.0) {
      if (0.5 * std::erfc((z + step) / std::numbers::sqrt2) >= answer.cap) z += step;
    }
    const double phi = std::exp(-z * z / 2.0) / std::sqrt(2.0 * std::numbers::pi);
    const double grown = std::expm1(answer.epsilon0);
    const double floor = 1.0 / (1.0 + answer.cap * grown);
    const double formula = 2.0 * phi * phi * floor / answer.cap;
    EXPECT_NEAR(answer.signal, formula, 0.02 * formula) << rounds;
  }
  EXPECT_GT(before, 0.7);
}

TEST(TrainingPlan, WhatOtherRoundsCostIsPartOfTheTarget) {
  TrainingQuestion asked = question(1.0, 60'000);
  const PlannedTraining alone = plan(asked, 40);
  const Background early = (*privunit()(2.0, std::nullopt))->background(0, kDimension);
  asked.earlier = PrivacyLoss::shuffled(early, 60'000);
  asked.earlier_coupling = 60'000.0 * early.coupling;
  const PlannedTraining both = plan(asked, 40);
  ASSERT_TRUE(both.possible);
  EXPECT_LT(both.epsilon0, alone.epsilon0);
  EXPECT_LT(both.signal, alone.signal);
  const Background late = (*privunit()(both.epsilon0, both.cap))->background(0, kDimension);
  const double together =
      PrivacyLoss::shuffled(late, 60'000).times(40).with(*asked.earlier).epsilon(1e-6);
  EXPECT_NEAR(*both.price.epsilon, together, 1e-4);
  EXPECT_LE(*both.price.epsilon, 1.0);
  EXPECT_GT(*both.price.epsilon, 0.999);
}

TEST(TrainingPlan, FindsTheFewestForASignal) {
  const TrainingQuestion asked = question(1.0, 60'000);
  const auto rounds = plan_for_signal(asked, 0.3, 0, 1);
  ASSERT_TRUE(rounds);
  ASSERT_TRUE(rounds->possible);
  EXPECT_EQ(rounds->messages, 1U);
  EXPECT_GE(rounds->signal, 0.3);
  EXPECT_LT(plan(asked, rounds->rounds * 97 / 100).signal, 0.3);
  const auto messages = plan_for_signal(asked, 0.3, 60, 0);
  ASSERT_TRUE(messages);
  ASSERT_TRUE(messages->possible);
  EXPECT_EQ(messages->rounds, 60U);
  EXPECT_GE(messages->signal, 0.3);
  EXPECT_LT(plan(asked, 60, messages->messages - 1).signal, 0.3);
  const auto too_much = plan_for_signal(asked, 0.9, 5, 0);
  ASSERT_TRUE(too_much);
  EXPECT_FALSE(too_much->possible);
  EXPECT_EQ(too_much->messages, kMostMessages);
  EXPECT_GT(too_much->signal, 0.2);
}

TEST(TrainingPlan, SaysWhatCannotBe) {
  TrainingQuestion asked = question(0.001, 2);
  asked.least_epsilon0 = 0.5;
  const PlannedTraining answer = plan(asked, 10);
  EXPECT_FALSE(answer.possible);
  EXPECT_GT(*answer.price.epsilon, 0.5);
  asked.make = [](double, std::optional<double>) -> Result<std::unique_ptr<Mechanism>> {
    return fail(ErrorKind::kUsage, "no such mechanism");
  };
  EXPECT_FALSE(plan_training(asked, 10, 1));
}

}  // namespace
}  // namespace sotto
