// Working backwards: from the epsilon that a client shall have for a whole training to the one
// number that is still open.
//
// The cost grows with epsilon0, split and rounds and falls with clients, so the answer is an edge
// that bisection finds. Nothing rests on that order, though: the answer and the next value, which
// misses the target, are both priced, and both prices are part of the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sotto/account.h"

namespace sotto {

enum class PlanUnknown { kEpsilon0, kSplit, kRounds, kClients };

/// What a client does in a training.
struct Training {
  double epsilon0 = 0.0;      // of one weight; of the whole report where there is only one
  std::uint64_t weights = 1;  // that a client sends in a round
  std::uint64_t split = 1;    // weights that travel together, at most all; the last may be fewer
  std::uint64_t rounds = 1;
  std::uint64_t clients = 1;  // of one batch, this one included; in the mean if sampled
  bool local = false;         // no shuffler: composition alone; split and clients do not matter
  double sampling = 1.0;      // of each client to be picked for a round, where nobody sees who is
  double delta = 1e-6;
  double least_epsilon0 = 1e-9;  // what may be chosen where epsilon0 is open
  double most_epsilon0 = 1000.0;
  /// What is known of so many weights that travel together at this epsilon0. Where it is empty:
  /// that their epsilon is the sum.
  std::function<Result<Background>(double epsilon0, std::uint64_t weights)> background;
};

/// What is known of `weights` weights that travel together.
Result<Background> chunk_of(const Training& training, std::uint64_t weights);

/// The least epsilon of a client over the whole training. `name` is "optimal" where composition
/// alone gives it, else "generic" or "background". Infinite where the sampler's arithmetic costs
/// more than delta.
Result<Bound> price(const Training& training);

struct Plan {
  PlanUnknown unknown = PlanUnknown::kEpsilon0;
  bool possible = false;
  /// The largest epsilon0 (of five digits), split or number of rounds, or the fewest clients, that
  /// meets the target; where it is not possible, the most favourable value there is.
  double value = 0.0;
  Bound price;
  /// The next value and its price, which is above the target; nothing where there is no next one.
  std::optional<double> next;
  std::optional<Bound> next_price;
};

inline constexpr std::uint64_t kMostPlanned = 1'000'000'000;  // rounds, clients

/// Solves for `unknown`; what `training` says about it does not matter. `progress` is called with
/// (steps done, steps expected).
Result<Plan> make_plan(const Training& training, PlanUnknown unknown, double target_epsilon,
                       const std::function<void(std::size_t, std::size_t)>& progress = {});

/// The first index in (0, last] whose answer differs from that of index 0, or nothing. Looks at
/// `stride`, twice that and so on before it bisects.
Result<std::optional<std::uint64_t>> first_change(
    const std::function<Result<bool>(std::uint64_t)>& answer, std::uint64_t last,
    std::uint64_t stride);

/// Numbers of five significant digits from 1e-9 to 1000, ascending: what epsilon0 is chosen from.
double planned_epsilon(std::uint64_t index);
inline constexpr std::uint64_t kPlannedEpsilons = 12 * 90'000 + 1;

}  // namespace sotto
