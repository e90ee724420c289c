// What the vector kernel of the window channel reads: the channel's integers in the form in which a
// lane compares them. See mechanism/window.h for the distribution, and WindowChannel::draw for its
// definition, which the kernel follows operation by operation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

struct WindowKernel {
  // From a weight to its centred grid index.
  double scale;  // 10^p
  double shift;  // C + 1/2
  double reach;  // R
  // From there to a position among the windows: linear, or through the nodes of a table.
  double slope;
  double last;                 // N - n
  const double* positions;     // of every index from -R on; null: none are kept
  const double* nodes;         // null: linear
  const double* inverse;       // 1 / (nodes[s + 1] - nodes[s])
  const std::int32_t* starts;  // of the buckets of equal width
  double bucket_scale;
  int steps;  // from a bucket's start to the node, at most
  // The upper 12 bits of the thresholds of the first word.
  double inside;
  double pair_from;  // read only where pair is not 0
  // Choice of a slot.
  double slots;
  double window;
  double reject_inside;        // 2^32 mod n
  double reject_outside;       // 2^32 mod (N - n)
  const std::int32_t* values;  // null: 2k - (N - 1)
  // The pair of values +-pair, for hybrid.
  double pair;
  double pair_slope;  // in units of 2^32 of the threshold
  double pair_most;
  // How long the tables are, for those who copy them.
  std::int32_t position_count;
  std::int32_t node_count;  // one more than `inverse` has
  std::int32_t start_count;
};

/// A weight draws two words. Of the first, the upper 12 bits choose between inside, outside and
/// pair, the lower 20 between two neighbouring windows; the second chooses the slot.
inline constexpr int kChoiceShift = 20;
inline constexpr std::uint32_t kFractionMask = (1U << kChoiceShift) - 1;
inline constexpr double kLargestFraction = 1.0 - 0x1p-32;

struct WindowDone {
  std::size_t weights;  // how many were treated: whole vectors only
  std::size_t lanes;    // of one vector
  std::size_t open;     // how many vectors hold a weight whose words left it open
};

/// Writes the symbols, and to `open` the index of the first weight of every vector of which some
/// weight must be drawn anew. Never call it at SimdLevel::kScalar.
WindowDone draw_window(const WindowKernel& kernel, const float* weights, const std::uint32_t* words,
                       std::size_t count, std::int32_t* out, std::uint32_t* open);

}  // namespace sotto
