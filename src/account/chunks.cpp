#include "account/chunks.h"

#include <algorithm>
#include <cmath>

#include "base/exact/exact.h"

namespace sotto {
namespace {

/// Forty bits of a number of 0 or more. Sums of the same epsilons in another order differ in their
/// last bits; coarser numbers, rounded to the safe side, make them equal.
double coarse(double value, bool up) {
  if (!std::isfinite(value) || value == 0.0) return value;
  constexpr int kBits = 40;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(value, &exponent), kBits);
  return std::ldexp(up ? std::ceil(scaled) : std::floor(scaled), exponent - kBits);
}

/// The same distributions below a lower floor: epsilon grows so that floor e^epsilon stays above
/// them.
Background lowered(const Background& from, double floor) {
  Background to = from;
  to.floor = floor;
  if (floor > 0.0 && floor < from.floor) {
    to.epsilon = exact::add_up(from.epsilon, std::log(from.floor / floor) * (1.0 + 1e-12) + 1e-15);
  }
  return to;
}

/// Chunk by chunk, neighbours of one tensor counted together.
std::vector<ChunkKind> chunks_in_order(const Mechanism& mechanism, std::uint64_t split) {
  const std::size_t outputs = mechanism.outputs();
  const bool by_weight = mechanism.guarantee().unit == GuaranteeUnit::kWeight;
  if (split == 0 || split >= outputs || !by_weight) {
    return {{mechanism.background(0, outputs), 1}};
  }
  std::vector<ChunkKind> chunks;
  std::size_t first = 0;
  for (const TensorSpec& tensor : mechanism.domain().layout->tensors()) {
    const std::size_t end = tensor.offset + tensor.size;
    if (first >= end) continue;
    // Whole chunks inside the tensor, then the one that reaches beyond it or ends the report.
    if (const std::size_t inside = (end - first) / split; inside > 0) {
      chunks.push_back({mechanism.background(first, split), inside});
      first += inside * split;
    }
    if (first < end) {
      const std::size_t count = std::min<std::size_t>(split, outputs - first);
      chunks.push_back({mechanism.background(first, count), 1});
      first += count;
    }
  }
  return chunks;
}

std::uint64_t total(const std::vector<ChunkKind>& chunks) {
  std::uint64_t sum = 0;
  for (const ChunkKind& chunk : chunks) sum += chunk.count;
  return sum;
}

}  // namespace

Background weaker(const Background& a, const Background& b) {
  const double floor = std::min(a.floor, b.floor);
  Background both;
  both.floor = floor;
  both.epsilon = std::max(lowered(a, floor).epsilon, lowered(b, floor).epsilon);
  both.coupling = std::max(a.coupling, b.coupling);
  return both;
}

void add(std::vector<ChunkKind>& kinds, const Background& background, std::uint64_t count) {
  Background rounded = lowered(background, coarse(background.floor, false));
  rounded.epsilon = coarse(rounded.epsilon, true);
  for (ChunkKind& kind : kinds) {
    if (kind.background.epsilon == rounded.epsilon && kind.background.floor == rounded.floor &&
        kind.background.coupling == rounded.coupling) {
      kind.count += count;
      return;
    }
  }
  kinds.push_back({rounded, count});
}

std::vector<ChunkKind> chunk_kinds(const Mechanism& mechanism, std::uint64_t split) {
  return chunk_kinds(std::vector<const Mechanism*>{&mechanism}, split);
}

std::vector<ChunkKind> chunk_kinds(const std::vector<const Mechanism*>& any, std::uint64_t split) {
  std::vector<ChunkKind> worst;
  for (const Mechanism* const mechanism : any) {
    std::vector<ChunkKind> chunks = chunks_in_order(*mechanism, split);
    if (worst.empty()) {
      worst = std::move(chunks);
      continue;
    }
    const bool alike = std::ranges::equal(worst, chunks, {}, &ChunkKind::count, &ChunkKind::count);
    if (!alike) {  // other tensors: one kind that is weaker than all, and the larger number of them
      const std::uint64_t most = std::max(total(worst), total(chunks));
      Background all = worst.front().background;
      for (const ChunkKind& chunk : worst) all = weaker(all, chunk.background);
      for (const ChunkKind& chunk : chunks) all = weaker(all, chunk.background);
      worst = {{all, most}};
      continue;
    }
    for (std::size_t i = 0; i < worst.size(); ++i) {
      worst[i].background = weaker(worst[i].background, chunks[i].background);
    }
  }
  if (worst.size() == 1) return worst;
  std::vector<ChunkKind> kinds;
  for (const ChunkKind& chunk : worst) add(kinds, chunk.background, chunk.count);
  return kinds;
}

}  // namespace sotto
