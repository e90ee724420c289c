#include "account/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "account/bound_words.h"
#include "account/coupling.h"
#include "account/shuffled/sizes.h"
#include "base/exact/exact.h"

namespace sotto {
namespace {

constexpr std::uint64_t kMantissas = 90'000;  // 10000 to 99999
constexpr int kSmallestPower = -9;

/// Chunks of one round compose; the client is in all batches of a round or in none, so sampling
/// comes after.
Result<PrivacyLoss> shuffled_training(const Training& training) {
  SOTTO_TRY(const Background chunk, chunk_of(training, training.split));
  const std::uint64_t full = training.weights / training.split;
  const std::uint64_t rest = training.weights % training.split;
  Background last;
  if (rest > 0) {
    SOTTO_TRY(last, chunk_of(training, rest));
  }
  const std::uint64_t population = population_of(training.clients, training.sampling);
  const PrivacyLoss round =
      full + rest == 1 ? loss_with_silence(chunk, population, training.sampling)
                       : loss_over_sizes(
                             population, training.sampling,
                             [&](std::uint64_t clients) {
                               PrivacyLoss all = PrivacyLoss::shuffled(chunk, clients).times(full);
                               if (rest == 0) return all;
                               return all.with(PrivacyLoss::shuffled(last, clients));
                             },
                             SizeDetail::kCoarse);
  return round.times(training.rounds);
}

/// The index of the least planned epsilon that is not below `epsilon`; the last one at most.
std::uint64_t planned_at_least(double epsilon) {
  std::uint64_t low = 0, high = kPlannedEpsilons - 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (planned_epsilon(middle) < epsilon) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// A search in one number.
struct Scale {
  std::uint64_t last = 0;    // the largest index
  std::uint64_t stride = 1;  // where to look first
  std::function<double(std::uint64_t)> value;
  std::function<void(Training&, double)> set;
};

Scale scale_of(PlanUnknown unknown, const Training& training) {
  const auto from_one = [](std::uint64_t index) { return static_cast<double>(index + 1); };
  const auto whole = [](double value) { return static_cast<std::uint64_t>(value); };
  switch (unknown) {
    case PlanUnknown::kEpsilon0: {
      const std::uint64_t first = planned_at_least(training.least_epsilon0);
      std::uint64_t last = planned_at_least(training.most_epsilon0);
      if (last > first && planned_epsilon(last) > training.most_epsilon0) --last;
      // Prices over decades of epsilon0 are all alike in effort: no careful start.
      return {last - first, kPlannedEpsilons,
              [first](std::uint64_t index) { return planned_epsilon(first + index); },
              [](Training& t, double value) { t.epsilon0 = value; }};
    }
    case PlanUnknown::kSplit:
      return {training.weights - 1, 1, from_one,
              [whole](Training& t, double value) { t.split = whole(value); }};
    case PlanUnknown::kRounds:
      return {kMostPlanned - 1, 1, from_one,
              [whole](Training& t, double value) { t.rounds = whole(value); }};
    case PlanUnknown::kClients:
      break;
  }
  return {kMostPlanned - 1, 16, from_one,
          [whole](Training& t, double value) { t.clients = whole(value); }};
}

}  // namespace

Result<Background> chunk_of(const Training& training, std::uint64_t weights) {
  if (training.background) return training.background(training.epsilon0, weights);
  Background background;
  background.epsilon = exact::multiply_up(training.epsilon0, static_cast<double>(weights));
  return background;
}

double planned_epsilon(std::uint64_t index) {
  const auto mantissa = static_cast<double>(10'000 + index % kMantissas);
  const int power = kSmallestPower - 4 + static_cast<int>(index / kMantissas);
  // Powers of ten up to 10^22 are doubles, so the quotient is the double nearest to the decimal.
  return power < 0 ? mantissa / std::pow(10.0, -power) : mantissa * std::pow(10.0, power);
}

Result<std::optional<std::uint64_t>> first_change(
    const std::function<Result<bool>(std::uint64_t)>& answer, std::uint64_t last,
    std::uint64_t stride) {
  SOTTO_TRY(const bool initial, answer(0));
  std::uint64_t same = 0;
  std::uint64_t other = last + 1;  // changed, as far as is known
  for (std::uint64_t at = stride; at < other; at *= 2) {
    SOTTO_TRY(const bool found, answer(at));
    (found == initial ? same : other) = at;
  }
  while (other - same > 1) {
    const std::uint64_t middle = same + (other - same) / 2;
    SOTTO_TRY(const bool found, answer(middle));
    (found == initial ? same : other) = middle;
  }
  if (other > last) return std::nullopt;
  return other;
}

Result<Bound> price(const Training& training) {
  SOTTO_TRY(const Background one, chunk_of(training, 1));
  const std::uint64_t releases = training.weights * training.rounds;
  const auto reports = static_cast<double>(releases);
  Bound bound = bound_named("optimal", training.delta);
  bound.epsilon = composed_epsilon(one.epsilon, one.coupling, releases, training.delta);
  if (!training.local && training.clients > 1) {
    SOTTO_TRY(const Background chunk, chunk_of(training, training.split));
    SOTTO_TRY(const PrivacyLoss loss, shuffled_training(training));
    // No fewer reports than chunks, and a chunk's coupling is no less than a shorter one's.
    const double all = chunk.coupling * reports * static_cast<double>(training.clients);
    const auto epsilon =
        coupled_epsilon([&](double delta) { return loss.epsilon(delta); }, training.delta, all);
    if (epsilon && *epsilon < *bound.epsilon) {
      bound = bound_named(chunk.floor > 0.0 ? "background" : "generic", training.delta);
      bound.epsilon = epsilon;
    }
  }
  return bound;
}

Result<Plan> make_plan(const Training& training, PlanUnknown unknown, double target_epsilon,
                       const std::function<void(std::size_t, std::size_t)>& progress) {
  const Scale scale = scale_of(unknown, training);
  const auto expected = static_cast<std::size_t>(std::log2(static_cast<double>(scale.last) + 1.0) +
                                                 (scale.stride <= scale.last ? 12.0 : 3.0));
  std::size_t steps = 0;
  std::map<std::uint64_t, Bound> priced;
  const auto price_at = [&](std::uint64_t index) -> Result<Bound> {
    if (const auto known = priced.find(index); known != priced.end()) return known->second;
    Training tried = training;
    scale.set(tried, scale.value(index));
    SOTTO_TRY(const Bound found, price(tried));
    if (progress) progress(++steps, std::max(expected, steps));
    priced[index] = found;
    return found;
  };
  const auto meets = [&](std::uint64_t index) -> Result<bool> {
    SOTTO_TRY(const Bound found, price_at(index));
    return *found.epsilon <= target_epsilon;
  };
  SOTTO_TRY(const bool first_meets, meets(0));
  Plan plan;
  plan.unknown = unknown;
  std::uint64_t index = 0;
  std::optional<std::uint64_t> beyond;  // misses
  const bool more_is_better = unknown == PlanUnknown::kClients;
  plan.possible = first_meets;
  if (first_meets != more_is_better) {  // else the first value is the answer already
    SOTTO_TRY(const auto change, first_change(meets, scale.last, scale.stride));
    plan.possible = !more_is_better || change.has_value();
    if (!change) {
      index = scale.last;
    } else {
      index = more_is_better ? *change : *change - 1;
      beyond = more_is_better ? *change - 1 : *change;
    }
  }
  plan.value = scale.value(index);
  SOTTO_TRY(plan.price, price_at(index));
  if (beyond) {
    plan.next = scale.value(*beyond);
    SOTTO_TRY(plan.next_price, price_at(*beyond));
  }
  return plan;
}

}  // namespace sotto
