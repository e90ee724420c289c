#include "account/chunks.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

/// Thirty bits of a number of 0 or more. Sums of the same epsilons in another order differ in their
/// last bits; coarser numbers, rounded to the safe side, make them equal.
double coarse(double value, bool up) {
  if (!std::isfinite(value) || value == 0.0) return value;
  constexpr int kBits = 30;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(value, &exponent), kBits);
  return std::ldexp(up ? std::ceil(scaled) : std::floor(scaled), exponent - kBits);
}

void add(std::vector<ChunkKind>& kinds, const Background& exact, std::uint64_t count) {
  const Background rounded{coarse(exact.epsilon, true), coarse(exact.floor, false), exact.coupling};
  for (ChunkKind& kind : kinds) {
    if (kind.background.epsilon == rounded.epsilon && kind.background.floor == rounded.floor &&
        kind.background.coupling == rounded.coupling) {
      kind.count += count;
      return;
    }
  }
  kinds.push_back({rounded, count});
}

}  // namespace

std::vector<ChunkKind> chunk_kinds(const Mechanism& mechanism, std::uint64_t split) {
  const std::size_t outputs = mechanism.outputs();
  const bool by_weight = mechanism.guarantee().unit == "weight";
  if (split == 0 || split >= outputs || !by_weight) {
    return {{mechanism.background(0, outputs), 1}};
  }
  std::vector<ChunkKind> kinds;
  std::size_t first = 0;
  for (const TensorSpec& tensor : mechanism.domain().layout->tensors()) {
    const std::size_t end = tensor.offset + tensor.size;
    if (first >= end) continue;
    // Whole chunks inside the tensor, then the one that reaches beyond it or ends the report.
    if (const std::size_t inside = (end - first) / split; inside > 0) {
      add(kinds, mechanism.background(first, split), inside);
      first += inside * split;
    }
    if (first < end) {
      const std::size_t count = std::min<std::size_t>(split, outputs - first);
      add(kinds, mechanism.background(first, count), 1);
      first += count;
    }
  }
  return kinds;
}

}  // namespace sotto
