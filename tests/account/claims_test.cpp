// The table of claims: its rows, their numbers, and that no row is better than it may be.
#include "sotto/claims.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "account/chunks.h"
#include "flat_layout.h"
#include "sotto/account.h"

namespace sotto {
namespace {

std::shared_ptr<const Mechanism> made(const std::string& name, std::size_t weights,
                                      const Parameters& parameters) {
  auto mechanism = make_mechanism(name, Domain{flat_layout(weights), {{0.0, 1.0}}}, parameters);
  EXPECT_TRUE(mechanism) << mechanism.error().message;
  return std::shared_ptr<const Mechanism>(std::move(*mechanism));
}

/// Several tensors with ranges of their own.
std::shared_ptr<const Mechanism> tensors(const std::vector<std::pair<std::size_t, double>>& parts,
                                         double epsilon) {
  auto layout = std::make_shared<Layout>();
  Domain domain;
  for (const auto& [size, radius] : parts) {
    layout->add("t" + std::to_string(domain.ranges.size()), {static_cast<std::int64_t>(size)},
                TensorRole::kParameter);
    domain.ranges.push_back({0.0, radius});
  }
  domain.layout = layout;
  auto mechanism = make_mechanism("two-point", domain, {{"epsilon", epsilon}});
  EXPECT_TRUE(mechanism) << mechanism.error().message;
  return std::shared_ptr<const Mechanism>(std::move(*mechanism));
}

Exposure rounds(std::uint64_t count) {
  Exposure exposure;
  exposure.turns.resize(1);
  exposure.turns[0].rounds = count;
  return exposure;
}

/// With this mechanism in all turns; it must outlive the claims.
std::vector<Claim> claims_of(const Mechanism& mechanism, Exposure exposure) {
  const std::shared_ptr<const Mechanism> borrowed(std::shared_ptr<void>(), &mechanism);
  for (Turn& turn : exposure.turns) turn.variants = {{borrowed}};
  return claims_of(exposure);
}

Exposure shuffled(std::uint64_t clients, std::uint64_t count, std::uint64_t split) {
  Exposure exposure = rounds(count);
  exposure.shuffle = ShuffleMode::kShuffler;
  exposure.split = split;
  exposure.turns[0].batches = {{clients, count}};
  return exposure;
}

std::vector<std::string> scopes(const std::vector<Claim>& claims) {
  std::vector<std::string> all;
  for (const Claim& claim : claims) all.emplace_back(scope_text(claim));
  return all;
}

/// The last claim of this scope: the better one where there are two.
const Claim& last(const std::vector<Claim>& claims, const std::string& scope) {
  const Claim* found = nullptr;
  for (const Claim& claim : claims) {
    if (scope_text(claim) == scope) found = &claim;
  }
  EXPECT_NE(found, nullptr) << scope;
  static const Claim kNone;
  return found == nullptr ? kNone : *found;
}

double local(const Mechanism& mechanism, const Exposure& exposure) {
  return last(claims_of(mechanism, exposure), "client, whole training").epsilon;
}

double after_shuffler(const Mechanism& mechanism, const Exposure& exposure) {
  return last(claims_of(mechanism, exposure), "client, whole training, after the shuffler").epsilon;
}

TEST(Claims, FiveAWeightIsNotFiveAClient) {
  const auto srr = made("srr", 20'490, {{"epsilon", 5.0}});
  const std::vector<Claim> claims = claims_of(*srr, rounds(10));
  EXPECT_EQ(scopes(claims),
            (std::vector<std::string>{"one weight, one round", "client, one round",
                                      "client, one round", "client, whole training",
                                      "client, whole training", "as published, client"}));
  EXPECT_NEAR(claims[0].epsilon, 5.0, 1e-3);
  EXPECT_EQ(claims[0].delta, 0.0);
  EXPECT_NEAR(claims[1].epsilon, 102'450.0, 30.0);
  EXPECT_GE(claims[1].epsilon, claims[0].epsilon * 20'490.0);
  EXPECT_NEAR(claims[2].epsilon, 1.016e5, 0.005e5);
  EXPECT_EQ(claims[2].delta, 1e-6);
  EXPECT_NEAR(claims[3].epsilon, 1'024'500.0, 300.0);
  EXPECT_LT(claims[4].epsilon, claims[3].epsilon);
  EXPECT_EQ(claims[5].epsilon, 5.0);
  EXPECT_NE(source_text(claims[5]), "sotto");
  EXPECT_FALSE(claims[0].vacuous());
  for (std::size_t i = 1; i < 5; ++i) EXPECT_TRUE(claims[i].vacuous()) << i;
  // What the authors claim is not what the run is called by.
  EXPECT_EQ(client_claim(claims), &claims[4]);
}

TEST(Claims, OneReportOfAVectorNeedsNoComposition) {
  const auto vector = made("privunit", 100, {{"epsilon", 3.0}});
  const std::vector<Claim> once = claims_of(*vector, rounds(1));
  EXPECT_EQ(scopes(once),
            (std::vector<std::string>{"client, one round", "client, whole training"}));
  EXPECT_EQ(once[0].epsilon, vector->guarantee().epsilon);
  const std::vector<Claim> often = claims_of(*vector, rounds(100));
  EXPECT_EQ(often.size(), 3U);
  EXPECT_LT(often[2].epsilon, often[1].epsilon);
  EXPECT_GE(often[2].epsilon, often[0].epsilon);
}

/// A mechanism whose sampler leaves its exact distribution with a probability of the test's choice.
class Inexact final : public Mechanism {
 public:
  Inexact(std::shared_ptr<const Mechanism> inner, double coupling)
      : inner_(std::move(inner)), coupling_(coupling) {}
  std::string_view id() const noexcept override { return inner_->id(); }
  const Domain& domain() const noexcept override { return inner_->domain(); }
  Guarantee guarantee() const override { return inner_->guarantee(); }
  WorstCase worst_case() const override { return inner_->worst_case(); }
  std::size_t outputs() const noexcept override { return inner_->outputs(); }
  unsigned symbol_bits() const noexcept override { return inner_->symbol_bits(); }
  Symbol smallest_symbol() const noexcept override { return inner_->smallest_symbol(); }
  Symbol largest_symbol() const noexcept override { return inner_->largest_symbol(); }
  std::vector<Symbol> alphabet(std::size_t i) const override { return inner_->alphabet(i); }
  void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
              std::span<double> mean) const override {
    inner_->decode(sums, reports, first, mean);
  }
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    return inner_->log_prob(report, x);
  }
  Moments moments(std::span<const float> x, std::size_t i) const override {
    return inner_->moments(x, i);
  }
  bool sums_to_one(std::span<const float> x, std::size_t i) const override {
    return inner_->sums_to_one(x, i);
  }
  std::vector<Constant> constants() const override { return inner_->constants(); }
  Background background(std::size_t first, std::size_t count) const override {
    Background background = inner_->background(first, count);
    background.coupling = coupling_;
    return background;
  }

 private:
  void sample(std::span<const float> /*input*/, BitSource& /*bits*/, unsigned /*threads*/,
              PackedSymbols& /*out*/) const override {}
  std::shared_ptr<const Mechanism> inner_;
  double coupling_;
};

TEST(Claims, ASamplerInFloatingPointPaysForIt) {
  // The known example of whole reports among 60,000 clients in 100 rounds: 0.885.
  const std::string scope = "client, whole training, after the shuffler";
  const auto vector = made("privunit", 8340, {{"epsilon", 3.0}});
  const Exposure exposure = shuffled(60'000, 100, 0);
  const auto claims = claims_of(Inexact(vector, 1e-16), exposure);
  const Claim& training = last(claims, scope);
  EXPECT_NEAR(training.epsilon, 0.885, 0.005);
  EXPECT_NE(training.assumption.find("floating point"), std::string::npos);
  // 6 million reports: an error of 10^-14 takes a fifth of delta, and epsilon grows a little.
  const auto more = claims_of(Inexact(vector, 1e-14), exposure);
  EXPECT_GT(last(more, scope).epsilon, training.epsilon);
  EXPECT_LT(last(more, scope).epsilon, 0.95);
  // What is left of delta covers it: delta at epsilon plus S (1 + e^epsilon).
  const double epsilon = last(more, scope).epsilon;
  const PrivacyLoss loss = PrivacyLoss::shuffled(vector->background(0, 8340), 60'000).times(100);
  EXPECT_LE(loss.delta(epsilon) + 6e6 * 1e-14 * (1.0 + std::exp(epsilon)), 1e-6);
  // An error that costs more than delta leaves the local claim, with the reason.
  const auto fallen = claims_of(Inexact(vector, 1e-12), exposure);
  EXPECT_EQ(last(fallen, scope).epsilon, last(fallen, "client, whole training").epsilon);
  EXPECT_NE(last(fallen, scope).theorem.find("arithmetic alone"), std::string::npos);
}

TEST(Claims, GaussianComposesByItsLoss) {
  const auto gaussian = made("gaussian", 50, {{"epsilon", 1.0}, {"delta", 1e-7}});
  Exposure exposure = rounds(50);
  exposure.delta = 1e-5;
  const std::vector<Claim> claims = claims_of(*gaussian, exposure);
  const Claim& best = claims.back();
  EXPECT_EQ(scope_text(best), "client, whole training");
  EXPECT_EQ(best.delta, 1e-5);
  const double ratio = gaussian->guarantee().gaussian_ratio;
  ASSERT_GT(ratio, 0.0);
  EXPECT_GE(best.epsilon, PrivacyLoss::gaussian(ratio).times(50).epsilon(1e-5));
  EXPECT_LT(best.epsilon, 25.0);  // half of what adding up gives
  // No amplification is proven for it, and the table says so.
  exposure.shuffle = ShuffleMode::kShuffler;
  exposure.turns[0].batches = {{100'000, 50}};
  const std::vector<Claim> hidden = claims_of(*gaussian, exposure);
  EXPECT_EQ(hidden.back().epsilon, best.epsilon);
  EXPECT_NE(hidden.back().theorem.find("no amplification is proven"), std::string::npos);
}

TEST(Claims, SingleWeightsAmongAThousandClients) {
  const auto two_point = made("two-point", 20'490, {{"epsilon", 1.0}});
  const std::vector<Claim> claims = claims_of(*two_point, shuffled(1000, 1, 1));
  const Claim& one = last(claims, "client, one round, after the shuffler");
  const double exact = PrivacyLoss::shuffled_binary(1.0, 1000).times(20'490).epsilon(1e-6);
  const double generic =
      PrivacyLoss::shuffled(Background{1.0, 0.0, 0.0}, 1000).times(20'490).epsilon(1e-6);
  EXPECT_NEAR(exact, 32.9, 0.2);
  EXPECT_GE(one.epsilon, exact * 0.999);
  EXPECT_LE(one.epsilon, generic * 1.001);
  EXPECT_EQ(one.delta, 1e-6);
  for (const char* part :
       {"shuffler", "does not work with the server", "1,000 clients", "may know their data"}) {
    EXPECT_NE(one.assumption.find(part), std::string::npos) << part;
  }
  // One round is the whole training here.
  EXPECT_EQ(last(claims, "client, whole training, after the shuffler").epsilon, one.epsilon);
  EXPECT_EQ(scope_text(*client_claim(claims)), "client, whole training, after the shuffler");
}

TEST(Claims, MoreRoundsCostMoreAndMoreClientsOrDeltaCostLess) {
  const auto two_point = made("two-point", 500, {{"epsilon", 0.5}});
  double before = 0.0;
  for (const std::uint64_t count : {1U, 2U, 5U, 20U, 100U}) {
    const double epsilon = after_shuffler(*two_point, shuffled(5000, count, 1));
    EXPECT_GT(epsilon, before) << count;
    before = epsilon;
  }
  before = 1e9;
  for (const std::uint64_t clients : {100U, 300U, 1000U, 10'000U, 1'000'000U}) {
    const double epsilon = after_shuffler(*two_point, shuffled(clients, 3, 1));
    EXPECT_LT(epsilon, before) << clients;
    before = epsilon;
  }
  before = 1e9;
  for (const double delta : {1e-9, 1e-7, 1e-5, 1e-3}) {
    Exposure exposure = shuffled(1000, 3, 1);
    exposure.delta = delta;
    const double epsilon = after_shuffler(*two_point, exposure);
    EXPECT_LT(epsilon, before) << delta;
    before = epsilon;
  }
}

TEST(Claims, AShufflerNeverMakesThingsWorse) {
  const auto two_point = made("two-point", 64, {{"epsilon", 2.0}});
  for (const std::uint64_t clients : {1U, 2U, 5U, 20U, 100U}) {
    for (const std::uint64_t split : {0U, 1U, 7U, 63U, 64U, 1000U}) {
      const std::vector<Claim> claims = claims_of(*two_point, shuffled(clients, 4, split));
      for (const std::string scope : {"client, one round", "client, whole training"}) {
        EXPECT_LE(last(claims, scope + ", after the shuffler").epsilon, last(claims, scope).epsilon)
            << clients << ' ' << split;
      }
    }
  }
  const std::vector<Claim> alone = claims_of(*two_point, shuffled(1, 4, 1));
  EXPECT_NE(last(alone, "client, whole training, after the shuffler").theorem.find("too small"),
            std::string::npos);
  const std::vector<Claim> whole = claims_of(*two_point, shuffled(100'000, 4, 0));
  EXPECT_NE(whole.back().theorem.find("too much to hide"), std::string::npos);
}

TEST(Claims, TheSmallestBatchesCount) {
  const auto two_point = made("two-point", 100, {{"epsilon", 1.0}});
  Exposure mixed = shuffled(1000, 2, 1);
  mixed.turns[0].batches = {{200, 2}, {1000, 8}};
  // Two rounds: both may have been small ones.
  EXPECT_EQ(after_shuffler(*two_point, mixed), after_shuffler(*two_point, shuffled(200, 2, 1)));
  mixed.turns[0].rounds = 10;
  const double all = after_shuffler(*two_point, mixed);
  EXPECT_GT(all, after_shuffler(*two_point, shuffled(1000, 10, 1)));
  EXPECT_LT(all, after_shuffler(*two_point, shuffled(200, 10, 1)));
  EXPECT_EQ(
      last(claims_of(*two_point, mixed), "client, one round, after the shuffler").epsilon,
      last(claims_of(*two_point, shuffled(200, 1, 1)), "client, one round, after the shuffler")
          .epsilon);
  // Rounds of which the server was given nothing show it nothing, and still cost locally.
  Exposure few = shuffled(1000, 5, 1);
  few.turns[0].batches = {{1000, 2}};
  EXPECT_EQ(after_shuffler(*two_point, few), after_shuffler(*two_point, shuffled(1000, 2, 1)));
  EXPECT_EQ(local(*two_point, few), local(*two_point, rounds(5)));
  few.turns[0].batches = {};
  EXPECT_EQ(after_shuffler(*two_point, few), 0.0);
}

TEST(Claims, ManySizesOfBatchesAreJoinedToTheSafeSide) {
  const auto two_point = made("two-point", 100, {{"epsilon", 1.0}});
  Exposure exposure = shuffled(1000, 100, 1);
  exposure.turns[0].batches.clear();
  for (std::uint64_t size = 1000; size < 1100; ++size) exposure.turns[0].batches[size] = 1;
  const double joined = after_shuffler(*two_point, exposure);
  EXPECT_LT(joined, after_shuffler(*two_point, shuffled(1000, 100, 1)));
  EXPECT_GT(joined, after_shuffler(*two_point, shuffled(1050, 100, 1)) * 0.999);
}

TEST(Claims, WhoWasPickedMayBeSecret) {
  const auto two_point = made("two-point", 100, {{"epsilon", 1.0}});
  Exposure seen = shuffled(1000, 30, 1);
  seen.turns[0].rounds = 12;  // the most of any client, out of 30
  Exposure hidden = seen;
  hidden.sampling = 0.1;
  hidden.population = 10'000;
  EXPECT_LT(after_shuffler(*two_point, hidden), after_shuffler(*two_point, seen));
  const std::vector<Claim> claims = claims_of(*two_point, hidden);
  const Claim& claim = last(claims, "client, whole training, after the shuffler");
  for (const char* part : {"those who were picked", "10,000 clients", "but how many"}) {
    EXPECT_NE(claim.assumption.find(part), std::string::npos) << part;
  }
}

TEST(Claims, OthersWhoColludeHideNobody) {
  const auto vector = made("privunit", 100, {{"epsilon", 3.0}});
  const Exposure all = shuffled(10'001, 5, 0);
  const std::vector<Claim> claims = claims_of(*vector, all);
  const std::string scope = "client, whole training, after the shuffler";
  const Claim& tenth = last(claims, scope + ", if a tenth of the others collude");
  const Claim& half = last(claims, scope + ", if half of the others collude");
  EXPECT_EQ(tenth.epsilon, after_shuffler(*vector, shuffled(9'001, 5, 0)));
  EXPECT_EQ(half.epsilon, after_shuffler(*vector, shuffled(5'001, 5, 0)));
  EXPECT_LT(last(claims, scope).epsilon, tenth.epsilon);
  EXPECT_LT(tenth.epsilon, half.epsilon);
  EXPECT_NE(half.assumption.find("50 % of the others"), std::string::npos);
  EXPECT_NE(last(claims, scope).assumption.find("coins of their reports secret"),
            std::string::npos);
  // They are warnings: a training is called by what its exposure says of its members.
  EXPECT_FALSE(promises_client(half));
  EXPECT_EQ(scope_text(*client_claim(claims)), scope);
  Exposure fewer = all;
  fewer.honest = 0.5;
  EXPECT_EQ(after_shuffler(*vector, fewer), half.epsilon);
  for (const Claim& claim : claims_of(*vector, fewer)) {
    EXPECT_FALSE(scope_text(claim).ends_with("collude"))
        << scope_text(claim);  // it would promise more
  }
  // Nobody is left to hide behind: no gain.
  fewer.honest = 1e-6;
  EXPECT_EQ(after_shuffler(*vector, fewer), local(*vector, fewer));
}

TEST(Claims, NoneStaysInfinite) {
  const auto none = made("none", 10, {});
  Exposure exposure = shuffled(1'000'000, 3, 1);
  exposure.audited_epsilon = 12.0;
  exposure.audit_confidence = 0.95;
  for (const Claim& claim : claims_of(*none, exposure)) {
    if (scope_text(claim).starts_with("audited")) {
      EXPECT_EQ(claim.assumption.find("VIOLATED"), std::string::npos);
      continue;
    }
    EXPECT_TRUE(std::isinf(claim.epsilon)) << scope_text(claim);
    EXPECT_TRUE(claim.vacuous());
  }
  EXPECT_EQ(local(*none, rounds(0)), 0.0);
}

TEST(Claims, AnAuditThatFindsMoreThanIsProvenSaysSo) {
  const auto two_point = made("two-point", 10, {{"epsilon", 0.1}});
  Exposure exposure = rounds(2);
  exposure.audit_confidence = 0.95;
  exposure.audited_epsilon = 1.9;
  const Claim fine = claims_of(*two_point, exposure).back();
  EXPECT_EQ(scope_text(fine), "audited, whole training");
  EXPECT_EQ(fine.theorem, "lower bound with confidence 95 %");
  EXPECT_EQ(fine.status, Status::kMeasured);
  EXPECT_EQ(fine.assumption.find("VIOLATED"), std::string::npos);
  exposure.audited_epsilon = 2.1;
  const Claim violated = claims_of(*two_point, exposure).back();
  EXPECT_EQ(violated.status, Status::kViolated);
  EXPECT_NE(violated.assumption.find("VIOLATED"), std::string::npos);
}

TEST(Claims, APublishedClaimThatDoesNotHoldStandsApart) {
  auto layout = flat_layout(4);
  auto mechanism = make_mechanism("ldpfl-1", Domain{layout, {{0.0, 1.0}}}, {{"epsilon", 0.5}});
  ASSERT_TRUE(mechanism) << mechanism.error().message;
  const std::vector<Claim> claims = claims_of(**mechanism, rounds(1));
  const Claim& published = last(claims, "as published, one report");
  EXPECT_EQ(published.epsilon, 0.5);
  EXPECT_NE(published.assumption.find("does not hold"), std::string::npos);
  EXPECT_GT(client_claim(claims)->epsilon, 0.5);
}

TEST(Chunks, AreCountedByTensorsNotByWeights) {
  const auto count = [](const std::vector<ChunkKind>& kinds) {
    std::uint64_t sum = 0;
    for (const ChunkKind& kind : kinds) sum += kind.count;
    return sum;
  };
  // Equal ranges: one kind of whole chunks, and the rest at the end.
  const auto equal = tensors({{1000, 1.0}, {37, 1.0}, {3, 1.0}, {5000, 1.0}}, 0.5);
  for (const std::uint64_t split : {1U, 2U, 7U, 40U, 999U, 1001U, 6039U}) {
    const auto kinds = chunk_kinds(*equal, split);
    EXPECT_EQ(count(kinds), (6040 + split - 1) / split) << split;
    EXPECT_LE(kinds.size(), 2U) << split;
  }
  EXPECT_EQ(chunk_kinds(*equal, 0).size(), 1U);
  EXPECT_EQ(chunk_kinds(*equal, 0)[0].count, 1U);
  const auto chunk = chunk_kinds(*equal, 7);
  EXPECT_NEAR(chunk[0].background.epsilon, 7 * equal->guarantee().unit_epsilon, 1e-7);
  EXPECT_GE(chunk[0].background.epsilon, 7 * equal->guarantee().unit_epsilon);
  // A vector is drawn as a whole: what was shuffled whole may be cut and shuffled again.
  const auto vector = made("privunit", 100, {{"epsilon", 3.0}});
  EXPECT_EQ(count(chunk_kinds(*vector, 10)), 1U);
  EXPECT_EQ(after_shuffler(*vector, shuffled(10'000, 5, 10)),
            after_shuffler(*vector, shuffled(10'000, 5, 0)));
}

TEST(Claims, AMillionClientsAndMillionsOfWeightsAnswerAtOnce) {
  std::vector<std::pair<std::size_t, double>> parts(40, {140'296, 1.0});
  const auto big = tensors(parts, 0.01);
  ASSERT_GT(big->outputs(), 5'600'000U);
  for (const std::uint64_t split : {1U, 100U}) {
    const std::clock_t start = std::clock();  // of the processor: others may be at work
    const std::vector<Claim> claims = claims_of(*big, shuffled(1'000'000, 1000, split));
    EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC) << split;
    EXPECT_LT(last(claims, "client, whole training, after the shuffler").epsilon,
              last(claims, "client, whole training").epsilon);
  }
}

}  // namespace
}  // namespace sotto
