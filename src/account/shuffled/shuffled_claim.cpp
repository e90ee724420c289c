#include "account/shuffled/shuffled_claim.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "account/chunks.h"
#include "account/coupling.h"
#include "account/releases.h"
#include "account/shuffled/sizes.h"
#include "base/exact/exact.h"
#include "base/text.h"
#include "sotto/account.h"

namespace sotto {
namespace {

/// Batches of one size: every client was in `rounds` of them at most.
struct Batches {
  std::uint64_t size = 0;
  std::uint64_t rounds = 0;
};

/// Beyond it, a batch would need more clients than there are people for anyone to hide in it.
constexpr double kHopeless = 100.0;
constexpr std::size_t kMostSizes = 8;
constexpr std::size_t kMostKinds = 8;

/// The smallest batches of a turn that a client of `rounds` rounds can have been in, as large as
/// their honest members make them. More than kMostSizes sizes are joined, and those that are joined
/// count as the smallest of them.
std::vector<Batches> smallest_batches(const Turn& turn, std::uint64_t rounds, double honest) {
  std::vector<Batches> taken;
  std::uint64_t left = rounds;
  for (const auto& [size, count] : turn.batches) {
    const std::uint64_t these = std::min(left, count);
    if (these > 0) taken.push_back({honest_members(size, honest), these});
    left -= these;
  }
  const std::size_t together = (taken.size() + kMostSizes - 1) / kMostSizes;
  std::vector<Batches> joined;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (i % together == 0) {
      joined.push_back(taken[i]);
    } else {
      joined.back().rounds += taken[i].rounds;
    }
  }
  return joined;
}

/// A turn's chunks, and how often they went through which batches.
struct Shown {
  std::vector<ChunkKind> kinds;
  std::vector<Batches> batches;
};

/// More kinds than kMostKinds are joined with their neighbours by epsilon, to the safe side.
void join(std::vector<ChunkKind>& kinds) {
  std::ranges::sort(kinds, {}, [](const ChunkKind& kind) { return kind.background.epsilon; });
  const auto gap = [&](std::size_t i) {
    return static_cast<double>(kinds[i].count) *
           (kinds[i + 1].background.epsilon - kinds[i].background.epsilon);
  };
  while (kinds.size() > kMostKinds) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < kinds.size(); ++i) {
      if (gap(i) < gap(best)) best = i;
    }
    ChunkKind& upper = kinds[best + 1];
    upper.background = weaker(kinds[best].background, upper.background);
    upper.count += kinds[best].count;
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

/// What one report among those of so many clients tells.
using Told = PrivacyLoss (*)(const Background& background, std::uint64_t clients);

PrivacyLoss loss_of_round(const std::vector<ChunkKind>& kinds, std::uint64_t clients,
                          Told told = PrivacyLoss::shuffled) {
  PrivacyLoss round;
  for (const ChunkKind& kind : kinds) {
    round = round.with(told(kind.background, clients).times(kind.count));
  }
  return round;
}

/// Who was picked is not seen, so every round counts, with every size that it may have had.
PrivacyLoss loss_of_hidden(const std::vector<Shown>& all, const Exposure& exposure) {
  const std::uint64_t population = honest_members(exposure.population, exposure.honest);
  PrivacyLoss loss;
  for (const Shown& shown : all) {
    std::uint64_t chunks = 0, rounds = 0;
    for (const ChunkKind& kind : shown.kinds) chunks += kind.count;
    for (const Batches& batch : shown.batches) rounds += batch.rounds;
    if (rounds == 0) continue;
    // A client that is not picked is missing from all chunks of the round at once.
    const PrivacyLoss round =
        chunks == 1
            ? loss_with_silence(shown.kinds[0].background, population, exposure.sampling)
            : loss_over_sizes(
                  population, exposure.sampling,
                  [&](std::uint64_t clients) { return loss_of_round(shown.kinds, clients); },
                  SizeDetail::kCoarse);
    loss = loss.with(round.times(rounds));
  }
  return loss;
}

PrivacyLoss loss_of_batches(const std::vector<Shown>& all, Told told = PrivacyLoss::shuffled) {
  PrivacyLoss loss;
  // Turns that have chunks and sizes in common share their losses.
  std::map<std::uint64_t, std::vector<ChunkKind>> by_size;
  for (const Shown& shown : all) {
    for (const Batches& batch : shown.batches) {
      for (const ChunkKind& kind : shown.kinds) {
        add(by_size[batch.size], kind.background, kind.count * batch.rounds);
      }
    }
  }
  for (auto& [size, kinds] : by_size) {
    join(kinds);
    loss = loss.with(loss_of_round(kinds, size, told));
  }
  return loss;
}

/// The probability that any report of the batches left its exact distribution.
double coupling_of(const std::vector<Shown>& all) {
  double sum = 0.0;
  for (const Shown& shown : all) {
    for (const ChunkKind& kind : shown.kinds) {
      for (const Batches& batch : shown.batches) {
        const double reports =
            exact::multiply_up(static_cast<double>(batch.size), static_cast<double>(batch.rounds));
        const double chunks = exact::multiply_up(reports, static_cast<double>(kind.count));
        sum = exact::add_up(sum, exact::multiply_up(chunks, kind.background.coupling));
      }
    }
  }
  return sum;
}

ShuffledEpsilon epsilon_of(const PrivacyLoss& loss, const std::vector<Shown>& all, double delta) {
  ShuffledEpsilon answer;
  answer.coupling = coupling_of(all);
  answer.epsilon =
      coupled_epsilon([&](double part) { return loss.epsilon(part); }, delta, answer.coupling);
  if (!answer.epsilon) {
    answer.reason = "the sampler's arithmetic alone would cost more than delta " +
                    short_number(delta) + " in these batches";
  }
  return answer;
}

ShuffledEpsilon epsilon_at(const std::vector<Shown>& all, const Exposure& exposure) {
  return epsilon_of(exposure.hidden() ? loss_of_hidden(all, exposure) : loss_of_batches(all), all,
                    exposure.delta);
}

/// Why the chunks of one place in a turn cannot be hidden; empty where they can.
std::string obstacle(const std::vector<const Mechanism*>& any,
                     const std::vector<ChunkKind>& kinds) {
  // A delta is either that of the sampler's arithmetic, which the coupling accounts for, or one of
  // the exact distribution, for which nothing is known here.
  const bool only_arithmetic = std::ranges::all_of(
      kinds, [](const ChunkKind& kind) { return kind.background.coupling > 0.0; });
  for (const Mechanism* const mechanism : any) {
    const Guarantee guarantee = mechanism->guarantee();
    if (guarantee.gaussian_ratio > 0.0 || (guarantee.delta > 0.0 && !only_arithmetic)) {
      return "no amplification is proven for a mechanism with a delta of its own";
    }
  }
  for (const ChunkKind& kind : kinds) {
    if (!(kind.background.epsilon <= kHopeless)) {
      return "what travels together has epsilon " + short_number(kind.background.epsilon) +
             ", too much to hide in any batch";
    }
  }
  return "";
}

/// The chunks of every turn; an obstacle to any of them ends in `reason`.
std::vector<Shown> shown_by(const Exposure& exposure, std::string& reason) {
  std::vector<Shown> all;
  for (const Turn& turn : exposure.turns) {
    Shown shown;
    const std::size_t places = turn.variants.empty() ? 0 : turn.variants.front().size();
    for (std::size_t place = 0; place < places; ++place) {
      const std::vector<const Mechanism*> any = alternatives(turn, place);
      const std::vector<ChunkKind> kinds = chunk_kinds(any, exposure.split);
      if (reason.empty()) reason = obstacle(any, kinds);
      if (places == 1) {
        shown.kinds = kinds;
      } else {
        for (const ChunkKind& kind : kinds) add(shown.kinds, kind.background, kind.count);
      }
    }
    if (reason.empty()) join(shown.kinds);
    all.push_back(std::move(shown));
  }
  return all;
}

/// Where it is not seen who was picked: `rounds` rounds with as many reports as are expected, which
/// what they cost in arithmetic is counted by.
std::vector<Batches> expected_batches(const Exposure& exposure, std::uint64_t rounds) {
  const double expected = std::ceil(static_cast<double>(exposure.population) * exposure.sampling);
  return {{static_cast<std::uint64_t>(expected), rounds}};
}

}  // namespace

ShuffledEpsilon shuffled_round(const Exposure& exposure) {
  ShuffledEpsilon worst;
  std::vector<Shown> all = shown_by(exposure, worst.reason);
  if (!worst.reason.empty()) return worst;
  worst.epsilon = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].batches = exposure.hidden() ? expected_batches(exposure, 1)
                                       : smallest_batches(exposure.turns[i], 1, exposure.honest);
    ShuffledEpsilon one = epsilon_at({all[i]}, exposure);
    if (!one.epsilon) return one;
    worst.epsilon = std::max(*worst.epsilon, *one.epsilon);
    worst.coupling = std::max(worst.coupling, one.coupling);
  }
  return worst;
}

ShuffledEpsilon shuffled_against_noise(const Exposure& exposure) {
  ShuffledEpsilon answer;
  std::vector<Shown> all = shown_by(exposure, answer.reason);
  if (!answer.reason.empty()) return answer;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Turn& turn = exposure.turns[i];
    for (const ChunkKind& kind : all[i].kinds) {
      if (kind.background.floor > 0.0) continue;
      answer.reason = "its reports have no known noise in common";
      return answer;
    }
    all[i].batches = smallest_batches(turn, turn.rounds, exposure.honest);
  }
  return epsilon_of(loss_of_batches(all, PrivacyLoss::shuffled_noise), all, exposure.delta);
}

ShuffledEpsilon shuffled_training(const Exposure& exposure) {
  ShuffledEpsilon best;
  std::vector<Shown> all = shown_by(exposure, best.reason);
  if (!best.reason.empty()) return best;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Turn& turn = exposure.turns[i];
    // Whoever does not see who was picked cannot tell which rounds a client was in: all count.
    all[i].batches = exposure.hidden() ? expected_batches(exposure, all_rounds(turn))
                                       : smallest_batches(turn, turn.rounds, exposure.honest);
  }
  return epsilon_at(all, exposure);
}

}  // namespace sotto
