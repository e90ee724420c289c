// privunit's report in real arithmetic, for the few vectors that doubles leave undecided.
//
// A word of the fast path is the beginning of a uniform number; the next 256 bits come from the
// weight's further bits (base/streams.h), and all is computed with 384 bits: logarithm, sine and
// cosine of the deviates, the quantile, the sums. The last coordinate that is still undecided then
// is met with the probability that PrivUnit::coupling_ bounds.
//
// Quantile: with s = sin(psi), c = cos(psi), m = (d - 1) / 2, the share of the sphere with
// v_1 >= s is 1/2 - C(s) = T(c),
//   C = c_d s c^(2m) sum_k (m + 1/2)_k / (3/2)_k s^(2k)
//   T = c_d s c^(2m) / (2m) sum_k (m + 1/2)_k / (m + 1)_k c^(2k)
// (the incomplete beta function, DLMF 8.17.8): sums of positive terms. Newton's method solves for s
// or for c, whichever is smaller.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random/streams.h"

namespace sotto {

using Real = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<384, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

/// A number in (0, 1): the lowest `bits` bits of `word`, then 256 further ones.
Real uniform_from(std::uint64_t word, unsigned bits, MoreBits more);

/// Sine and cosine of psi.
struct RealAngle {
  Real sine;
  Real cosine;
};
/// The angle in [0, pi/2] whose tail on the sphere of R^d is `probability`, in (0, 1/2]; d >= 2.
RealAngle exact_angle(std::size_t dimension, const Real& probability);

/// A pair of deviates: `radius` is U; the highest three bits of `signs` are those of the angle's
/// word, `octant` in (0, 1) is the angle in units of pi / 4.
struct RealPair {
  Real first;
  Real second;
};
RealPair exact_pair(const Real& radius, std::uint64_t signs, const Real& octant);

/// The first `count` deviates of a block of `padded(count)`, as normals() makes them of its words.
std::vector<Real> exact_normals(BlockStream& stream, std::uint64_t block, std::size_t count);

/// Sums over coordinates, block by block.
struct RealSums {
  Real square = 0;   // of the deviates
  Real product = 0;  // with the input
  Real input = 0;    // the input's square
  void add(std::span<const Real> noise, std::span<const float> input_values);
  void add(const RealSums& other);
};

/// y = a g + b x.
struct RealPlan {
  Real a;
  Real b;
};
/// `angle.sine` is t: negative below the equator or for u = -x / |x|.
RealPlan plan_exactly(std::size_t dimension, const RealSums& sums, const RealAngle& angle);

/// The nearest lattice points, at most `most` in magnitude.
void round_exactly(const RealPlan& plan, std::span<const Real> noise, std::span<const float> input,
                   std::int32_t most, std::span<std::int32_t> out);

}  // namespace sotto
