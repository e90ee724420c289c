// Neighbouring values of a binomial count, lumped together: what the bounds on shuffled batches sum
// over.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/exact/binomial.h"

namespace sotto {

/// What is cut off the distributions of counts; it is added to delta.
inline constexpr double kTail = 1e-18;
/// Relative width of what is lumped together.
inline constexpr double kBlockWidth = 2e-3;

/// Calls with (lowest, highest, probability of the block) for blocks of neighbouring values; what
/// is cut off above belongs to the last one.
template <class Visit>
void visit_blocks(const BinomialWindow& window, Visit visit) {
  for (std::uint64_t value = window.first; value < window.end();) {
    const auto width = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(kBlockWidth * static_cast<double>(value)));
    const std::uint64_t end = std::min(window.end(), value + width);
    double probability = 0.0;
    for (std::uint64_t i = value; i < end; ++i)
      probability += window.probabilities[i - window.first];
    if (end == window.end()) probability += window.above;
    visit(value, end - 1, probability);
    value = end;
  }
}

}  // namespace sotto
