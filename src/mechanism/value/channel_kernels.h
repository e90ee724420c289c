// The fast ways of the channels as plain numbers and tables, for kernels that run elsewhere: the
// vector kernels here, and those of a device that has memory of its own (src/cuda). Each is the
// first part of a channel's draw(), which stays the definition: what a kernel leaves open is drawn
// by that.
#pragma once

#include <cstdint>
#include <variant>

#include "mechanism/window/window_kernel.h"

namespace sotto {

/// `none`: round(weight * scale), by adding 1.5 * 2^52.
struct FixedKernel {
  double scale;
};

/// In units of 2^32 of the threshold: its upper half.
struct TwoPointKernel {
  double centre;
  double slope;
  double most;
};

/// srr and grr. Of every group: the upper half of the threshold that ends it, its highest bit
/// turned so that a signed comparison orders them; the size; the first rank. `padded` entries each,
/// a power of two: behind the last group the largest int.
struct StaircaseView {
  double scale;
  double shift;
  std::int32_t radius;
  std::int32_t groups;
  std::int32_t padded;
  const std::int32_t* upper;
  const std::int32_t* size;
  const std::int32_t* begin;
};

/// em and laplace; see geometric.h and geometric.cpp.
struct GeometricKernel {
  double scale, shift, reach, bound;  // of the grid, and B
  double rate, inverse_rate;
  double one_plus_q;
  double both_ends;  // q^(2B + 2)
  // |t computed - t| <= fixed + relative t + unit / z, with z = min(X, X') (see geometric.cpp).
  double fixed, relative, unit;
  bool cut;
};

/// Pointers are into the channel's own tables.
using ChannelKernel = std::variant<std::monostate, FixedKernel, TwoPointKernel, StaircaseView,
                                   WindowKernel, GeometricKernel>;

}  // namespace sotto
