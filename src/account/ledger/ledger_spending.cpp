#include "account/ledger/ledger_spending.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/exact/exact.h"
#include "base/text.h"
#include "sotto/account.h"

namespace sotto {
namespace {

using exact::add_up;
using exact::multiply_up;

/// The least double not below a count.
double upward(std::uint64_t count) {
  const auto nearest = static_cast<double>(count);
  const bool below = nearest < 0x1p64 && static_cast<std::uint64_t>(nearest) < count;
  return below ? std::nextafter(nearest, std::numeric_limits<double>::infinity()) : nearest;
}

/// 0 times infinity is 0: what was never done costs nothing.
double times(std::uint64_t count, double value) {
  return count == 0 || value == 0.0 ? 0.0 : multiply_up(upward(count), value);
}

/// The divergence of one report: its units add up, and no divergence is above the epsilon.
double divergence(const Cost& cost, double order) {
  if (std::isinf(cost.epsilon)) return cost.epsilon;
  double least = std::min(cost.epsilon, renyi_of_pure(cost.epsilon, order));
  if (std::isfinite(cost.unit_epsilon)) {
    least = std::min(least, times(cost.units, renyi_of_pure(cost.unit_epsilon, order)));
  }
  return least;
}

std::string beyond(const std::string& what, double limit, double spent, double asked) {
  return what + ": the limit is " + number_text(limit) + ", spent " + number_text(spent) +
         ", asked " + number_text(asked) + ", remains " + number_text(remaining(limit, spent));
}

}  // namespace

bool same_cost(const Cost& a, const Cost& b) {
  return a.epsilon == b.epsilon && a.delta == b.delta && a.unit_epsilon == b.unit_epsilon &&
         a.units == b.units;
}

double remaining(double limit, double spent) {
  if (!(spent < limit)) return 0.0;
  return std::isinf(limit) ? limit : std::max(0.0, -add_up(spent, -limit));
}

std::string number_text(double value) {
  if (std::isinf(value)) return "infinite";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::size_t Spending::add(const Cost& cost, std::uint64_t count) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& g) { return same_cost(g.cost, cost); });
  if (found != groups_.end()) {
    found->count += count;
    return static_cast<std::size_t>(found - groups_.begin());
  }
  groups_.push_back({cost, count});
  return groups_.size() - 1;
}

void Spending::add(const Spending& other) {
  for (const Group& group : other.groups_) add(group.cost, group.count);
}

Spending::Sums Spending::sums(double renyi_order) const {
  Sums sums;
  for (const Group& group : groups_) {
    sums.rounds += group.count;
    sums.epsilon = add_up(sums.epsilon, times(group.count, group.cost.epsilon));
    // Nothing fails more often than always.
    sums.delta = std::min(1.0, add_up(sums.delta, times(group.count, group.cost.delta)));
    if (renyi_order > 1.0) {
      sums.renyi = add_up(sums.renyi, times(group.count, divergence(group.cost, renyi_order)));
    }
  }
  return sums;
}

bool Spending::any_own_delta() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const Group& group) { return group.cost.delta > 0.0; });
}

bool Spending::mixed() const {
  return !groups_.empty() && groups_.front().cost.delta == 0.0 && any_own_delta();
}

double Spending::order_in_force() const { return any_own_delta() ? 0.0 : limits_.renyi_order(); }

double Spending::epsilon_of(const Sums& sums, double renyi_order) const {
  if (!(renyi_order > 1.0) || std::isinf(sums.renyi)) return sums.epsilon;
  return std::min(sums.epsilon, renyi_to_epsilon(renyi_order, sums.renyi, limits_.delta));
}

Spent Spending::spent() const {
  const double order = order_in_force();
  const Sums all = sums(order);
  return {.limits = limits_,
          .rounds = all.rounds,
          .epsilon_sum = all.epsilon,
          .delta_sum = all.delta,
          .renyi_sum = all.renyi,
          .epsilon = epsilon_of(all, order)};
}

std::optional<std::string> Spending::refusal(const Cost& cost) const {
  if (!(cost.epsilon <= limits_.epsilon_per_round)) {
    return std::isinf(cost.epsilon)
               ? "the report has no finite epsilon, and the account allows " +
                     number_text(limits_.epsilon_per_round) + " a round"
               : "epsilon per round: the limit is " + number_text(limits_.epsilon_per_round) +
                     ", asked " + number_text(cost.epsilon);
  }
  const Sums before = sums(0.0);
  if (before.rounds >= limits_.rounds) {
    return "number of rounds: the limit is " + with_commas(limits_.rounds) + ", spent " +
           with_commas(before.rounds) + ", asked 1, remains 0";
  }
  Spending next = *this;
  next.add(cost);
  const Sums after = next.sums(0.0);
  if (!(after.delta <= limits_.delta)) {
    return beyond("lifetime delta", limits_.delta, before.delta, cost.delta);
  }
  if (mixed() && limits_.renyi_order() > 1.0) {
    return "lifetime delta: reports with a delta of their own came after reports without one, and "
           "no rule covers both with the " +
           number_text(limits_.delta) + " that is allowed; remains 0";
  }
  const double order = order_in_force();
  if (order > 1.0 && cost.delta > 0.0 && before.rounds > 0) {
    return "lifetime delta: the account began with reports that have no delta of their own, so "
           "that all of its " +
           number_text(limits_.delta) + " stands for their composition; asked " +
           number_text(cost.delta) + ", remains 0";
  }
  if (after.epsilon <= limits_.epsilon) return std::nullopt;
  const double next_order = next.order_in_force();
  if (next_order > 1.0 && next.epsilon_of(next.sums(next_order), next_order) <= limits_.epsilon) {
    return std::nullopt;
  }
  return beyond("lifetime epsilon", limits_.epsilon, spent().epsilon, cost.epsilon);
}

}  // namespace sotto
