// Shuffled batches: published values, and the truth for small batches by going through all outputs.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "base/exact/binomial.h"
#include "sotto/account.h"

namespace sotto {
namespace {

constexpr double kDelta = 1e-6;

const Bound& named(const std::vector<Bound>& bounds, const std::string& name) {
  for (const Bound& bound : bounds) {
    if (bound.name == name) return bound;
  }
  throw std::runtime_error("no bound " + name);
}

std::vector<Bound> ask(double epsilon0, std::uint64_t clients) {
  ShuffleQuestion question;
  question.epsilon0 = epsilon0;
  question.clients = clients;
  question.delta = kDelta;
  return shuffle_bounds(question);
}

struct Reference {
  double epsilon0;
  std::uint64_t clients;
  double closed_form;  // 0: not valid there
  double generic;
  double binary;
};

class ShuffleReference : public testing::TestWithParam<Reference> {};

TEST_P(ShuffleReference, IsMet) {
  const Reference& want = GetParam();
  const std::vector<Bound> bounds = ask(want.epsilon0, want.clients);
  EXPECT_NEAR(*named(bounds, "generic").epsilon, want.generic, 0.005 * want.generic);
  EXPECT_NEAR(*named(bounds, "exact-binary").epsilon, want.binary, 0.005 * want.binary);
  const Bound& closed = named(bounds, "closed-form");
  ASSERT_EQ(closed.valid(), want.closed_form > 0.0) << closed.reason;
  if (closed.valid()) {
    EXPECT_NEAR(*closed.epsilon, want.closed_form, 0.005 * want.closed_form);
  } else {
    EXPECT_FALSE(closed.reason.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Published, ShuffleReference,
                         testing::Values(Reference{0.5, 1000, 0.2473, 0.0627, 0.0569},
                                         Reference{1.0, 432, 0.6737, 0.2333, 0.2034},
                                         Reference{1.0, 1000, 0.4876, 0.1487, 0.1266},
                                         Reference{1.0, 100000, 0.0604, 0.0124, 0.0101},
                                         Reference{2.0, 974, 0.9498, 0.4029, 0.3288},
                                         Reference{4.0, 432, 0.0, 3.997, 3.997},
                                         Reference{4.0, 6454, 1.1008, 0.5247, 0.4110},
                                         Reference{4.0, 10000, 0.9581, 0.4108, 0.3146}));

TEST(Shuffle, ComposedOverCoordinates) {
  struct {
    double epsilon0;
    std::uint64_t clients;
    double epsilon;
  } const kWant[] = {
      {1, 100, 183}, {1, 1000, 32.9}, {1, 10000, 7.76}, {1, 100000, 2.11}, {5, 100, 4.79e4}};
  for (const auto& want : kWant) {
    const double epsilon =
        PrivacyLoss::shuffled_binary(want.epsilon0, want.clients).times(20490).epsilon(kDelta);
    EXPECT_NEAR(epsilon, want.epsilon, 0.005 * want.epsilon) << want.clients;
    EXPECT_GE(
        PrivacyLoss::shuffled({want.epsilon0, 0, 0}, want.clients).times(20490).epsilon(kDelta),
        epsilon);
  }
}

TEST(Shuffle, WholeTrainingOfManyClients) {
  struct {
    double epsilon0;
    std::uint64_t rounds;
    double binary, generic;
  } const kWant[] = {{3.0, 100, 0.719, 1.015}, {4.2, 300, 2.607, 3.790}};
  for (const auto& want : kWant) {
    EXPECT_NEAR(
        PrivacyLoss::shuffled_binary(want.epsilon0, 60000).times(want.rounds).epsilon(kDelta),
        want.binary, 0.005 * want.binary);
    EXPECT_NEAR(
        PrivacyLoss::shuffled({want.epsilon0, 0, 0}, 60000).times(want.rounds).epsilon(kDelta),
        want.generic, 0.005 * want.generic);
  }
}

TEST(Shuffle, BoundsRefuseOutsideTheirValidity) {
  EXPECT_NE(named(ask(5.0, 100), "erlingsson").reason.find("above 1/2"), std::string::npos);
  EXPECT_NE(named(ask(0.4, 999), "erlingsson").reason.find("1,000"), std::string::npos);
  EXPECT_TRUE(named(ask(0.5, 1000), "erlingsson").valid());
  EXPECT_FALSE(named(ask(5.0, 100), "closed-form").valid());
  ShuffleQuestion question{0.4, 2000, 0.5, 1, 1.0, {}};
  EXPECT_NE(named(shuffle_bounds(question), "erlingsson").reason.find("0.01"), std::string::npos);
}

TEST(Shuffle, NeverBelowTheExactBinaryValueAndMonotone) {
  for (const double epsilon0 : {0.1, 0.5, 1.0, 2.0, 4.0}) {
    double last = std::numeric_limits<double>::infinity();
    for (const std::uint64_t clients : {2ULL, 3ULL, 10ULL, 100ULL, 1000ULL, 30000ULL, 1000000ULL}) {
      const std::vector<Bound> bounds = ask(epsilon0, clients);
      const double floor = *named(bounds, "exact-binary").epsilon;
      for (const Bound& bound : bounds) {
        if (bound.valid() && bound.upper) {
          EXPECT_GE(*bound.epsilon * (1.0 + 1e-9), floor) << bound.name;
        }
      }
      const double generic = *named(bounds, "generic").epsilon;
      EXPECT_LE(generic, last * (1.0 + 1e-6)) << epsilon0 << ' ' << clients;
      EXPECT_LE(generic, *named(bounds, "clones").epsilon * (1.0 + 1e-3));
      last = generic;
    }
  }
}

TEST(Shuffle, MonotoneInEpsilonAndShare) {
  for (const std::uint64_t clients : {50ULL, 2000ULL, 60000ULL}) {
    double last = 0.0;
    for (const double epsilon0 : {0.2, 0.5, 1.0, 2.0, 3.0, 5.0}) {
      const double epsilon = PrivacyLoss::shuffled({epsilon0, 0.0, 0.0}, clients).epsilon(kDelta);
      EXPECT_GE(epsilon, last) << epsilon0;
      last = epsilon;
    }
    last = 0.0;
    for (const double share : {0.001, 0.01, 0.05, 0.2, 0.4, 0.4999, 0.5}) {
      const double floor = 1.0 / (1.0 + share * std::expm1(2.0));
      const double epsilon = PrivacyLoss::shuffled({2.0, floor, 0.0}, clients).epsilon(kDelta);
      EXPECT_GE(epsilon, last * (1.0 - 1e-3)) << share;
      last = epsilon;
    }
  }
}

/// A mechanism as a table: probability of output y for input x.
using Distributions = std::vector<std::vector<double>>;
using Counts = std::vector<int>;

/// The distribution of the counts of all outputs when clients hold these inputs.
std::map<Counts, long double> distribution_of_counts(const Distributions& distributions,
                                                     const std::vector<std::size_t>& inputs) {
  std::map<Counts, long double> distribution = {{Counts(distributions[0].size(), 0), 1.0L}};
  for (const std::size_t input : inputs) {
    std::map<Counts, long double> next;
    for (const auto& [counts, probability] : distribution) {
      for (std::size_t y = 0; y < counts.size(); ++y) {
        Counts more = counts;
        ++more[y];
        next[more] += probability * distributions[input][y];
      }
    }
    distribution = std::move(next);
  }
  return distribution;
}

/// The largest delta over all inputs of the others and all pairs of ours.
double worst_delta(const Distributions& distributions, std::size_t clients, double epsilon) {
  const long double grown = std::exp(static_cast<long double>(epsilon));
  long double worst = 0.0L;
  std::vector<std::size_t> inputs(clients, 0);
  const std::function<void(std::size_t, std::size_t)> visit = [&](std::size_t at,
                                                                  std::size_t least) {
    if (at < clients) {
      for (std::size_t input = least; input < distributions.size(); ++input) {
        inputs[at] = input;
        visit(at + 1, input);
      }
      return;
    }
    std::vector<std::map<Counts, long double>> distribution;
    for (std::size_t own = 0; own < distributions.size(); ++own) {
      inputs[0] = own;
      distribution.push_back(distribution_of_counts(distributions, inputs));
    }
    for (const auto& p : distribution) {
      for (const auto& q : distribution) {
        long double delta = 0.0L;
        for (const auto& [counts, probability] : p)
          delta += std::max(0.0L, probability - grown * q.at(counts));
        worst = std::max(worst, delta);
      }
    }
  };
  visit(1, 0);
  return static_cast<double>(worst);
}

Distributions generalized(std::size_t outputs, double epsilon) {
  const double rest = 1.0 / (std::exp(epsilon) + static_cast<double>(outputs) - 1.0);
  Distributions distributions(outputs, std::vector<double>(outputs, rest));
  for (std::size_t x = 0; x < outputs; ++x) distributions[x][x] = std::exp(epsilon) * rest;
  return distributions;
}

/// Probabilities fall with the distance of the output from the input, in three steps.
Distributions staircase(std::size_t outputs, double epsilon) {
  Distributions distributions(outputs, std::vector<double>(outputs));
  for (std::size_t x = 0; x < outputs; ++x) {
    std::vector<std::size_t> rank(outputs);
    std::iota(rank.begin(), rank.end(), std::size_t{0});
    std::stable_sort(rank.begin(), rank.end(), [x](std::size_t a, std::size_t b) {
      return std::max(a, x) - std::min(a, x) < std::max(b, x) - std::min(b, x);
    });
    double sum = 0.0;
    for (std::size_t r = 0; r < outputs; ++r) {
      const double third = std::floor(3.0 * static_cast<double>(r) / static_cast<double>(outputs));
      distributions[x][rank[r]] = std::exp(epsilon) - third / 2.0 * std::expm1(epsilon);
      sum += distributions[x][rank[r]];
    }
    for (double& probability : distributions[x]) probability /= sum;
  }
  return distributions;
}

/// Of a uniform distribution over the outputs.
Background background_of(const Distributions& distributions) {
  double least = 1.0, most = 0.0;
  for (const auto& distribution : distributions) {
    for (const double probability : distribution) {
      least = std::min(least, probability);
      most = std::max(most, probability);
    }
  }
  return {std::log(most / least) * (1.0 + 1e-12),
          static_cast<double>(distributions[0].size()) * least * (1.0 - 1e-12), 0.0};
}

TEST(Shuffle, BoundsHoldForWholeMechanisms) {
  struct {
    const char* name;
    Distributions distributions;
    std::size_t clients;
  } const kCases[] = {{"binary", generalized(2, 1.0), 7},  {"binary", generalized(2, 3.0), 9},
                      {"ternary", generalized(3, 1.5), 6}, {"ternary", generalized(3, 3.0), 5},
                      {"five", generalized(5, 2.0), 4},    {"staircase", staircase(6, 2.0), 3},
                      {"staircase", staircase(3, 1.0), 6}};
  for (const auto& test : kCases) {
    const Background background = background_of(test.distributions);
    const PrivacyLoss specific = PrivacyLoss::shuffled(background, test.clients);
    const PrivacyLoss generic = PrivacyLoss::shuffled({background.epsilon, 0.0, 0.0}, test.clients);
    for (const double epsilon : {0.0, 0.1, 0.3, 0.6, 1.0, 1.6}) {
      const double truth = worst_delta(test.distributions, test.clients, epsilon);
      EXPECT_GE(specific.delta(epsilon), truth * (1.0 - 1e-12)) << test.name << ' ' << epsilon;
      EXPECT_GE(generic.delta(epsilon), truth * (1.0 - 1e-12)) << test.name << ' ' << epsilon;
    }
  }
}

/// The largest delta over all inputs of the others, between any input of ours and uniform noise, in
/// both directions.
double worst_delta_to_noise(Distributions distributions, std::size_t clients, double epsilon) {
  const std::size_t inputs = distributions.size();
  const std::size_t outputs = distributions[0].size();
  distributions.emplace_back(outputs, 1.0 / static_cast<double>(outputs));
  const long double grown = std::exp(static_cast<long double>(epsilon));
  long double worst = 0.0L;
  std::vector<std::size_t> held(clients, 0);
  const std::function<void(std::size_t, std::size_t)> visit = [&](std::size_t at,
                                                                  std::size_t least) {
    if (at < clients) {
      for (std::size_t input = least; input < inputs; ++input) {
        held[at] = input;
        visit(at + 1, input);
      }
      return;
    }
    held[0] = inputs;
    const auto noise = distribution_of_counts(distributions, held);
    for (std::size_t own = 0; own < inputs; ++own) {
      held[0] = own;
      long double there = 0.0L, back = 0.0L;
      for (const auto& [counts, probability] : distribution_of_counts(distributions, held)) {
        there += std::max(0.0L, probability - grown * noise.at(counts));
        back += std::max(0.0L, noise.at(counts) - grown * probability);
      }
      worst = std::max({worst, there, back});
    }
  };
  visit(1, 0);
  return static_cast<double>(worst);
}

TEST(Shuffle, NoiseIsHeldAgainstWholeMechanisms) {
  struct {
    const char* name;
    Distributions distributions;
    std::size_t clients;
  } const kCases[] = {{"alone", generalized(3, 2.0), 1},   {"binary", generalized(2, 1.0), 7},
                      {"binary", generalized(2, 3.0), 9},  {"ternary", generalized(3, 1.5), 6},
                      {"ternary", generalized(3, 3.0), 5}, {"five", generalized(5, 2.0), 4},
                      {"staircase", staircase(6, 2.0), 3}, {"staircase", staircase(3, 1.0), 6}};
  for (const auto& test : kCases) {
    const Background background = background_of(test.distributions);
    const PrivacyLoss noise = PrivacyLoss::shuffled_noise(background, test.clients);
    for (const double epsilon : {0.0, 0.05, 0.2, 0.5, 1.0, 1.6}) {
      const double truth = worst_delta_to_noise(test.distributions, test.clients, epsilon);
      EXPECT_GE(noise.delta(epsilon), truth * (1.0 - 1e-12)) << test.name << ' ' << epsilon;
    }
  }
}

/// Where the two-valued density is the mechanism's own and all others draw from the background, the
/// bound is the truth.
TEST(Shuffle, NoiseIsTightForRandomizedResponse) {
  const double epsilon0 = 2.0;
  const Distributions all = generalized(4, epsilon0);
  const Background background = background_of(all);
  const PrivacyLoss alone = PrivacyLoss::shuffled_noise(background, 1);
  for (const double epsilon : {0.0, 0.1, 0.4, 0.8}) {
    EXPECT_NEAR(alone.delta(epsilon), worst_delta_to_noise(all, 1, epsilon), 1e-3) << epsilon;
  }
  EXPECT_EQ(PrivacyLoss::shuffled_noise({0.0, 1.0, 0.0}, 10).epsilon(kDelta), 0.0);
}

TEST(Shuffle, NoiseIsNearerThanAnotherReport) {
  // Many clients: both are nearly Gaussian, and their variances are those of l - 1 and of l - l',
  // of which the second is 2 / (1 - share) times the first.
  const double epsilon0 = 3.19, share = 0.11;
  const Background report{epsilon0, 1.0 / (1.0 + share * std::expm1(epsilon0)), 0.0};
  const auto over = [](const PrivacyLoss& loss) { return loss.times(100).epsilon(kDelta); };
  const double replaced = over(PrivacyLoss::shuffled(report, 60'000));
  const double noise = over(PrivacyLoss::shuffled_noise(report, 60'000));
  EXPECT_LT(noise, replaced);
  EXPECT_NEAR(noise / replaced, std::sqrt((1.0 - share) / 2.0), 0.03);
  double last = noise;
  for (const std::uint64_t clients : {30'000ULL, 1000ULL, 10ULL}) {
    const double fewer = over(PrivacyLoss::shuffled_noise(report, clients));
    EXPECT_GT(fewer, last) << clients;
    last = fewer;
  }
}

/// E[(T_1 + ... + T_S)+] / S over all counts, as the header of shuffle.cpp has it.
double blanket_delta(double epsilon0, double floor, double share, std::uint64_t clients,
                     double epsilon) {
  const auto choose = [](std::uint64_t n, std::uint64_t k) {
    return std::lgamma(static_cast<long double>(n) + 1.0L) -
           std::lgamma(static_cast<long double>(k) + 1.0L) -
           std::lgamma(static_cast<long double>(n - k) + 1.0L);
  };
  const long double high = floor * std::exp(static_cast<long double>(epsilon0));
  const long double grown = std::exp(static_cast<long double>(epsilon));
  const long double values[] = {high - grown * floor, floor - grown * high, floor - grown * floor};
  long double sum = 0.0L;
  for (std::uint64_t m = 0; m < clients; ++m) {
    const long double draws = std::exp(choose(clients - 1, m)) *
                              std::pow(static_cast<long double>(floor), m) *
                              std::pow(1.0L - floor, clients - 1 - m);
    const std::uint64_t reports = m + 1;
    for (std::uint64_t x = 0; x <= reports; ++x) {
      for (std::uint64_t y = 0; x + y <= reports; ++y) {
        const std::uint64_t z = reports - x - y;
        const long double probability = std::exp(choose(reports, x) + choose(reports - x, y)) *
                                        std::pow(static_cast<long double>(share), x + y) *
                                        std::pow(1.0L - 2.0L * share, z);
        const long double total = x * values[0] + y * values[1] + z * values[2];
        if (total > 0.0L) sum += draws * probability * total / reports;
      }
    }
  }
  return static_cast<double>(sum);
}

TEST(Shuffle, RegionsMeetTheSumOverAllCounts) {
  for (const double epsilon0 : {0.5, 2.0, 4.0}) {
    for (const double share : {0.02, 0.2, 0.45}) {
      for (const std::uint64_t clients : {2ULL, 10ULL, 40ULL}) {
        const double floor = 1.0 / (1.0 + share * std::expm1(epsilon0));
        const PrivacyLoss loss = PrivacyLoss::shuffled({epsilon0, floor, 0.0}, clients);
        for (const double epsilon : {0.0, 0.1, 0.4, 1.0}) {
          const double truth = blanket_delta(epsilon0, floor, share, clients, epsilon);
          EXPECT_GE(loss.delta(epsilon), truth * (1.0 - 1e-10))
              << epsilon0 << ' ' << share << ' ' << clients;
          EXPECT_LE(loss.delta(epsilon), truth * 1.005 + 1e-12)
              << epsilon0 << ' ' << share << ' ' << clients;
        }
      }
    }
  }
}

TEST(Shuffle, LumpingStaysCloseToTheTruth) {
  // Enough clients for blocks of neighbouring numbers of clones; the truth sums over every number.
  constexpr std::uint64_t kClients = 4000;
  const double epsilon0 = 1.0, clone = 2.0 / (std::exp(epsilon0) + 1.0);
  const double weight = std::tanh(epsilon0 / 2.0);
  const PrivacyLoss loss = PrivacyLoss::shuffled({epsilon0, 0.0, 0.0}, kClients);
  for (const double epsilon : {0.01, 0.05, 0.08}) {
    double truth = 0.0;
    const BinomialWindow clones = binomial_window(kClients - 1, clone, 1.0 - clone, 1e-18);
    for (std::size_t i = 0; i < clones.probabilities.size(); ++i) {
      const std::uint64_t k = clones.first + i + 1;
      for (std::uint64_t x = k / 2; x <= k; ++x) {
        const double lean = weight * (2.0 * static_cast<double>(x) / static_cast<double>(k) - 1.0);
        const double above = (1.0 + lean) - std::exp(epsilon) * (1.0 - lean);
        if (above <= 0.0) continue;
        const double coins = std::exp(log_binomial(k, x, 0.5, 0.5));
        if (coins < 1e-20) break;
        truth += clones.probabilities[i] * coins * above;
      }
    }
    EXPECT_GE(loss.delta(epsilon), truth * (1.0 - 1e-9));
    EXPECT_LE(loss.delta(epsilon), truth * 1.03);  // a thousandth of epsilon
  }
}

TEST(Shuffle, AFederationOfAMillionIsAnsweredAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  constexpr std::uint64_t kCompositions = 5'600'000ULL * 1000ULL;
  const double generic =
      PrivacyLoss::shuffled({1.0, 0.0, 0.0}, 1'000'000).times(kCompositions).epsilon(kDelta);
  const double regions =
      PrivacyLoss::shuffled({1.0, 0.8, 0.0}, 1'000'000).times(kCompositions).epsilon(kDelta);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // n / 5.6e9 reports: the loss is close to a Gaussian one whose square deviation is their number
  // times 4 w^2 / k, w = tanh(1/2), k = 1 + (n - 1) 2 / (e + 1).
  const double deviation =
      std::sqrt(5.6e9 * 4.0 * std::pow(std::tanh(0.5), 2) / (1e6 * 2.0 / (std::exp(1.0) + 1.0)));
  EXPECT_NEAR(generic, deviation * deviation / 2.0 + 4.75 * deviation, 0.01 * generic);
  EXPECT_LT(regions, generic);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 2.0 * 2.0) << "two questions";
#else
  (void)seconds;
#endif
}

TEST(Shuffle, SamplingAndCountLowerAndRaise) {
  ShuffleQuestion question{1.0, 10000, kDelta, 100, 1.0, {}};
  const double all = *named(shuffle_bounds(question), "generic").epsilon;
  question.sampling = 0.1;
  const double sampled = *named(shuffle_bounds(question), "generic").epsilon;
  EXPECT_LT(sampled, all / 3.0);
  question.count = 1;
  EXPECT_LT(*named(shuffle_bounds(question), "generic").epsilon, sampled);
  question.mechanism = Background{1.0, 0.9, 0.0};
  const std::vector<Bound> bounds = shuffle_bounds(question);
  EXPECT_LT(*named(bounds, "background").epsilon, *named(bounds, "generic").epsilon);
  EXPECT_EQ(best_of(bounds)->name, "background");
}

}  // namespace
}  // namespace sotto
