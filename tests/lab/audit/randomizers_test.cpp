// The audit of unknown randomizers: how often it accuses sound ones, and what it refuses to judge.
#include "audit/randomizers.h"

#include <gtest/gtest.h>

#include "audit/looks.h"
#include "fake_randomizers.h"

namespace sotto {
namespace {

struct Sound {
  std::string name;
  double epsilon;
  std::function<FakeRandomizer(std::uint64_t seed)> make;
};

void PrintTo(const Sound& sound, std::ostream* out) { *out << sound.name; }

class FalseAlarms : public testing::TestWithParam<Sound> {};

// Their epsilon is the claim itself, so that every alarm is a bound above the truth.
TEST_P(FalseAlarms, AreNoMoreThanTheConfidenceAllows) {
  constexpr int kRepetitions = 1000;
  constexpr double kConfidence = 0.8;  // more alarms to count than at 0.95
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= kRepetitions; ++seed) {
    const auto found = GetParam().make(seed).audit(GetParam().epsilon, 2000, kConfidence);
    ASSERT_TRUE(found) << found.error().message;
    alarms += found->verdict == Verdict::kViolated;
  }
  const double expected = kRepetitions * (1 - kConfidence);
  EXPECT_LE(alarms, expected + 3 * std::sqrt(expected * kConfidence));
  std::printf("%s: %d alarms of %d at confidence %.2f\n", GetParam().name.c_str(), alarms,
              kRepetitions, kConfidence);
}

const NumberPair kBits = {{0, 0, 0}, {1, 1, 1}};
INSTANTIATE_TEST_SUITE_P(
    All, FalseAlarms,
    testing::Values(
        Sound{"two-point", 1.0,
              [](std::uint64_t seed) { return FakeRandomizer(-1, 1, two_point(1), seed); }},
        Sound{"laplace", 1.0,
              [](std::uint64_t seed) { return FakeRandomizer(-1, 1, laplace(2), seed); }},
        Sound{"constant", 0.0,
              [](std::uint64_t seed) {
                return FakeRandomizer(
                    0, 1, [](double, BitSource& bits) { return bits.unit(); }, seed);
              }},
        Sound{"bits", 2.0,
              [](std::uint64_t seed) { return FakeRandomizer(kBits, random_bits(2, 3), seed); }}));

TEST(Randomizers, TheBoundComesNearTheTruth) {
  for (const double epsilon : {0.5, 2.0, 4.0}) {
    FakeRandomizer randomizer(-1, 1, two_point(epsilon));
    const auto found = randomizer.audit(epsilon, 100'000);
    ASSERT_TRUE(found);
    EXPECT_GT(found->epsilon_lower, epsilon - 0.2);
    EXPECT_LE(found->epsilon_lower, epsilon);
  }
}

TEST(Randomizers, WhatWasLearnedOnDoesNotCount) {
  // Tells its input in the first batches and nothing later: events are found, and refute nothing.
  class Early final : public Randomizer {
   public:
    Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t batch) override {
      BitSource bits = BitSource::from_seed(1, "early", {batch});
      Outputs outputs;
      outputs.width = 1;
      for (const bool one : inputs) {
        outputs.values.push_back(batch < 2 ? (one ? 1.0 : 0.0)
                                           : static_cast<double>(bits.below(2)));
      }
      return outputs;
    }
  };
  Early early;
  AuditPlan plan;
  plan.trials = 20'000;
  plan.claim = 0.5;
  const auto found = audit_randomizer(early, {{0}, {1}}, plan, 50'000);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->learned, 5000U);
  EXPECT_EQ(found->verdict, Verdict::kConsistent) << found->epsilon_lower;
  EXPECT_EQ(found->guesses.trials(), 15'000U);
}

TEST(Randomizers, EventsShareTheError) {
  for (const Draw& draw : {laplace(2), two_point(1)}) {
    FakeRandomizer randomizer(-1, 1, draw);
    const auto found = randomizer.audit(1.0, 20'000);
    ASSERT_TRUE(found);
    double share = 0.0;
    double most = 0.0;
    for (const EventFinding& event : found->events) {
      share += event.event.share;
      // Its bound is at the confidence that its share leaves, at the one look.
      const Look look = looks_of(7500, 0.95, true, 5000).back();
      EXPECT_EQ(event.epsilon_lower,
                lower_bounds(event.guesses, 1 - look.error * event.event.share).best);
      most = std::max(most, event.epsilon_lower);
    }
    EXPECT_NEAR(share, 1.0, 1e-12);
    EXPECT_EQ(found->epsilon_lower, most);
    EXPECT_LE(found->events.size(), kMostEvents);
  }
}

TEST(Randomizers, ResultsDoNotDependOnThreads) {
  AuditPlan plan;
  plan.trials = 300'000;
  std::vector<double> found;
  for (const unsigned threads : {1U, 3U}) {
    FakeRandomizer randomizer(-1, 1, laplace(2));
    plan.threads = threads;
    const auto finding = audit_randomizer(randomizer, randomizer.inputs(), plan, 10'000);
    ASSERT_TRUE(finding);
    found.push_back(finding->epsilon_lower);
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(Randomizers, DeltaIsTakenOff) {
  // The raw value once in a thousand is allowed to who may fail with 1/100.
  const auto leaking = [](double x, BitSource& bits) {
    return bits.below(1000) == 0 ? x : two_point(1)(x, bits);
  };
  FakeRandomizer randomizer(-1, 1, leaking);
  const auto found = randomizer.audit(1.0, 200'000, 0.95, 0.01);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, Verdict::kConsistent);
}

TEST(Randomizers, NotANumberIsAnOutputLikeOthers) {
  const auto broken = [](double x, BitSource& bits) {
    return x > 0 && bits.below(100) == 0 ? std::nan("") : two_point(1)(x, bits);
  };
  FakeRandomizer randomizer(-1, 1, broken);
  const auto found = randomizer.audit(1.0, 100'000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, Verdict::kViolated);
}

/// The same bits at every start.
class Seeded final : public Randomizer {
 public:
  explicit Seeded(Draw draw) : draw_(std::move(draw)) {}
  Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t /*batch*/) override {
    BitSource bits = BitSource::from_seed(1, "seeded");
    Outputs outputs;
    outputs.width = 1;
    for (const bool one : inputs) outputs.values.push_back(draw_(one ? 1 : -1, bits));
    return outputs;
  }

 private:
  Draw draw_;
};

TEST(Randomizers, AFixedSeedIsRefused) {
  AuditPlan plan;
  plan.trials = 20'000;
  for (const Draw& draw : {laplace(2), two_point(1)}) {
    Seeded seeded(draw);
    const auto found = audit_randomizer(seeded, {{-1}, {1}}, plan, 1000);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("fixed seed"), std::string::npos);
  }
  // What is no function of random bits at all is judged: it hides nothing.
  Seeded raw([](double x, BitSource&) { return x; });
  plan.claim = 5.0;
  const auto found = audit_randomizer(raw, {{-1}, {1}}, plan, 1000);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->verdict, Verdict::kViolated);
  // And so is a randomizer that is seldom random: equal batches are chance.
  FakeRandomizer rare(-1, 1, two_point(12));
  EXPECT_TRUE(rare.audit(12.0, 400'000));
}

/// A fair coin and a counter that starts anew in every batch: nothing of it depends on the input.
class Counting final : public Randomizer {
 public:
  Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t batch) override {
    BitSource bits = BitSource::from_seed(5, "counting", {batch});
    Outputs outputs;
    outputs.width = 2;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      outputs.values.push_back(static_cast<double>(bits.below(2)));
      outputs.values.push_back(static_cast<double>(i));
    }
    return outputs;
  }
};

// Were inputs in the same order in every batch, the counter would tell each of them.
TEST(Randomizers, APlaceInTheBatchTellsNothing) {
  AuditPlan plan;
  plan.trials = 200'000;
  plan.claim = 0.05;
  plan.confidence = 0.9999;
  Counting counting;
  const auto found = audit_randomizer(counting, {{-1}, {1}}, plan, 1000);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->verdict, Verdict::kConsistent) << found->epsilon_lower;
}

/// Gives another number of rows, or of values, than it should.
class Miscounting final : public Randomizer {
 public:
  Miscounting(int rows, std::size_t width) : rows_(rows), width_(width) {}
  Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t batch) override {
    Outputs outputs;
    outputs.width = batch == 0 ? 1 : width_;
    const std::size_t rows = inputs.size() + static_cast<std::size_t>(batch == 0 ? 0 : rows_);
    outputs.values.assign(rows * outputs.width, 0.0);
    return outputs;
  }

 private:
  int rows_;
  std::size_t width_;
};

TEST(Randomizers, WrongCountsAreErrors) {
  AuditPlan plan;
  plan.trials = 20'000;
  for (auto broken : {Miscounting(1, 1), Miscounting(-1, 1), Miscounting(0, 2)}) {
    const auto found = audit_randomizer(broken, {{-1}, {1}}, plan, 1000);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("valid: "), std::string::npos);
  }
  FakeRandomizer same(1, 1, two_point(1));
  EXPECT_EQ(same.audit(1, 2000).error().kind, ErrorKind::kUsage);
  FakeRandomizer uneven({{1}, {1, 2}}, random_bits(1, 1));
  EXPECT_EQ(uneven.audit(1, 2000).error().kind, ErrorKind::kUsage);
  FakeRandomizer fine(-1, 1, two_point(1));
  EXPECT_EQ(fine.audit(1, 2001).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(fine.audit(1, 10).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(fine.audit(1, 2000, 0.5).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(fine.audit(-1, 2000).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(fine.audit(1, 2000, 0.95, 1.0).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace sotto
