#include "account/shuffled_claim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "account/chunks.h"
#include "base/exact.h"
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

/// The smallest batches that a client of `rounds` rounds can have been in. More than kMostSizes
/// sizes are joined, and those that are joined count as the smallest of them.
std::vector<Batches> smallest_batches(const Exposure& exposure, std::uint64_t rounds) {
  std::vector<Batches> taken;
  std::uint64_t left = rounds;
  for (const auto& [size, count] : exposure.batches) {
    const std::uint64_t these = std::min(left, count);
    if (these > 0) taken.push_back({size, these});
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

std::uint64_t total_rounds(const Exposure& exposure) {
  std::uint64_t sum = 0;
  for (const auto& [size, count] : exposure.batches) sum += count;
  return sum;
}

PrivacyLoss loss_of_batches(const std::vector<ChunkKind>& kinds,
                            const std::vector<Batches>& batches, double sampling) {
  PrivacyLoss all;
  for (const Batches& batch : batches) {
    // A client that is not picked is missing from all chunks of the round at once.
    PrivacyLoss round;
    for (const ChunkKind& kind : kinds) {
      const PrivacyLoss chunk = PrivacyLoss::shuffled(kind.background, batch.size);
      const std::uint64_t times = sampling < 1.0 ? 1 : batch.rounds;
      round = round.with(chunk.times(kind.count * times));
    }
    all = all.with(sampling < 1.0 ? round.sampled(sampling).times(batch.rounds) : round);
  }
  return all;
}

/// S of the heading: the chance that any report of the batches left its exact law.
double coupling_of(const std::vector<ChunkKind>& kinds, const std::vector<Batches>& batches) {
  double sum = 0.0;
  for (const ChunkKind& kind : kinds) {
    for (const Batches& batch : batches) {
      const double reports =
          exact::multiply_up(static_cast<double>(batch.size), static_cast<double>(batch.rounds));
      const double chunks = exact::multiply_up(reports, static_cast<double>(kind.count));
      sum = exact::add_up(sum, exact::multiply_up(chunks, kind.background.coupling));
    }
  }
  return sum;
}

/// The least epsilon with loss.delta(epsilon) + coupling (1 + e^epsilon) <= delta, among those
/// where the second term may take 2^-20, 2^-19, ... 1/2 of delta. What is left for the first one
/// falls from step to step and epsilon grows, so the first step where the second term fits is the
/// best.
ShuffledEpsilon epsilon_at(const PrivacyLoss& loss, double delta, double coupling) {
  ShuffledEpsilon answer;
  answer.coupling = coupling;
  if (coupling == 0.0) {
    answer.epsilon = loss.epsilon(delta);
    return answer;
  }
  constexpr int kSteps = 20;
  for (int step = kSteps; step > 0; --step) {
    const double share = std::ldexp(delta, -step);
    if (2.0 * coupling > share) continue;  // e^epsilon is at least 1
    const double epsilon = loss.epsilon(std::nextafter(delta - share, 0.0));
    // e^epsilon is a rounded number: far more than its error is allowed for.
    const double cost = coupling * (1.0 + std::exp(epsilon)) * (1.0 + 0x1p-40);
    if (!(cost <= share)) continue;
    answer.epsilon = epsilon;
    return answer;
  }
  answer.reason = "the sampler's arithmetic alone would cost more than delta " +
                  short_number(delta) + " in these batches";
  return answer;
}

ShuffledEpsilon shuffled(const Mechanism& mechanism, const Exposure& exposure,
                         const std::vector<Batches>& batches, double sampling) {
  const Guarantee guarantee = mechanism.guarantee();
  const std::vector<ChunkKind> kinds = chunk_kinds(mechanism, exposure.split);
  // A delta is either that of the sampler's arithmetic, which the coupling accounts for, or one of
  // the exact law, for which nothing is known here.
  const bool only_arithmetic = std::ranges::all_of(
      kinds, [](const ChunkKind& kind) { return kind.background.coupling > 0.0; });
  if (guarantee.gaussian_ratio > 0.0 || (guarantee.delta > 0.0 && !only_arithmetic)) {
    return {std::nullopt, "no amplification is proven for a mechanism with a delta of its own",
            0.0};
  }
  for (const ChunkKind& kind : kinds) {
    if (!(kind.background.epsilon <= kHopeless)) {
      return {std::nullopt,
              "what travels together has epsilon " + short_number(kind.background.epsilon) +
                  ", too much to hide in any batch",
              0.0};
    }
  }
  const PrivacyLoss loss = loss_of_batches(kinds, batches, sampling);
  return epsilon_at(loss, exposure.delta, coupling_of(kinds, batches));
}

}  // namespace

ShuffledEpsilon shuffled_round(const Mechanism& mechanism, const Exposure& exposure) {
  return shuffled(mechanism, exposure, smallest_batches(exposure, 1), exposure.sampling);
}

ShuffledEpsilon shuffled_training(const Mechanism& mechanism, const Exposure& exposure) {
  ShuffledEpsilon best =
      shuffled(mechanism, exposure, smallest_batches(exposure, exposure.rounds), 1.0);
  if (exposure.sampling < 1.0) {
    // Whoever does not see who was picked cannot tell which rounds a client was in: all count.
    ShuffledEpsilon hidden = shuffled(
        mechanism, exposure, smallest_batches(exposure, total_rounds(exposure)), exposure.sampling);
    const auto value = [](const ShuffledEpsilon& e) {
      return e.epsilon.value_or(std::numeric_limits<double>::infinity());
    };
    if (value(hidden) < value(best)) best = std::move(hidden);
  }
  return best;
}

}  // namespace sotto
