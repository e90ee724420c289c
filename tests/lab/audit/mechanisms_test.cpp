// The audit of registered mechanisms: the worst pair is the worst, what is audited is at most what
// is exact, and looking early raises no false alarm.
#include "audit/mechanisms.h"

#include <gtest/gtest.h>

#include "audit/looks.h"
#include "mechanism/mechanism_samples.h"

namespace sotto {
namespace {

MechanismKind kind_of(const Sample& sample) {
  return find_mechanism(sample.mechanism).value()->kind;
}

std::size_t size_of(const Sample& sample) {
  return kind_of(sample) == MechanismKind::kValue ? kAuditWeights : 4;
}

AuditPlan plan_of(std::uint64_t trials) {
  AuditPlan plan;
  plan.trials = trials;
  plan.threads = 2;
  return plan;
}

TEST(WorstPair, AttainsTheExactEpsilon) {
  int checked = 0;
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.label);
    const bool value = kind_of(sample) == MechanismKind::kValue;
    if (kind_of(sample) == MechanismKind::kVector || sample.mechanism == "none") continue;
    const auto mechanism = sample.make(value ? 1 : 2).value();
    const InputPair pair = worst_pair(*mechanism);
    double most = 0.0;
    const auto try_report = [&](const std::vector<Symbol>& report) {
      most = std::max(
          most, mechanism->log_prob(report, pair.one) - mechanism->log_prob(report, pair.zero));
    };
    if (value) {
      const std::vector<Symbol> alphabet = mechanism->alphabet(0);
      if (alphabet.empty() || alphabet.size() > 30'000) continue;
      for (const Symbol symbol : alphabet) try_report({symbol});
    } else {
      const std::size_t bits = mechanism->outputs();
      ASSERT_LE(bits, 20U);
      for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) {
        std::vector<Symbol> report(bits);
        for (std::size_t i = 0; i < bits; ++i) report[i] = static_cast<Symbol>(code >> i & 1);
        // Reports of a label have exactly one of its bits; others cannot be.
        if (std::isfinite(mechanism->log_prob(report, pair.zero))) try_report(report);
      }
    }
    const double exact = mechanism->guarantee().unit_epsilon;
    EXPECT_LE(most, exact * (1 + 1e-9));
    // A grid may reach beyond the range: then no input of the domain is at its end.
    const Range& range = mechanism->domain().ranges.front();
    const auto inside = [&](const std::string& input) {
      return std::abs(std::stod(input) - range.centre) <= range.radius * (1 + 1e-9);
    };
    const WorstCase worst = mechanism->worst_case();
    if (value && !(inside(worst.input) && inside(worst.other_input))) continue;
    // The ends of a range are rounded to floats.
    EXPECT_NEAR(most, exact, 1e-4 * exact);
    ++checked;
  }
  EXPECT_GE(checked, 20);
}

TEST(AuditedMechanisms, AreAtMostExact) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.label);
    const auto mechanism = sample.make(size_of(sample)).value();
    const Guarantee guarantee = mechanism->guarantee();
    const bool slow = kind_of(sample) != MechanismKind::kValue;
    AuditPlan plan = plan_of(slow ? 10'000 : 200'000);
    plan.confidence = 0.9999;  // for forty samples
    const auto found = audit_mechanism(*mechanism, plan);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LE(found->epsilon_lower, guarantee.unit_epsilon);
    EXPECT_GE(found->epsilon_lower, 0.0);
    if (guarantee.unit_epsilon <= guarantee.claimed_epsilon) {
      EXPECT_EQ(found->verdict, Verdict::kConsistent) << found->epsilon_lower;
    }
  }
}

// Far from the ceiling that the number of trials sets, the bound comes close.
TEST(AuditedMechanisms, ComeNearTheExactValue) {
  struct Row {
    std::string mechanism;
    Parameters parameters;
    double least;
  };
  for (const Row& row : {Row{"two-point", {{"epsilon", 1}}, 0.97},
                         {"grr", {{"epsilon", 2}, {"precision", 1}}, 1.85},
                         {"srr", {{"epsilon", 3}, {"precision", 2}}, 2.8},
                         {"laplace", {{"epsilon", 2}}, 1.9},
                         {"em", {{"epsilon", 2}}, 1.3},
                         {"piecewise", {{"epsilon", 1}}, 0.95},
                         {"hybrid", {{"epsilon", 1}}, 0.95},
                         {"optimal", {{"epsilon", 1}}, 0.95}}) {
    SCOPED_TRACE(row.mechanism);
    const auto mechanism =
        make_mechanism(row.mechanism, Domain{flat_layout(kAuditWeights), {Range{0.0, 1.0}}},
                       row.parameters)
            .value();
    const auto found = audit_mechanism(*mechanism, plan_of(400'000));
    ASSERT_TRUE(found);
    EXPECT_GE(found->epsilon_lower, row.least);
  }
}

TEST(AuditedMechanisms, PublishedClaimsThatAreFalse) {
  const auto make = [](std::string_view name, std::size_t size, const Parameters& parameters) {
    return make_mechanism(name, Domain{flat_layout(size), {Range{0.0, 1.0}}}, parameters).value();
  };
  const auto second = make("ldpfl-2", 4, {{"epsilon", 0.5}, {"whole", 4}, {"fraction", 5}});
  auto found = audit_mechanism(*second, plan_of(20'000));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, Verdict::kViolated);
  EXPECT_GT(found->epsilon_lower, 5.0);
  // A claim of one's own is judged in its place, and refuted before all trials are made.
  const auto sound = make("two-point", kAuditWeights, {{"epsilon", 1.0}});
  AuditPlan plan = plan_of(1'000'000);
  plan.claim = 0.8;
  found = audit_mechanism(*sound, plan);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, Verdict::kViolated);
  EXPECT_TRUE(found->stopped_early);
  EXPECT_LT(found->trials, 200'000U);
  EXPECT_GT(found->epsilon_lower, 0.8);
}

// With a learned threshold and two looks; their exact epsilon is the claim.
TEST(AuditedMechanisms, SoundOnesAreSeldomAccused) {
  constexpr int kRepetitions = 1000;
  constexpr double kConfidence = 0.8;
  for (const std::string_view name : {"two-point", "grr"}) {
    Parameters parameters = {{"epsilon", 1.0}};
    if (name == "grr") parameters["precision"] = 0.0;
    const auto mechanism =
        make_mechanism(name, Domain{flat_layout(kAuditWeights), {Range{0.0, 1.0}}}, parameters)
            .value();
    int alarms = 0;
    for (std::uint64_t seed = 1; seed <= kRepetitions; ++seed) {
      AuditPlan plan = plan_of(20'000);
      plan.threads = 1;
      plan.seed = seed;
      plan.confidence = kConfidence;
      alarms += audit_mechanism(*mechanism, plan).value().verdict == Verdict::kViolated;
    }
    const double expected = kRepetitions * (1 - kConfidence);
    EXPECT_LE(alarms, expected + 3 * std::sqrt(expected * kConfidence)) << name;
    EXPECT_GT(alarms, 0) << name << ": a test that never accuses tells nothing";
  }
}

TEST(AuditedMechanisms, DoNotDependOnThreads) {
  const auto mechanism =
      make_mechanism("laplace", Domain{flat_layout(kAuditWeights), {Range{0.0, 1.0}}},
                     {{"epsilon", 1.0}})
          .value();
  AuditPlan plan = plan_of(100'000);
  plan.threads = 1;
  const auto one = audit_mechanism(*mechanism, plan).value();
  plan.threads = 3;
  const auto three = audit_mechanism(*mechanism, plan).value();
  EXPECT_EQ(one.threshold, three.threshold);
  EXPECT_EQ(one.guesses.false_positives, three.guesses.false_positives);
  EXPECT_EQ(one.guesses.false_negatives, three.guesses.false_negatives);
  plan.seed = 2;
  EXPECT_NE(audit_mechanism(*mechanism, plan).value().guesses.false_positives,
            one.guesses.false_positives);
}

TEST(AuditedMechanisms, OnlyTheFirstTensorsWeightsAreTrials) {
  auto layout = std::make_shared<Layout>();
  layout->add("narrow", {100}, TensorRole::kParameter);
  layout->add("wide", {5000}, TensorRole::kParameter);
  const std::shared_ptr<const Mechanism> mechanism =
      make_mechanism("srr", Domain{layout, {Range{3.0, 0.5}, Range{0.0, 1.0}}},
                     {{"epsilon", 2.0}, {"precision", 2.0}})
          .value();
  const auto found = audit_mechanism(*mechanism, plan_of(100'000));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, Verdict::kConsistent);
  EXPECT_GT(found->epsilon_lower, 1.7);
}

TEST(AuditedMechanisms, HaveARowInTheTableOfClaims) {
  const std::shared_ptr<const Mechanism> mechanism =
      make_mechanism("two-point", Domain{flat_layout(100), {Range{0.0, 1.0}}}, {{"epsilon", 1.0}})
          .value();
  Exposure exposure;
  exposure.turns.push_back(turn_of(mechanism, 3));
  ASSERT_TRUE(audit_exposure(exposure, plan_of(100'000)));
  ASSERT_TRUE(exposure.audited_epsilon);
  EXPECT_GT(*exposure.audited_epsilon, 0.9);
  EXPECT_LT(*exposure.audited_epsilon, 1.0);
  const std::vector<Claim> claims = claims_of(exposure);
  const auto row = std::find_if(claims.begin(), claims.end(), [](const Claim& claim) {
    return scope_text(claim).starts_with("audited");
  });
  ASSERT_NE(row, claims.end());
  EXPECT_EQ(row->assumption.find("VIOLATED"), std::string::npos);
  // Behind a shuffler the server does not see whose report it is.
  Exposure shuffled;
  shuffled.turns.push_back(turn_of(mechanism, 3, 100));
  shuffled.shuffle = ShuffleMode::kShuffler;
  ASSERT_TRUE(audit_exposure(shuffled, plan_of(100'000)));
  EXPECT_FALSE(shuffled.audited_epsilon);
}

TEST(Looks, ShareTheError) {
  const std::vector<Look> looks = looks_of(100'000, 0.95, true, 1000);
  ASSERT_EQ(looks.size(), 8U);
  double error = 0.0;
  std::uint64_t last = 0;
  for (const Look& look : looks) {
    EXPECT_GT(look.trials, last);
    last = look.trials;
    error += look.error;
  }
  EXPECT_EQ(last, 100'000U);
  EXPECT_NEAR(error, 0.05, 1e-12);
  EXPECT_EQ(looks_of(100'000, 0.95, false, 1000).size(), 1U);
  EXPECT_EQ(looks_of(1000, 0.95, true, 1000).size(), 1U);
}

// A mechanism whose claim is exact, looked at eight times: an alarm at any look counts.
TEST(Looks, RaiseNoMoreFalseAlarmsThanOneLook) {
  constexpr int kRepetitions = 1000;
  constexpr double kConfidence = 0.8;
  constexpr double kEpsilon = 1.0;
  const double wrong = 1 / (1 + std::exp(kEpsilon));
  int alarms = 0;
  int careless = 0;  // every look at the full error, as one must not
  for (std::uint64_t repetition = 0; repetition < kRepetitions; ++repetition) {
    BitSource bits = BitSource::from_seed(3, "looks", {repetition});
    Guesses guesses;
    bool alarm = false;
    bool careless_alarm = false;
    for (const Look& look : looks_of(1280, kConfidence, true, 10)) {
      while (guesses.zeros < look.trials) {
        guesses += Guesses{1, bits.unit() < wrong, 1, bits.unit() < wrong};
      }
      alarm = alarm || lower_bounds(guesses, 1 - look.error).best > kEpsilon;
      careless_alarm = careless_alarm || lower_bounds(guesses, kConfidence).best > kEpsilon;
    }
    alarms += alarm;
    careless += careless_alarm;
  }
  const double expected = kRepetitions * (1 - kConfidence);
  EXPECT_LE(alarms, expected + 3 * std::sqrt(expected * kConfidence));
  EXPECT_GT(careless, alarms);
}

}  // namespace
}  // namespace sotto
