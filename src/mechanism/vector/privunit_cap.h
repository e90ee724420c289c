// The cap of `privunit`: which share q of the sphere the likelier part covers, and with which
// probability p a report lies in it, as integers over 2^64.
#pragma once

#include <cmath>
#include <optional>

#include "base/exact/exact.h"
#include "mechanism/vector/sphere.h"

namespace sotto::privunit {

/// The cap: how many of 2^64 words fall in it under the uniform distribution, q, and under ours, p;
/// and what follows from them.
struct Cap {
  exact::Integer q = exact::Integer(1) << 63;
  exact::Integer p;
  double sine = 0.0;          // gamma
  double partial_mean = 0.5;  // S
  double mean = 0.0;          // M
};

/// With the share q of the sphere that is asked for, or else the one with the least error.
Cap make_cap(std::size_t dimension, const Sphere& sphere, double epsilon,
             std::optional<double> asked);

/// An upper bound of the probability that the report is not the lattice point of the real v: the
/// exact path, which has 320 bits of each uniform number, would have to decide a coordinate that
/// lies closer to a boundary than its error. docs/research/proofs.md adds it up: d 2^-139 p/q from
/// 64 dimensions on and d 2^-98 p/q below, where the noise may be almost parallel to u; the
/// distribution of v has at most p/q times the uniform density. The value returned is larger still.
double coupling_of(std::size_t dimension, const Cap& cap);

/// 2^64.
const exact::Integer& whole();
/// Of 2^64.
double share(const exact::Integer& words);

}  // namespace sotto::privunit
