// Clients that are picked in secret while the number of reports is seen: by all outcomes.
#include "account/shuffled/sizes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "flat_layout.h"
#include "sotto/claims.h"

namespace sotto {
namespace {

constexpr double kDelta = 1e-6;
using Distribution = std::vector<double>;  // of one report
/// What the server sees: how often each value was reported; their sum is the size.
using Seen = std::map<std::vector<int>, double>;

/// One more client, who takes part with this probability and then reports by this distribution.
Seen joined(const Seen& before, const Distribution& distribution, double share) {
  Seen after;
  for (const auto& [counts, probability] : before) {
    after[counts] += probability * (1.0 - share);
    for (std::size_t value = 0; value < distribution.size(); ++value) {
      std::vector<int> more = counts;
      ++more[value];
      after[more] += probability * share * distribution[value];
    }
  }
  return after;
}

/// The least epsilon at delta of one pair, the worse one of both directions.
double epsilon_of(const Seen& first, const Seen& second, double delta) {
  const auto exceeds = [&](double epsilon) {
    double forward = 0.0, backward = 0.0;
    for (const auto& [counts, p] : first) {
      const double q = second.at(counts);
      forward += std::max(0.0, p - std::exp(epsilon) * q);
      backward += std::max(0.0, q - std::exp(epsilon) * p);
    }
    return std::max(forward, backward) > delta;
  };
  double low = 0.0, high = 40.0;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2.0;
    (exceeds(middle) ? low : high) = middle;
  }
  return high;
}

/// Randomized response over `values` values.
std::vector<Distribution> response(double epsilon, std::size_t values) {
  const double rest = 1.0 / (std::exp(epsilon) + static_cast<double>(values) - 1.0);
  std::vector<Distribution> distributions(values, Distribution(values, rest));
  for (std::size_t i = 0; i < values; ++i) distributions[i][i] = std::exp(epsilon) * rest;
  return distributions;
}

/// Calls with the numbers of `others` clients that hold each of the values, in every way.
void each_split(int others, std::size_t values, const std::vector<int>& so_far,
                const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> more = so_far;
  if (so_far.size() + 1 == values) {
    more.push_back(others);
    return visit(more);
  }
  more.push_back(0);
  for (int here = 0; here <= others; ++here) {
    more.back() = here;
    each_split(others - here, values, more, visit);
  }
}

/// The truth: the worst over what the others hold and over two values of ours.
double truth(const std::vector<Distribution>& distributions, int clients, double share,
             double delta) {
  double worst = 0.0;
  each_split(clients - 1, distributions.size(), {}, [&](const std::vector<int>& held) {
    Seen seen = {{std::vector<int>(distributions[0].size(), 0), 1.0}};
    for (std::size_t value = 0; value < distributions.size(); ++value) {
      for (int i = 0; i < held[value]; ++i) seen = joined(seen, distributions[value], share);
    }
    for (std::size_t one = 1; one < distributions.size(); ++one) {
      for (std::size_t other = 0; other < one; ++other) {
        worst = std::max(worst, epsilon_of(joined(seen, distributions[one], share),
                                           joined(seen, distributions[other], share), delta));
      }
    }
  });
  return worst;
}

double bound(double epsilon, int clients, double share, double delta) {
  return loss_with_silence({epsilon, 0.0, 0.0}, static_cast<std::uint64_t>(clients), share)
      .epsilon(delta);
}

/// What holds for every round, however many reports a client sends in it.
double by_sizes(double epsilon, int clients, double share, double delta) {
  return loss_over_sizes(
             static_cast<std::uint64_t>(clients), share,
             [&](std::uint64_t m) {
               return PrivacyLoss::shuffled({epsilon, 0.0, 0.0}, m);
             },
             SizeDetail::kFine)
      .epsilon(delta);
}

struct Case {
  int clients;
  int picked;
  double epsilon;
  double exact;
  double fixed;  // what the theorem for one size would have said
};

TEST(Sizes, BinaryRandomizedResponseByAllOutcomes) {
  for (const Case& one : {Case{10, 1, 3.0, 1.889, 1.068}, Case{10, 2, 3.0, 2.071, 1.572},
                          Case{20, 2, 5.0, 3.001, 2.756}}) {
    const double share = one.picked / static_cast<double>(one.clients);
    const double exact = truth(response(one.epsilon, 2), one.clients, share, kDelta);
    EXPECT_NEAR(exact, one.exact, 6e-4);
    const double found = bound(one.epsilon, one.clients, share, kDelta);
    EXPECT_GE(found, exact) << one.clients << ' ' << one.picked;
    EXPECT_LE(found, exact * 1.14) << one.clients << ' ' << one.picked;
    EXPECT_GE(by_sizes(one.epsilon, one.clients, share, kDelta), exact);
    // A fixed number of reports would have been promised less than the truth.
    const double fixed =
        PrivacyLoss::shuffled({one.epsilon, 0.0, 0.0}, static_cast<std::uint64_t>(one.picked))
            .sampled(share)
            .epsilon(kDelta);
    EXPECT_NEAR(fixed, one.fixed, 2e-3);
    EXPECT_LT(fixed, exact);
  }
}

TEST(Sizes, NeverBelowTheTruth) {
  for (const int clients : {1, 2, 3, 5, 8}) {
    for (const double share : {0.05, 0.3, 0.5, 0.9, 1.0}) {
      for (const double epsilon : {0.2, 1.0, 4.0}) {
        for (const double delta : {1e-9, 1e-6, 1e-3, 0.05}) {
          const double found = bound(epsilon, clients, share, delta);
          const double sizes = by_sizes(epsilon, clients, share, delta);
          EXPECT_LE(found, epsilon * 1.001);
          EXPECT_LE(sizes, epsilon * 1.001);
          double exact = truth(response(epsilon, 2), clients, share, delta);
          if (clients <= 3) {
            exact = std::max(exact, truth(response(epsilon, 3), clients, share, delta));
          }
          EXPECT_GE(found, exact * (1.0 - 1e-12) - 1e-12)
              << clients << ' ' << share << ' ' << epsilon;
          EXPECT_GE(sizes, exact * (1.0 - 1e-12) - 1e-12)
              << clients << ' ' << share << ' ' << epsilon;
        }
      }
    }
  }
}

/// Any mechanism: distributions over four outputs, many of them alike and some far apart.
TEST(Sizes, NeverBelowTheTruthOfRandomMechanisms) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Distribution> distributions(3, Distribution(4, 1.0));
    for (Distribution& distribution : distributions) {
      double sum = 0.0;
      for (double& probability : distribution) {
        if (unit(random) < 0.5) probability += 20.0 * unit(random);
        sum += probability;
      }
      for (double& probability : distribution) probability /= sum;
    }
    double epsilon = 0.0;
    for (const Distribution& one : distributions) {
      for (const Distribution& other : distributions) {
        for (std::size_t i = 0; i < one.size(); ++i) {
          epsilon = std::max(epsilon, std::log(one[i] / other[i]));
        }
      }
    }
    const double share = 0.1 + 0.8 * unit(random);
    for (const double delta : {1e-6, 1e-2}) {
      const double exact = truth(distributions, 4, share, delta);
      EXPECT_GE(bound(epsilon, 4, share, delta), exact) << trial;
      EXPECT_GE(by_sizes(epsilon, 4, share, delta), exact) << trial;
    }
  }
}

TEST(Sizes, RoundsCompose) {
  // Two rounds of three clients, by all pairs of outcomes.
  const std::vector<Distribution> distributions = response(2.0, 2);
  Seen others = {{{0, 0}, 1.0}};
  for (int i = 0; i < 2; ++i) others = joined(others, distributions[0], 0.4);
  const Seen first = joined(others, distributions[0], 0.4),
             second = joined(others, distributions[1], 0.4);
  Seen both_first, both_second;
  for (const auto& [a, p] : first) {
    for (const auto& [b, q] : first) {
      std::vector<int> key = a;
      key.insert(key.end(), b.begin(), b.end());
      both_first[key] = p * q;
      both_second[key] = second.at(a) * second.at(b);
    }
  }
  const double exact = epsilon_of(both_first, both_second, 1e-3);
  const double found = loss_with_silence({2.0, 0.0, 0.0}, 3, 0.4).times(2).epsilon(1e-3);
  EXPECT_GE(found, exact);
  EXPECT_LE(found, exact * 1.1);
}

TEST(Sizes, JoiningSizesCostsLittleAndNeverGains) {
  const auto of = [](SizeDetail detail) {
    return loss_over_sizes(
               20'000, 0.05,
               [](std::uint64_t m) {
                 return PrivacyLoss::shuffled({1.0, 0.0, 0.0}, m);
               },
               detail)
        .times(10)
        .epsilon(kDelta);
  };
  const double fine = of(SizeDetail::kFine), coarse = of(SizeDetail::kCoarse);
  EXPECT_GE(coarse, fine);
  EXPECT_LE(coarse, fine * 1.05);
  // Sizes are close to 1,000 each: little more than the theorem for one size.
  const double fixed =
      PrivacyLoss::shuffled({1.0, 0.0, 0.0}, 1000).sampled(0.05).times(10).epsilon(kDelta);
  EXPECT_GT(fine, fixed);
  EXPECT_LE(fine, fixed * 1.05);
}

TEST(Sizes, QuantilesAndHonestMembers) {
  // P(Bin(10, 0.1) > 7) = 3.7e-7, P(> 6) = 9.1e-6.
  EXPECT_EQ(size_not_exceeded(10, 0.1, 1e-6), 7U);
  EXPECT_EQ(size_not_exceeded(10, 0.1, 1e-5), 6U);
  EXPECT_EQ(size_not_exceeded(10, 0.1, 1e-12), 10U);
  EXPECT_EQ(size_not_exceeded(10, 1.0, 0.5), 10U);
  EXPECT_EQ(honest_members(1000, 1.0), 1000U);
  EXPECT_EQ(honest_members(1000, 0.5), 500U);
  EXPECT_EQ(honest_members(11, 0.9), 10U);
  EXPECT_EQ(honest_members(2, 0.5), 1U);
  EXPECT_EQ(honest_members(1, 0.1), 1U);
  EXPECT_EQ(honest_members(0, 0.1), 0U);
}

/// One binary report a round, of each of 10 clients with probability 1/10.
Exposure picked_in_secret(ShuffleMode mode) {
  Exposure exposure;
  exposure.turns = {turn_of(
      *make_mechanism("two-point", Domain{flat_layout(1), {{0.0, 1.0}}}, {{"epsilon", 3.0}}), 1,
      1)};
  exposure.shuffle = mode;
  exposure.sampling = 0.1;
  exposure.population = 10;
  return exposure;
}

double epsilon_in(const std::vector<Claim>& claims, const std::string& scope) {
  for (const Claim& claim : claims) {
    if (scope_text(claim) == scope) return claim.epsilon;
  }
  ADD_FAILURE() << scope;
  return 0.0;
}

TEST(Sizes, ClaimsOfClientsWhoArePickedInSecret) {
  const double exact = truth(response(3.0, 2), 10, 0.1, kDelta);
  const std::vector<Claim> mixed = claims_of(picked_in_secret(ShuffleMode::kShuffler));
  for (const char* scope :
       {"client, one round, after the shuffler", "client, whole training, after the shuffler"}) {
    EXPECT_GE(epsilon_in(mixed, scope), exact * (1.0 - 1e-6));
    EXPECT_LE(epsilon_in(mixed, scope), exact * 1.1);
  }
  // With a module that hides who was picked, and no mixing that would count: nothing at delta 0,
  // and less than the mixture gains at delta. It is not what a training is called by.
  const std::vector<Claim> seen = claims_of(picked_in_secret(ShuffleMode::kNone));
  const std::string scope = "client, whole training, if nobody sees who was picked";
  EXPECT_GE(epsilon_in(seen, scope), exact);
  EXPECT_LT(epsilon_in(seen, scope), 3.0);
  EXPECT_NEAR(client_claim(seen)->epsilon, 3.0, 1e-6);
  for (const Claim& claim : seen) {
    if (claim.delta == 0.0) {
      EXPECT_GE(claim.epsilon, 3.0 - 1e-6) << scope_text(claim);
    }
  }
  // Rounds in which nobody was heard count: it is not seen whether a client might have been.
  Exposure held = picked_in_secret(ShuffleMode::kShuffler);
  held.turns[0].held = 4;
  EXPECT_GT(epsilon_in(claims_of(held), "client, whole training, after the shuffler"),
            epsilon_in(mixed, "client, whole training, after the shuffler"));
  // Not knowing how many may be picked, nothing is gained.
  Exposure unknown = picked_in_secret(ShuffleMode::kShuffler);
  unknown.population = 0;
  EXPECT_NEAR(client_claim(claims_of(unknown))->epsilon, 3.0, 1e-6);
}

}  // namespace
}  // namespace sotto
