// The distinguishing phase on made-up gradients: known values at the worst pair, bounds below the
// exact epsilon, counts that do not depend on threads, and a mechanism with half its noise.
#include "adversary/vector_trials.h"

#include <gtest/gtest.h>

#include <cmath>

#include "adversary/scene.h"
#include "adversary/vector_finding.h"
#include "flat_layout.h"
#include "mechanism/vector/vector.h"

namespace sotto {
namespace {

std::unique_ptr<Mechanism> vector_mechanism(std::string_view name, Parameters parameters,
                                            std::size_t dimension) {
  auto made = make_mechanism(name, Domain{flat_layout(dimension), {Range{0.0, 1.0}}}, parameters);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TrialCounts audited(const Mechanism& mechanism, TrialPlan plan, double dummy_norm = 1.0) {
  plan.mechanisms = {&mechanism};
  const auto counts =
      run_trials(empty_scene(mechanism.outputs(), dummy_norm), *dummy_adversary.make(), plan);
  EXPECT_TRUE(counts) << counts.error().message;
  return *counts;
}

/// Two fixed vectors.
class Fixed final : public Adversary {
 public:
  Fixed(std::vector<float> first, std::vector<float> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  Result<void> craft(const Scene&, Trainer*, BitSource&,
                     std::span<GradientPair> out) const override {
    for (GradientPair& pair : out) pair = {first_, second_};
    return {};
  }
  bool constant() const noexcept override { return true; }

 private:
  std::vector<float> first_, second_;
};

TEST(VectorTrials, ProductsReadEveryWidthAndSize) {
  BitSource bits = BitSource::from_seed(3, "products");
  for (const unsigned width : {8U, 16U, 24U, 32U}) {
    for (const std::size_t size : {1U, 31U, 32U, 4096U, 4106U, 9000U}) {
      PackedSymbols symbols(size, width);
      std::vector<std::int64_t> values(size);
      std::vector<float> x(size);
      const std::int64_t most = width == 8 ? 127 : 32767;
      double product = 0.0, square = 0.0;
      for (std::size_t i = 0; i < size; ++i) {
        values[i] =
            static_cast<std::int64_t>(bits.below(2 * static_cast<std::uint64_t>(most))) - most;
        x[i] = static_cast<float>(bits.unit() - 0.5);
        product += static_cast<double>(values[i]) * static_cast<double>(x[i]);
        square += static_cast<double>(values[i] * values[i]);
      }
      symbols.write(0, std::span<const std::int64_t>(values));
      EXPECT_NEAR(product_with(symbols, x), product, 1e-7 * std::sqrt(square))
          << width << ' ' << size;
      EXPECT_DOUBLE_EQ(square_of(symbols), square) << width << ' ' << size;
    }
  }
}

TEST(VectorTrials, LikelihoodsFromProductsAreThoseOfWholeReports) {
  constexpr std::size_t kDimension = 70;
  BitSource bits = BitSource::from_seed(5, "along");
  const std::vector<std::pair<std::string, Parameters>> all = {
      {"ldp-sgd", {{"epsilon", 1.5}}},
      {"privunit", {{"epsilon", 3.0}}},
      {"gaussian", {{"epsilon", 1.0}, {"delta", 1e-5}}}};
  for (const auto& [name, parameters] : all) {
    const auto mechanism = vector_mechanism(name, parameters, kDimension);
    for (int turn = 0; turn < 40; ++turn) {
      std::vector<float> one(kDimension), other(kDimension);
      for (float& value : one) value = static_cast<float>(0.1 * bits.normal());
      for (float& value : other) value = static_cast<float>(0.3 * bits.normal());
      const Bounded x = bound(Update(flat_layout(kDimension), one), mechanism->domain());
      const Bounded y = bound(Update(flat_layout(kDimension), other), mechanism->domain());
      const Report report = mechanism->perturb(turn % 2 == 0 ? x : y, bits);
      const auto symbols = report.symbols().unpacked();
      const auto along = [&](const Bounded& from) {
        double square = 0.0;
        for (const float value : from.values()) square += static_cast<double>(value) * value;
        return mechanism->log_prob_along(product_with(report.symbols(), from.values()),
                                         std::sqrt(square));
      };
      ASSERT_TRUE(along(x) && along(y)) << name;
      EXPECT_NEAR(
          *along(x) - *along(y),
          mechanism->log_prob(symbols, x.values()) - mechanism->log_prob(symbols, y.values()), 1e-6)
          << name;
    }
  }
}

// At round(K p) correct guesses the pooled 95 % bound for epsilon 4 and K = 1000 is 3.601; the mean
// over ten measurements stays within three of its standard errors.
TEST(VectorTrials, DummyReachesLdpSgd) {
  const auto mechanism = vector_mechanism("ldp-sgd", {{"epsilon", 4.0}}, 500);
  TrialPlan plan;
  plan.measurements = 10;
  plan.seed = 1;
  plan.threads = 2;
  const TrialCounts counts = audited(*mechanism, plan);
  ASSERT_EQ(counts.measured.front().size(), 10U);
  double pooled = 0.0;
  for (const Tally& tally : counts.measured.front()) {
    EXPECT_EQ(tally.cosine.trials(), 1000U);
    EXPECT_EQ(tally.cosine.wrong(), tally.likelihood.wrong());  // the same test for opposite pairs
    pooled += lower_bounds(tally.cosine, 0.95).pooled / 10.0;
  }
  EXPECT_NEAR(pooled, 3.6, 0.25);
  const LowerBounds all = lower_bounds(counts.total.front().cosine, 0.9999);
  EXPECT_GT(all.best, 3.4);
  EXPECT_LE(all.best, mechanism->guarantee().epsilon);
}

// False alarm rate: 1e-4 for each mechanism and distinguisher.
TEST(VectorTrials, NoBoundAboveTheExactEpsilon) {
  const std::vector<std::pair<std::string, Parameters>> all = {
      {"ldp-sgd", {{"epsilon", 0.5}}},
      {"ldp-sgd", {{"epsilon", 2.0}, {"norm", 3.0}}},
      {"privunit", {{"epsilon", 1.0}}},
      {"privunit", {{"epsilon", 4.0}}},
      {"gaussian", {{"epsilon", 1.0}, {"delta", 1e-5}}},
      {"gaussian", {{"epsilon", 4.0}, {"delta", 1e-3}, {"norm", 0.1}}}};
  for (const auto& [name, parameters] : all) {
    const auto mechanism = vector_mechanism(name, parameters, 130);
    TrialPlan plan;
    plan.trials = 20000;
    plan.seed = 2;
    plan.threads = 2;
    const auto norm = parameters.find("norm");
    const TrialCounts counts =
        audited(*mechanism, plan, norm == parameters.end() ? 1.0 : norm->second);
    const Guarantee guarantee = mechanism->guarantee();
    for (const auto which : {Distinguisher::kCosine, Distinguisher::kLikelihood}) {
      const LowerBounds bounds =
          lower_bounds(counts.total.front().of(which), 0.9999, guarantee.delta);
      EXPECT_LE(bounds.best, guarantee.epsilon) << name;
      EXPECT_GT(bounds.best, 0.1 * guarantee.epsilon) << name;
    }
  }
}

// PrivUnit's likelihood is the same on the band between the two caps: ties go to the first
// gradient, and the errors of the other kind then reach the exact epsilon. Cosines do not.
TEST(VectorTrials, LikelihoodSeesTheCapsOfPrivUnit) {
  const auto mechanism = vector_mechanism("privunit", {{"epsilon", 3.0}}, 200);
  TrialPlan plan;
  plan.trials = 60000;
  plan.threads = 2;
  const TrialCounts counts = audited(*mechanism, plan);
  const auto bound_of = [&](Distinguisher which) {
    return lower_bounds(counts.total.front().of(which), 0.99).best;
  };
  EXPECT_GT(bound_of(Distinguisher::kLikelihood), 2.75);
  EXPECT_GT(bound_of(Distinguisher::kLikelihood), bound_of(Distinguisher::kCosine) + 0.1);
}

// A short vector and a long one on the same side: cosines are equal, likelihoods are not.
TEST(VectorTrials, LikelihoodIsCorrectMoreOftenThanCosine) {
  constexpr std::size_t kDimension = 40;
  std::vector<float> shorter(kDimension, 0.0F), longer(kDimension, 0.0F);
  shorter[0] = 0.05F;
  longer[0] = 1.0F;
  longer[1] = 0.05F;
  const auto mechanism = vector_mechanism("ldp-sgd", {{"epsilon", 4.0}}, kDimension);
  TrialPlan plan;
  plan.mechanisms = {mechanism.get()};
  plan.trials = 20000;
  plan.threads = 2;
  const auto counts = run_trials(empty_scene(kDimension, 1.0), Fixed(shorter, longer), plan);
  ASSERT_TRUE(counts);
  const Tally& tally = counts->total.front();
  EXPECT_LT(tally.likelihood.wrong() + 2000, tally.cosine.wrong());
}

// The Gaussian mechanism's epsilon lies in the tail: the guess that is correct most often shows
// little of it, a learned threshold more, and neither more than there is. False alarm rate: 1e-4.
TEST(VectorTrials, ALearnedThresholdFindsMoreOfAGaussian) {
  for (const double delta : {1e-5, 1e-3}) {
    const auto mechanism = vector_mechanism("gaussian", {{"epsilon", 2.0}, {"delta", delta}}, 20);
    TrialPlan plan;
    plan.mechanisms = {mechanism.get()};
    plan.trials = 40000;
    plan.threads = 2;
    const Scene scene = empty_scene(20, 1.0);
    const auto dummy = dummy_adversary.make();
    const auto bound = [&] {
      const auto counts = run_trials(scene, *dummy, plan);
      EXPECT_TRUE(counts);
      return lower_bounds(counts->total.front().likelihood, 0.9999, delta).best;
    };
    const double fixed = bound();
    const auto learned = learn_thresholds(scene, *dummy, plan, 8000, 0.9999);
    ASSERT_TRUE(learned);
    plan.thresholds = *learned;
    EXPECT_GT(std::abs(learned->front()), 0.3);
    EXPECT_GT(bound(), fixed + 0.05) << delta;
    EXPECT_LE(bound(), mechanism->guarantee().epsilon);
  }
}

// A threshold must not be chosen on the trials that are counted: what learning draws is its own.
TEST(VectorTrials, LearningHasTrialsOfItsOwn) {
  const auto mechanism = vector_mechanism("gaussian", {{"epsilon", 2.0}, {"delta", 1e-3}}, 20);
  TrialPlan plan;
  plan.mechanisms = {mechanism.get()};
  plan.trials = 500;
  TrialPlan learning = plan;
  learning.learning = true;
  const TrialCounts tested = audited(*mechanism, plan), learned = audited(*mechanism, learning);
  EXPECT_TRUE(tested.total.front().scores[0].empty());
  const Tally& tally = learned.total.front();
  EXPECT_EQ(tally.scores[0].size(), tally.likelihood.zeros);
  EXPECT_EQ(tally.scores[1].size(), tally.likelihood.ones);
  EXPECT_NE(tally.likelihood.zeros * 1000 + tally.likelihood.false_positives,
            tested.total.front().likelihood.zeros * 1000 +
                tested.total.front().likelihood.false_positives);
}

TEST(VectorTrials, ATieGoesToTheFirst) {
  const std::vector<float> same(40, 0.1F);
  const auto mechanism = vector_mechanism("privunit", {{"epsilon", 4.0}}, 40);
  TrialPlan plan;
  plan.mechanisms = {mechanism.get()};
  plan.trials = 100;
  const auto counts = run_trials(empty_scene(40, 1.0), Fixed(same, same), plan);
  ASSERT_TRUE(counts);
  for (const Guesses& guesses : {counts->total[0].cosine, counts->total[0].likelihood}) {
    EXPECT_EQ(guesses.false_positives, 0U);
    EXPECT_EQ(guesses.false_negatives, guesses.ones);
  }
}

TEST(VectorTrials, CountsDependNeitherOnThreadsNorOnCompany) {
  const auto weak = vector_mechanism("ldp-sgd", {{"epsilon", 0.5}}, 300);
  const auto strong = vector_mechanism("ldp-sgd", {{"epsilon", 3.0}}, 300);
  const auto run = [&](unsigned threads) {
    TrialPlan plan;
    plan.mechanisms = {weak.get(), strong.get()};
    plan.trials = 777;
    plan.measurements = 3;
    plan.similarities = true;
    plan.threads = threads;
    auto counts = run_trials(empty_scene(300, 1.0), *dummy_adversary.make(), plan);
    EXPECT_TRUE(counts);
    return *counts;
  };
  const TrialCounts one = run(1), four = run(4);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    for (std::size_t m = 0; m < 3; ++m) {
      const Tally& a = one.measured[kind][m];
      const Tally& b = four.measured[kind][m];
      EXPECT_EQ(a.cosine.trials(), 777U);
      EXPECT_EQ(a.cosine.zeros, b.cosine.zeros);
      EXPECT_EQ(a.cosine.false_positives, b.cosine.false_positives);
      EXPECT_EQ(a.likelihood.false_negatives, b.likelihood.false_negatives);
      EXPECT_EQ(a.similarities.of_first, b.similarities.of_first);
      EXPECT_EQ(a.similarities.of_second, b.similarities.of_second);
    }
  }
  EXPECT_LT(one.total[1].cosine.wrong(), one.total[0].cosine.wrong());
  // Measurements are independent of each other.
  EXPECT_NE(one.measured[0][0].similarities.of_first, one.measured[0][1].similarities.of_first);
}

TEST(VectorTrials, StopsWhereItIsEnough) {
  const auto mechanism = vector_mechanism("ldp-sgd", {{"epsilon", 1.0}}, 8);
  TrialPlan plan;
  plan.trials = 3 * TrialPlan::kGroup + 5;
  plan.threads = 2;
  int asked = 0;
  plan.enough = [&](std::span<const Tally> so_far) {
    EXPECT_EQ(so_far.front().cosine.trials(),
              static_cast<std::uint64_t>(++asked) * TrialPlan::kGroup);
    return asked == 2;
  };
  const TrialCounts counts = audited(*mechanism, plan);
  EXPECT_TRUE(counts.stopped);
  EXPECT_EQ(counts.trials, 2 * TrialPlan::kGroup);
}

TEST(VectorTrials, AShorterDummyIsHarderToTell) {
  const auto mechanism = vector_mechanism("ldp-sgd", {{"epsilon", 4.0}}, 100);
  TrialPlan plan;
  plan.trials = 10000;
  plan.threads = 2;
  double before = 0.0;
  for (const double norm : {0.1, 0.5, 1.0}) {
    // P(correct) = 1/2 + |x| (e^eps - 1) / (2 L (e^eps + 1))
    const double accuracy =
        lower_bounds(audited(*mechanism, plan, norm).total.front().cosine, 0.95).accuracy;
    EXPECT_NEAR(accuracy, 0.5 + 0.5 * norm * std::tanh(2.0), 0.02) << norm;
    EXPECT_GT(accuracy, before);
    before = accuracy;
  }
}

/// The Gaussian mechanism's claim with half of its noise.
class HalfNoise final : public VectorMechanism {
 public:
  HalfNoise(std::size_t dimension, double sigma, double epsilon, double delta)
      : VectorMechanism("half-noise", Domain{flat_layout(dimension), {Range{0.0, 1.0}}},
                        {{"norm", 1.0}}),
        sigma_(sigma) {
    set_lattice(30000, sigma / 1000.0);
    set_guarantee(epsilon, delta, epsilon, "too much");
  }
  WorstCase worst_case() const override { return {}; }
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    double square = 0.0;
    for (std::size_t i = 0; i < report.size(); ++i) {
      const double off = step() * static_cast<double>(report[i]) - static_cast<double>(x[i]);
      square += off * off;
    }
    return -2.0 * square / (sigma_ * sigma_);
  }
  Moments moments(std::span<const float>, std::size_t) const override { return {}; }
  bool sums_to_one(std::span<const float>, std::size_t) const override { return true; }
  std::vector<Constant> constants() const override { return {}; }

 private:
  void sample(std::span<const float> input, BitSource& bits, unsigned /*threads*/,
              PackedSymbols& out) const override {
    std::vector<std::int64_t> symbols(input.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
      const double noisy = static_cast<double>(input[i]) + sigma_ / 2.0 * bits.normal();
      symbols[i] = std::llround(std::clamp(noisy / step(), -30000.0, 30000.0));
    }
    out.write(0, std::span<const std::int64_t>(symbols));
  }
  double sigma_;
};

// At delta 0.1 the correct guesses alone show it: with half the noise the optimal test is correct
// in Phi(2 / sigma) of all cases. At a small delta the threshold must lie in the tail.
TEST(VectorTrials, HalfTheNoiseIsRefuted) {
  const auto honest = vector_mechanism("gaussian", {{"epsilon", 1.0}, {"delta", 0.1}}, 60);
  const double sigma = std::sqrt(honest->moments(std::vector<float>(60, 0.0F), 0).variance);
  const HalfNoise broken(60, sigma, 1.0, 0.1);
  TrialPlan plan;
  plan.trials = 5000;
  plan.threads = 2;
  const auto verdict = [&](const Mechanism& mechanism) {
    const TrialCounts counts = audited(mechanism, plan);
    const VectorFinding finding =
        finding_of(mechanism, counts, 0, Distinguisher::kLikelihood, 0.999, 0.999);
    return finding.verdict;
  };
  EXPECT_EQ(verdict(*honest), Verdict::kConsistent);
  EXPECT_EQ(verdict(broken), Verdict::kViolated);
}

/// ldp-sgd at twice the epsilon that it claims: half the probability, in logarithms, to take the
/// wrong side.
class Boastful final : public VectorMechanism {
 public:
  Boastful(std::size_t dimension, double claimed)
      : VectorMechanism("boastful", Domain{flat_layout(dimension), {Range{0.0, 1.0}}},
                        {{"norm", 1.0}}),
        honest_(vector_mechanism("ldp-sgd", {{"epsilon", 2.0 * claimed}}, dimension)) {
    set_lattice(honest_->largest_symbol(), 1.0);
    set_guarantee(claimed, 0.0, claimed, "too much");
  }
  WorstCase worst_case() const override { return {}; }
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    return honest_->log_prob(report, x);
  }
  Moments moments(std::span<const float>, std::size_t) const override { return {}; }
  bool sums_to_one(std::span<const float>, std::size_t) const override { return true; }
  std::vector<Constant> constants() const override { return {}; }

 private:
  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override {
    std::vector<float> values(input.begin(), input.end());
    const Bounded x = bound(Update(domain().layout, std::move(values)), honest_->domain());
    out = honest_->perturb(x, bits, threads).symbols();
  }
  std::unique_ptr<Mechanism> honest_;
};

TEST(VectorTrials, TwiceTheEpsilonIsRefuted) {
  const Boastful broken(50, 1.0);
  TrialPlan plan;
  plan.trials = 2000;
  const TrialCounts counts = audited(broken, plan);
  for (const auto which : {Distinguisher::kCosine, Distinguisher::kLikelihood}) {
    const VectorFinding finding = finding_of(broken, counts, 0, which, 0.999, 0.999);
    EXPECT_EQ(finding.verdict, Verdict::kViolated);
    EXPECT_GT(finding.all.best, 1.5);
    EXPECT_LE(finding.all.best, 2.0);
  }
}

TEST(VectorTrials, NamesAreFoundOrTheNearestIsNamed) {
  EXPECT_EQ(*find_distinguisher("cosine"), Distinguisher::kCosine);
  EXPECT_EQ(*find_distinguisher("likelihood"), Distinguisher::kLikelihood);
  const auto wrong = find_distinguisher("cosin");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("did you mean 'cosine'"), std::string::npos)
      << wrong.error().message;
  const auto nobody = find_adversary("dumy");
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message.find("'dummy'"), std::string::npos);
  EXPECT_EQ(adversaries().size(), 5U);
}

}  // namespace
}  // namespace sotto
