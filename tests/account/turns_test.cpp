// Trainings that use several mechanisms: at once, one after another, and with ranges that move.
// What holds of each alone must hold of all together, and one mechanism cut in parts costs what it
// did.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "account/chunks.h"
#include "account/releases.h"
#include "flat_layout.h"
#include "sotto/account.h"
#include "sotto/claims.h"

namespace sotto {
namespace {

using Made = std::shared_ptr<const Mechanism>;

Made made(const std::string& name, std::size_t weights, const Parameters& parameters,
          double radius = 1.0) {
  auto mechanism = make_mechanism(name, Domain{flat_layout(weights), {{0.0, radius}}}, parameters);
  EXPECT_TRUE(mechanism) << (mechanism ? "" : mechanism.error().message);
  return std::move(*mechanism);
}

Made two_point(std::size_t weights, double epsilon) {
  return made("two-point", weights, {{"epsilon", epsilon}});
}

Turn together(std::vector<Made> mechanisms, std::uint64_t rounds, std::uint64_t batch = 0) {
  Turn turn = turn_of(nullptr, rounds, batch);
  turn.variants = {std::move(mechanisms)};
  return turn;
}

Turn any_of(const std::vector<Made>& variants, std::uint64_t rounds, std::uint64_t batch = 0) {
  Turn turn = turn_of(nullptr, rounds, batch);
  turn.variants.clear();
  for (const Made& variant : variants) turn.variants.push_back({variant});
  return turn;
}

Exposure of(std::vector<Turn> turns, ShuffleMode shuffle = ShuffleMode::kNone) {
  Exposure exposure;
  exposure.turns = std::move(turns);
  exposure.shuffle = shuffle;
  exposure.split = 1;
  return exposure;
}

/// All epsilons of this scope, in order.
std::vector<double> epsilons(const Exposure& exposure, const std::string& scope) {
  std::vector<double> all;
  for (const Claim& claim : claims_of(exposure)) {
    if (scope_text(claim) == scope) all.push_back(claim.epsilon);
  }
  return all;
}

double best(const Exposure& exposure, const std::string& scope) {
  const std::vector<double> all = epsilons(exposure, scope);
  EXPECT_FALSE(all.empty()) << scope;
  return all.empty() ? -1.0 : *std::ranges::min_element(all);
}

const std::string kLocalScopes[] = {"one weight, one round", "client, one round",
                                    "client, whole training"};
const std::string kShuffledScopes[] = {"client, one round, after the shuffler",
                                       "client, whole training, after the shuffler"};

TEST(Turns, OneMechanismInTwoPartsCostsTheSame) {
  const Exposure whole = of({turn_of(two_point(500, 0.5), 10, 1000)}, ShuffleMode::kShuffler);
  const Exposure parts =
      of({together({two_point(200, 0.5), two_point(300, 0.5)}, 10, 1000)}, ShuffleMode::kShuffler);
  const Exposure turns =
      of({turn_of(two_point(500, 0.5), 4, 1000), turn_of(two_point(500, 0.5), 6, 1000)},
         ShuffleMode::kShuffler);
  for (const auto& scope : kLocalScopes) {
    const std::vector<double> expected = epsilons(whole, scope);
    for (const Exposure& other : {parts, turns}) {
      const std::vector<double> found = epsilons(other, scope);
      ASSERT_EQ(found.size(), expected.size()) << scope;
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], 1e-9 * expected[i]) << scope;
      }
    }
  }
  for (const auto& scope : kShuffledScopes) {
    EXPECT_NEAR(best(parts, scope), best(whole, scope), 1e-6 * best(whole, scope)) << scope;
    EXPECT_NEAR(best(turns, scope), best(whole, scope), 1e-6 * best(whole, scope)) << scope;
  }
}

TEST(Turns, SumsAndCompositionsOfUnlikeMechanisms) {
  const Made weak = two_point(100, 0.5), strong = two_point(50, 0.1);
  const Exposure both = of({together({weak, strong}, 4)});
  EXPECT_NEAR(epsilons(both, "client, one round")[0], 55.0, 1e-6);
  EXPECT_GE(epsilons(both, "client, one round")[0], 55.0);
  EXPECT_NEAR(epsilons(both, "client, whole training")[0], 220.0, 1e-6);
  const double exact =
      PrivacyLoss::pure(0.5).times(400).with(PrivacyLoss::pure(0.1).times(200)).epsilon(1e-6);
  EXPECT_NEAR(best(both, "client, whole training"), exact, 1e-3 * exact);
  // More than the larger part alone, less than if all weights were of the weaker kind.
  EXPECT_GT(best(both, "client, whole training"),
            best(of({turn_of(weak, 4)}), "client, whole training"));
  EXPECT_LT(best(both, "client, whole training"),
            best(of({turn_of(two_point(150, 0.5), 4)}), "client, whole training"));
  EXPECT_EQ(best(both, "one weight, one round"), weak->guarantee().unit_epsilon);
}

TEST(Turns, OneLayerAtATime) {
  const Made small = two_point(10, 0.5), large = two_point(1000, 0.25);
  const Exposure schedule =
      of({turn_of(small, 5, 2000), turn_of(large, 20, 1000)}, ShuffleMode::kShuffler);
  EXPECT_NEAR(epsilons(schedule, "client, one round")[0], 250.0, 1e-6);
  EXPECT_NEAR(epsilons(schedule, "client, whole training")[0], 5025.0, 1e-5);
  for (const std::string scope : {"client, one round", "client, one round, after the shuffler"}) {
    const double alone = std::max(best(of({schedule.turns[0]}, ShuffleMode::kShuffler), scope),
                                  best(of({schedule.turns[1]}, ShuffleMode::kShuffler), scope));
    EXPECT_EQ(best(schedule, scope), alone) << scope;
  }
  const double exact = PrivacyLoss::shuffled(small->background(0, 1), 2000)
                           .times(50)
                           .with(PrivacyLoss::shuffled(large->background(0, 1), 1000).times(20'000))
                           .epsilon(1e-6);
  EXPECT_NEAR(best(schedule, kShuffledScopes[1]), exact, 1e-3 * exact);
  // Turns of whose batches none was released show the server nothing, and cost locally.
  Exposure unseen = schedule;
  unseen.turns[1].batches.clear();
  EXPECT_NEAR(best(unseen, kShuffledScopes[1]),
              best(of({schedule.turns[0]}, ShuffleMode::kShuffler), kShuffledScopes[1]), 1e-6);
  EXPECT_EQ(best(unseen, "client, whole training"), best(schedule, "client, whole training"));
}

TEST(Turns, ClaimsHoldForTheWorstVariant) {
  const std::vector<Made> variants = {two_point(64, 0.5), two_point(64, 0.7), two_point(64, 0.6)};
  const Exposure moving = of({any_of(variants, 8, 5000)}, ShuffleMode::kShuffler);
  for (const auto& scope : kLocalScopes) {
    EXPECT_EQ(epsilons(moving, scope), epsilons(of({turn_of(variants[1], 8)}), scope)) << scope;
  }
  for (const auto& scope : kShuffledScopes) {
    for (const Made& variant : variants) {
      EXPECT_GE(best(moving, scope),
                best(of({turn_of(variant, 8, 5000)}, ShuffleMode::kShuffler), scope) * (1.0 - 1e-6))
          << scope;
    }
  }
  // Ranges that move without changing epsilon cost nothing.
  const auto srr = [](double radius) { return made("two-point", 64, {{"epsilon", 0.5}}, radius); };
  const Exposure ranges = of({any_of({srr(0.1), srr(0.2)}, 8, 5000)}, ShuffleMode::kShuffler);
  const Exposure fixed = of({turn_of(srr(0.1), 8, 5000)}, ShuffleMode::kShuffler);
  for (const auto& scope : kShuffledScopes) {
    EXPECT_NEAR(best(ranges, scope), best(fixed, scope), 1e-6);
  }
  Exposure ragged = of({turn_of(variants[0], 1)});
  ragged.turns[0].variants.push_back({variants[0], variants[1]});
  EXPECT_THROW(claims_of(ragged), std::logic_error);
}

TEST(Turns, AWeakerBackgroundContainsBoth) {
  const Background some[] = {
      {1.0, 0.5, 0.0}, {1.05, 0.36, 0.0}, {2.0, 0.3, 1e-12}, {0.5, 0.8, 0.0}, {3.0, 0.0, 0.0}};
  for (const Background& a : some) {
    for (const Background& b : some) {
      const Background both = weaker(a, b);
      for (const Background& each : {a, b}) {
        EXPECT_LE(both.floor, each.floor);
        EXPECT_GE(both.epsilon, each.epsilon);
        EXPECT_GE(both.coupling, each.coupling);
        if (both.floor > 0.0) {
          // Densities between the floor and e^epsilon times it are so here as well.
          EXPECT_GE(both.floor * std::exp(both.epsilon),
                    each.floor * std::exp(each.epsilon) * (1.0 - 1e-14));
        }
      }
    }
  }
}

TEST(Turns, OtherLayoutsAmongVariantsCountAsTheWorst) {
  const Made one = two_point(10, 0.5), other = two_point(20, 0.5);
  const auto kinds = chunk_kinds({one.get(), other.get()}, 4);
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds[0].count, 5U);
  EXPECT_GE(kinds[0].background.epsilon, other->background(0, 4).epsilon);
}

TEST(Turns, GaussianNoiseAndPureReportsCompose) {
  const Made noise = made("gaussian", 50, {{"epsilon", 1.0}, {"delta", 1e-7}});
  const Made pure = two_point(5, 0.1);
  Exposure exposure = of({together({noise, pure}, 20)});
  exposure.delta = 1e-5;
  const double ratio = noise->guarantee().gaussian_ratio;
  const double exact =
      PrivacyLoss::gaussian(ratio).times(20).with(PrivacyLoss::pure(0.1).times(100)).epsilon(1e-5);
  EXPECT_GE(best(exposure, "client, whole training"), exact);
  EXPECT_LE(best(exposure, "client, whole training"), exact * 1.01);
  // Two kinds of noise are one, with the square root of the squares' sum.
  const Made less = made("gaussian", 50, {{"epsilon", 0.5}, {"delta", 1e-7}});
  exposure.turns = {turn_of(noise, 10), turn_of(less, 10)};
  const double other = less->guarantee().gaussian_ratio;
  const double norm = std::sqrt(10 * ratio * ratio + 10 * other * other);
  EXPECT_GE(best(exposure, "client, whole training"), PrivacyLoss::gaussian(norm).epsilon(1e-5));
  EXPECT_LE(best(exposure, "client, whole training"),
            PrivacyLoss::gaussian(norm).epsilon(1e-5) * 1.001);
}

TEST(Turns, JoinedKindsAreOnTheSafeSide) {
  std::vector<ReleaseKind> kinds;
  PrivacyLoss exact;
  for (int i = 0; i < 20; ++i) {
    const double epsilon = 0.1 + 0.001 * i;
    kinds.push_back({epsilon, 0.0, 0.0, 0.0, 100});
    exact = exact.with(PrivacyLoss::pure(epsilon).times(100));
  }
  const double joined = composed_epsilon(kinds, 1e-6);
  EXPECT_GE(joined, exact.epsilon(1e-6) * 0.9999);
  EXPECT_LE(joined, exact.epsilon(1e-6) * 1.03);
}

TEST(Turns, DelaysPromiseNothingAgainstTheServer) {
  const Turn turn = turn_of(two_point(64, 0.5), 8, 5000);
  const Exposure delays = of({turn}, ShuffleMode::kLatency);
  const std::vector<Claim> claims = claims_of(delays);
  const std::vector<Claim> local = claims_of(of({turn}));
  ASSERT_EQ(claims.size(), local.size() + 2);
  for (std::size_t i = 0; i < local.size(); ++i) {
    EXPECT_EQ(scope_text(claims[i]), scope_text(local[i]));
    EXPECT_EQ(claims[i].epsilon, local[i].epsilon);
  }
  const Claim& last = claims.back();
  EXPECT_EQ(scope_text(last), "client, whole training, if delays mixed perfectly");
  EXPECT_NE(last.assumption.find("hide nothing from a server that sees connections"),
            std::string::npos);
  EXPECT_EQ(last.epsilon, best(of({turn}, ShuffleMode::kShuffler), kShuffledScopes[1]));
  EXPECT_FALSE(promises_client(last));
  EXPECT_EQ(scope_text(*client_claim(claims)), "client, whole training");
}

TEST(Turns, WhoIsPickedInSecret) {
  const Made vector = made("privunit", 50, {{"epsilon", 2.0}});
  Exposure exposure = of({turn_of(vector, 3)});
  exposure.turns[0].batches = {{100, 30}};  // 30 rounds; a client was in 3 of them
  exposure.sampling = 0.1;
  exposure.population = 1000;
  const std::vector<Claim> claims = claims_of(exposure);
  const std::string one = "client, one round, if nobody sees who was picked";
  const std::string all = "client, whole training, if nobody sees who was picked";
  const double epsilon = vector->guarantee().epsilon;
  // A round may have had more than its hundred reports: up to 150 but for probability 10^-6.
  EXPECT_GT(best(exposure, one), std::log1p(0.1 * std::expm1(epsilon)));
  EXPECT_LE(best(exposure, one), std::log1p(0.15 * std::expm1(epsilon)));
  // All thirty rounds count, by sum or by composition.
  EXPECT_GE(best(exposure, all), PrivacyLoss::pure(epsilon).sampled(0.1).times(30).epsilon(1e-6));
  EXPECT_LE(best(exposure, all), PrivacyLoss::pure(epsilon).sampled(0.15).times(30).epsilon(1e-6));
  EXPECT_EQ(scope_text(claims.back()), all);
  EXPECT_FALSE(promises_client(claims.back()));
  EXPECT_EQ(scope_text(*client_claim(claims)), "client, whole training");
  EXPECT_NE(claims.back().assumption.find("tells nobody"), std::string::npos);
  // At thousands, sampling takes off ln k/N and no more.
  exposure.turns = {turn_of(two_point(1000, 5.0), 1, 100)};
  EXPECT_NEAR(epsilons(of(exposure.turns), "client, one round")[0], 5000.0, 0.1);
  EXPECT_GT(best(exposure, one), 4800.0);
}

TEST(Turns, AlphaIsShownBesideTheEpsilonThatItIs) {
  // Two layers, alpha 1 in all: 1/4 for each of four rounds, split evenly over the weights.
  const auto layer = [](std::size_t weights) {
    return made("em", weights,
                {{"alpha", 0.25 / static_cast<double>(weights)}, {"precision", 3.0}});
  };
  Exposure exposure = of({turn_of(layer(100), 3, 10), turn_of(layer(25), 1, 10)});
  std::vector<const Claim*> published;
  std::vector<Claim> claims = claims_of(exposure);
  for (const Claim& claim : claims) {
    if (scope_text(claim) == "as published, client") published.push_back(&claim);
  }
  ASSERT_EQ(published.size(), 1U);
  EXPECT_NEAR(published[0]->epsilon, 1.0, 1e-9);
  EXPECT_NE(published[0]->theorem.find("alpha-CLDP with alpha = 1 in all"), std::string::npos);
  EXPECT_NE(published[0]->assumption.find("no theorem"), std::string::npos);
  EXPECT_FALSE(promises_client(*published[0]));
  // D = 2000 steps: epsilon = alpha D / 2 for a weight, 250 for a round, 1000 in all.
  EXPECT_NEAR(best(exposure, "one weight, one round"), 0.01 * 1000.0, 1e-6);
  EXPECT_NE(claims[0].theorem.find("alpha-CLDP with alpha = 0.01"), std::string::npos);
  EXPECT_NEAR(epsilons(exposure, "client, whole training")[0], 1000.0, 1e-6);
  // k of N picked: the authors multiply by k/N, and the table says when that holds.
  exposure.sampling = 0.2;
  exposure.population = 50;
  claims = claims_of(exposure);
  for (const Claim& claim : claims) {
    if (scope_text(claim) != "as published, client") continue;
    EXPECT_NEAR(claim.epsilon, 0.2, 1e-9);
    EXPECT_NE(claim.theorem.find("times k/N = 0.2"), std::string::npos);
    EXPECT_NE(claim.assumption.find("small epsilons alone"), std::string::npos);
  }
}

TEST(Turns, AuthorsAreQuotedOnceForEachMechanism) {
  const Exposure exposure =
      of({together({made("srr", 10, {{"epsilon", 1.0}}), made("srr", 20, {{"epsilon", 3.0}}),
                    made("grr", 20, {{"epsilon", 2.0}, {"precision", 1.0}})},
                   2),
          turn_of(made("srr", 30, {{"epsilon", 2.0}}), 1)});
  EXPECT_EQ(epsilons(exposure, "as published, client"), (std::vector<double>{3.0, 2.0}));
  EXPECT_EQ(exposure.mechanisms().size(), 4U);
  EXPECT_EQ(exposure.rounds(), 3U);
}

TEST(Turns, NothingSentAndNothingHidden) {
  const std::vector<Claim> none = claims_of(Exposure{});
  ASSERT_NE(client_claim(none), nullptr);
  EXPECT_EQ(client_claim(none)->epsilon, 0.0);
  EXPECT_EQ(client_claim(none)->theorem, "no report was sent");
  // One bare tensor spoils all.
  const Exposure bare =
      of({together({two_point(10, 0.1), made("none", 5, {})}, 3, 1000)}, ShuffleMode::kShuffler);
  EXPECT_TRUE(std::isinf(client_claim(claims_of(bare))->epsilon));
}

TEST(Turns, TwentyTensorsEightyRoundsMillionsOfWeights) {
  std::vector<Turn> turns;
  for (int turn = 0; turn < 4; ++turn) {
    Turn one = turn_of(nullptr, 20);
    one.variants.clear();
    for (int variant = 0; variant < 5; ++variant) {
      std::vector<Made> tensors;
      for (int tensor = 0; tensor < 20; ++tensor) {
        tensors.push_back(made("srr", 280'000, {{"epsilon", 1.0}, {"precision", 2.0}},
                               0.1 + 0.01 * tensor + 0.001 * variant));
      }
      one.variants.push_back(std::move(tensors));
    }
    turns.push_back(std::move(one));
  }
  const Exposure exposure = of(std::move(turns));
  const std::clock_t start = std::clock();  // of the processor: others may be at work
  const std::vector<Claim> claims = claims_of(exposure);
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  EXPECT_EQ(scope_text(claims[0]), "one weight, one round");
  EXPECT_NEAR(client_claim(claims)->epsilon, 4.48e8 * std::tanh(0.5), 0.05 * 4.48e8);
}

}  // namespace
}  // namespace sotto
