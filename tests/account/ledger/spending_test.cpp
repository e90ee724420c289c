// The two filters: their sums, their order, and the claim that "either one allows" is safe. The
// last is checked against the strongest server there is: one that sees every answer and picks the
// next question to do the most harm, found by dynamic programming over all strategies.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "account/ledger/ledger_spending.h"
#include "ledger_fixture.h"
#include "sotto/account.h"

namespace sotto {
namespace {

Spending with_limits(const Limits& limits) {
  Spending spending;
  spending.set_limits(limits);
  return spending;
}

TEST(Limits, TheOrderComesFromTheLimitsAlone) {
  const Limits limits{.epsilon_per_round = 8.0, .epsilon = 8.0, .delta = 1e-6};
  const double log_delta = std::log(1e6);
  const double rho = std::pow(std::sqrt(log_delta + 8.0) - std::sqrt(log_delta), 2.0);
  EXPECT_NEAR(rho + 2.0 * std::sqrt(rho * log_delta), 8.0, 1e-12);
  EXPECT_NEAR(limits.renyi_order(), 1.0 + std::sqrt(log_delta / rho), 1e-12);
  Limits other = limits;
  other.rounds = 3;
  other.epsilon_per_round = 1.0;
  EXPECT_EQ(other.renyi_order(), limits.renyi_order());
  for (const double epsilon : {1e-300, 1e-9, 0.1, 50.0, 1e6, 1e300}) {
    for (const double delta : {1e-300, 1e-9, 0.5, 1.0 - 1e-16}) {
      const double order = Limits{.epsilon = epsilon, .delta = delta}.renyi_order();
      EXPECT_TRUE(order == 0.0 || (order > 1.0 && std::isfinite(order))) << epsilon << ' ' << delta;
    }
  }
}

TEST(Limits, WithoutDeltaOrFiniteEpsilonThereIsNoOrder) {
  EXPECT_EQ(Limits().renyi_order(), 0.0);
  EXPECT_EQ(Limits::unlimited().renyi_order(), 0.0);
  EXPECT_EQ((Limits{.epsilon = 1.0}.renyi_order()), 0.0);
  EXPECT_EQ((Limits{.epsilon = 1.0, .delta = 1.0}.renyi_order()), 0.0);
  EXPECT_EQ((Limits{.epsilon = kInfinite, .delta = 1e-6}.renyi_order()), 0.0);
}

TEST(Cost, IsWhatTheMechanismGuarantees) {
  Guarantee guarantee;
  EXPECT_EQ(Cost::of(guarantee).epsilon, kInfinite);
  guarantee.epsilon = 12.0;
  guarantee.delta = 1e-9;
  guarantee.unit_epsilon = 0.5;
  guarantee.units = 24;
  const Cost cost = Cost::of(guarantee);
  EXPECT_EQ(cost.epsilon, 12.0);
  EXPECT_EQ(cost.delta, 1e-9);
  EXPECT_EQ(cost.unit_epsilon, 0.5);
  EXPECT_EQ(cost.units, 24U);
}

TEST(Spending, SumsAreRoundedUp) {
  Spending spending = with_limits(Limits::unlimited());
  for (int i = 0; i < 10; ++i) spending.add({0.1, 0.01, 0.1, 1});
  spending.add({0.3, 0.03, 0.3, 1});
  const Spent spent = spending.spent();
  EXPECT_EQ(spent.rounds, 11U);
  // 0.1 as a double lies above 1/10, and so does ten times it above 1.
  EXPECT_GT(spent.epsilon_sum, 1.3);
  EXPECT_NEAR(spent.epsilon_sum, 1.3, 1e-15 * 4);
  EXPECT_GE(spent.delta_sum, 0.13);
  EXPECT_NEAR(spent.delta_sum, 0.13, 1e-16 * 4);
  EXPECT_EQ(spent.epsilon, spent.epsilon_sum);
}

/// How many reports of this cost an account takes.
std::uint64_t allowed(Spending spending, const Cost& cost, std::uint64_t most = 100'000) {
  std::uint64_t count = 0;
  while (count < most && !spending.refusal(cost)) {
    spending.add(cost);
    ++count;
  }
  return count;
}

TEST(Spending, ManySmallReportsCostLessThanTheirSum) {
  const Limits limits{.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6};
  for (const double epsilon : {0.05, 0.1, 0.25}) {
    const std::uint64_t count = allowed(with_limits(limits), pure_cost(epsilon));
    EXPECT_GT(static_cast<double>(count) * epsilon, 8.5) << epsilon;
    // No composition theorem says less than the optimal one.
    EXPECT_LE(optimal_epsilon(epsilon, count, limits.delta), 8.0);
  }
  // Few large ones go by the sum, whatever the second filter says.
  EXPECT_EQ(allowed(with_limits(limits), pure_cost(1.0)), 8U);
  // Without delta there is only the sum.
  EXPECT_EQ(allowed(with_limits({.epsilon_per_round = 1.0, .epsilon = 8.0}), pure_cost(0.125)),
            64U);
}

TEST(Spending, SpentIsNeverBelowTheOptimalComposition) {
  const Limits limits{.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6};
  Spending spending = with_limits(limits);
  double before = 0.0;
  for (std::uint64_t count = 1; count <= 200; ++count) {
    spending.add(pure_cost(0.25));
    const Spent spent = spending.spent();
    EXPECT_GE(spent.epsilon, optimal_epsilon(0.25, count, limits.delta) * (1.0 - 1e-12)) << count;
    EXPECT_GE(spent.epsilon, before);
    EXPECT_LE(spent.epsilon, spent.epsilon_sum);
    EXPECT_EQ(spent.renyi_sum > 0.0, true);
    before = spent.epsilon;
  }
}

TEST(Spending, UnitsOfAReportComposeInTheSecondFilter) {
  const Limits limits{.epsilon_per_round = 1e6, .epsilon = 8.0, .delta = 1e-6};
  const Cost whole = pure_cost(4.0);
  const Cost in_units{4.0, 0.0, 0.04, 100};
  EXPECT_EQ(allowed(with_limits(limits), whole), 2U);
  EXPECT_GT(allowed(with_limits(limits), in_units), 10U);
  Spending one = with_limits(limits);
  one.add(in_units);
  const double unit = renyi_of_pure(0.04, limits.renyi_order());
  EXPECT_NEAR(one.spent().renyi_sum, 100.0 * unit, 1e-9);
  // Unknown units never cost more than the epsilon, and never less.
  EXPECT_EQ(allowed(with_limits(limits), {4.0, 0.0, kInfinite, 100}), 2U);
  // A report whose units promise more than its epsilon costs its epsilon.
  Spending spending = with_limits(limits);
  spending.add({4.0, 0.0, 1.0, 1'000'000});
  EXPECT_LE(spending.spent().renyi_sum, 4.0);
}

TEST(Spending, OtherLimitsCountEarlierReportsAnew) {
  Spending spending = with_limits({.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6});
  for (int i = 0; i < 100; ++i) spending.add(pure_cost(0.25));
  const double before = spending.spent().renyi_sum;
  const Limits wider{.epsilon_per_round = 1.0, .epsilon = 16.0, .delta = 1e-5};
  spending.set_limits(wider);
  Spending fresh = with_limits(wider);
  for (int i = 0; i < 100; ++i) fresh.add(pure_cost(0.25));
  EXPECT_NE(spending.spent().renyi_sum, before);
  EXPECT_EQ(spending.spent().renyi_sum, fresh.spent().renyi_sum);
  EXPECT_EQ(spending.spent().epsilon, fresh.spent().epsilon);
}

TEST(Spending, OwnDeltasAndTheSecondFilterExcludeEachOther) {
  const Limits limits{.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6};
  const Cost with_delta{0.5, 1e-8, 0.5, 1};
  Spending pure = with_limits(limits);
  EXPECT_FALSE(pure.refusal(with_delta));  // nothing was sent yet
  pure.add(pure_cost(0.5));
  const auto why = pure.refusal(with_delta);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("no delta of their own"), std::string::npos);
  Spending mixed = with_limits(limits);
  mixed.add(with_delta);
  EXPECT_EQ(mixed.spent().renyi_sum, 0.0);
  EXPECT_EQ(allowed(mixed, pure_cost(0.5)), 15U);
  EXPECT_EQ(allowed(mixed, with_delta), 15U);
  // Where no order exists, there is nothing to exclude.
  Spending unlimited = with_limits(Limits::unlimited());
  unlimited.add(pure_cost(0.5));
  EXPECT_FALSE(unlimited.refusal(with_delta));
}

// As when accounts that were apart are summed: there is no rule for them, so nothing is allowed.
TEST(Spending, BothKindsInTheWrongOrderAllowNothingMore) {
  const Limits limits{.epsilon_per_round = 1.0, .epsilon = 8.0, .delta = 1e-6};
  const Cost with_delta{0.5, 1e-8, 0.5, 1};
  Spending pure = with_limits(limits);
  pure.add(pure_cost(0.5));
  Spending own = with_limits(limits);
  own.add(with_delta);
  Spending both = with_limits(limits);
  both.add(pure);
  both.add(own);
  for (const Cost& cost : {pure_cost(0.5), pure_cost(0.0), with_delta}) {
    const auto why = both.refusal(cost);
    ASSERT_TRUE(why);
    EXPECT_NE(why->find("no rule covers both"), std::string::npos);
  }
  EXPECT_EQ(both.spent().epsilon, 1.0);
  Spending in_order = with_limits(limits);
  in_order.add(own);
  in_order.add(pure);
  EXPECT_FALSE(in_order.refusal(pure_cost(0.5)));
  both.set_limits(Limits::unlimited());
  EXPECT_FALSE(both.refusal(pure_cost(0.5)));
}

/// The greatest probability, over all strategies of a server that sees every answer, with which
/// the loss exceeds epsilon (in the sense of the hockey-stick divergence, so that a value of delta
/// is exactly (epsilon, delta)). Reports are randomized response, which is the worst mechanism for
/// its epsilon; with probability delta they give the input away. Losses are multiples of 1/8.
class Adversary {
 public:
  using Counts = std::array<int, 3>;
  using Allows = std::function<bool(const Counts& before, int next)>;
  Adversary(std::array<Cost, 3> costs, double epsilon, Allows allows)
      : costs_(costs), epsilon_(epsilon), allows_(std::move(allows)) {}

  double gain(const Counts& counts = {}, int loss = 0) {
    const auto [at, is_new] = known_.try_emplace({counts, loss}, 0.0);
    if (!is_new) return at->second;
    double best = std::max(0.0, -std::expm1(epsilon_ - loss / 8.0));  // it stops here
    for (int next = 0; next < 3; ++next) {
      if (!allowed(counts, next)) continue;
      Counts after = counts;
      ++after[static_cast<std::size_t>(next)];
      const Cost& cost = costs_[static_cast<std::size_t>(next)];
      const int step = static_cast<int>(cost.epsilon * 8.0);
      const double likely = 1.0 / (1.0 + std::exp(-cost.epsilon));
      const double value =
          likely * gain(after, loss + step) + (1.0 - likely) * gain(after, loss - step);
      best = std::max(best, cost.delta + (1.0 - cost.delta) * value);
    }
    return known_[{counts, loss}] = best;
  }

 private:
  bool allowed(const Counts& counts, int next) {
    const auto [at, is_new] = may_.try_emplace({counts, next}, false);
    if (is_new) at->second = allows_(counts, next);
    return at->second;
  }
  std::array<Cost, 3> costs_;
  double epsilon_;
  Allows allows_;
  std::map<std::pair<Counts, int>, double> known_;
  std::map<std::pair<Counts, int>, bool> may_;
};

constexpr Limits kSmall = {.epsilon_per_round = 2.0, .epsilon = 2.0, .delta = 0.02, .rounds = 24};
constexpr std::array<Cost, 3> kCosts = {Cost{0.125, 0.0, 0.125, 1}, Cost{0.5, 0.0, 0.5, 1},
                                        Cost{0.25, 0.01, 0.25, 1}};

Spending of_counts(const Adversary::Counts& counts) {
  Spending spending = with_limits(kSmall);
  // Reports with a delta are first, or there are none: nothing else is ever allowed.
  for (const std::size_t kind : {2U, 0U, 1U}) {
    for (int i = 0; i < counts[kind]; ++i) spending.add(kCosts[kind]);
  }
  return spending;
}

TEST(Filters, NoServerGetsBeyondTheLimit) {
  Adversary adversary(kCosts, kSmall.epsilon, [](const Adversary::Counts& before, int next) {
    return !of_counts(before).refusal(kCosts[static_cast<std::size_t>(next)]);
  });
  const double gain = adversary.gain();
  EXPECT_LE(gain, kSmall.delta);
  EXPECT_GT(gain, 0.9 * kSmall.delta);  // two reports that give the input away with 0.01 each
}

/// The second filter alone, with a budget that is `factor` times the right one.
double gain_of_pure(double factor, double epsilon0, double* largest_sum) {
  const Limits limits{.epsilon_per_round = 2.0, .epsilon = 2.0, .delta = 0.02, .rounds = 120};
  const std::array<Cost, 3> costs = {pure_cost(epsilon0), pure_cost(2.0 * epsilon0),
                                     pure_cost(4.0 * epsilon0)};
  Adversary adversary(costs, limits.epsilon, [&](const Adversary::Counts& before, int next) {
    Limits scaled = limits;
    scaled.epsilon *= factor;
    Spending spending = with_limits(scaled);
    double sum = costs[static_cast<std::size_t>(next)].epsilon;
    for (std::size_t kind = 0; kind < before.size(); ++kind) {
      for (int i = 0; i < before[kind]; ++i) spending.add(costs[kind]);
      sum += before[kind] * costs[kind].epsilon;
    }
    const bool may = !spending.refusal(costs[static_cast<std::size_t>(next)]);
    if (may) *largest_sum = std::max(*largest_sum, sum);
    return may;
  });
  return adversary.gain();
}

TEST(Filters, NoServerGetsBeyondTheLimitByComposition) {
  double largest_sum = 0.0;
  const double gain = gain_of_pure(1.0, 0.125, &largest_sum);
  RecordProperty("gain", std::to_string(gain));
  EXPECT_GT(largest_sum, 3.0);  // the second filter was what allowed
  EXPECT_LE(gain, 0.02);
  EXPECT_GT(gain, 0.001);
  EXPECT_GT(gain_of_pure(2.0, 0.125, &largest_sum), 0.02);  // planted: twice the budget
}

// The same adversary against rules that look as sensible: it must find that they do not hold.
TEST(Filters, PlantedARuleThatMixesDeltasFails) {
  Adversary adversary(kCosts, kSmall.epsilon, [](Adversary::Counts counts, int next) {
    ++counts[static_cast<std::size_t>(next)];
    const double order = kSmall.renyi_order();
    double sum = 0.0, delta = 0.0, renyi = 0.0, rounds = 0.0;
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
      rounds += counts[kind];
      sum += counts[kind] * kCosts[kind].epsilon;
      delta += counts[kind] * kCosts[kind].delta;
      renyi += counts[kind] * renyi_of_pure(kCosts[kind].epsilon, order);
    }
    if (rounds > 24.0 || delta > kSmall.delta) return false;
    return sum <= kSmall.epsilon ||
           renyi_to_epsilon(order, renyi, kSmall.delta - delta) <= kSmall.epsilon;
  });
  EXPECT_GT(adversary.gain(), 1.05 * kSmall.delta);
}

TEST(Filters, PlantedARuleThatAddsFourTimesTheBudgetFails) {
  Adversary adversary(kCosts, kSmall.epsilon, [](const Adversary::Counts& counts, int next) {
    const int rounds = counts[0] + counts[1] + counts[2];
    return next == 1 && rounds < 16;
  });
  EXPECT_GT(adversary.gain(), kSmall.delta);
}

}  // namespace
}  // namespace sotto
