// What an account has spent, and whether it may spend more: the two filters of sotto/ledger.h.
//
// Charges are kept as groups of equal costs, and every sum is made from the groups when it is asked
// for. So there is no running sum that could drift, and other limits need no second bookkeeping.
//
// Why a report with a delta of its own and the second filter exclude each other: the second may
// fail with probability delta, and so may the reports. A server that sees the first answers could
// send the account down the one path or the other, whichever fails more likely, and the two
// probabilities would add up beyond the limit (docs/research/proofs.md). What an account does
// first was chosen before any of its answers, so that may decide. Where charges of both kinds are
// there all the same and the first has no delta (accounts that were apart are summed, or the
// limits had no order then), neither filter covers them, and nothing more is allowed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sotto/ledger.h"

namespace sotto {

class Spending {
 public:
  const Limits& limits() const noexcept { return limits_; }
  void set_limits(const Limits& limits) { limits_ = limits; }

  /// The number of the group that the cost was counted in.
  std::size_t add(const Cost& cost) { return add(cost, 1); }
  std::size_t add(const Cost& cost, std::uint64_t count);
  /// All that another account was charged.
  void add(const Spending& other);
  const Cost& cost(std::size_t group) const { return groups_[group].cost; }

  Spent spent() const;
  /// Why one more report of this cost is not allowed; nothing where it is.
  std::optional<std::string> refusal(const Cost& cost) const;

 private:
  struct Group {
    Cost cost;
    std::uint64_t count = 0;
  };
  struct Sums {
    std::uint64_t rounds = 0;
    double epsilon = 0.0;
    double delta = 0.0;
    double renyi = 0.0;
  };
  /// With `renyi_order` 0 the sum of divergences is left out.
  Sums sums(double renyi_order) const;
  /// The smaller epsilon of both filters.
  double epsilon_of(const Sums& sums, double renyi_order) const;
  /// The order of the second filter where it is in force, else 0.
  double order_in_force() const;
  bool any_own_delta() const;
  /// Whether a report with a delta of its own came after a first one that has none.
  bool mixed() const;

  Limits limits_;
  std::vector<Group> groups_;  // in the order of their first charges
};

/// Equal in every field.
bool same_cost(const Cost& a, const Cost& b);

/// The greatest double not above limit - spent; 0 where nothing remains.
double remaining(double limit, double spent);

/// All digits of a double, or "infinite".
std::string number_text(double value);

}  // namespace sotto
