// Standard normal deviates for vector mechanisms, by the polar form of Box and Muller: a pair is
// sqrt(-2 ln U) (cos A, sin A) with U uniform on (0, 1) and A uniform on the circle.
//
// One template serves every instruction set and the scalar path (one lane): only +, -, *, / and
// square roots, each rounded once in the same order, so all of them give the same bits. The three
// highest bits of the angle's word say the sign of the first value, the sign of the second, and
// whether the two are exchanged: words that differ in the first two bits give exactly (-a, -b) for
// (a, b). The exactness of `ldp-sgd` rests on that and on nothing else.
//
// Error of the double form, u = 2^-53, against real arithmetic on real U and A whose leading bits
// are the words: |error| <= 10 u r + 2 u + (u / 2 + 2^-64 / U) / r for r = sqrt(-2 ln U) >= 2^-20.
// (Below that the root is no longer almost straight, and the part in 1 / r counts twice.)
//
// - U stands for all numbers with its 63 bits: 2^-64. Rounded to 53 bits it is off by u / 2 from
//   1/2 on and by a relative 1.5 u below. Over U r that is u / (2 r) and 0.4 u r, or 1.3 u.
// - ln(m) = 2 atanh((m - 1) / (m + 1)) for m in [1/sqrt 2, sqrt 2]: m + 1 and the quotient 2 u, the
//   odd powers 0.2 u, two sums 2 u, and the series stops at a relative 2^-57: 4.2 u, of which the
//   root keeps half and adds one: 3.1 u r.
// - Sine and cosine on [0, pi / 4]: 3 u of the angle, 1.2 u of the series, which stop at 2^-54, and
//   one sum: 4.5 u.
// - The product r sin A: (0.4 + 3.1 + 4.5 + 1) u r, below 10 u r with all products of errors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

/// Pairs come in whole groups of so many, on every instruction set.
inline constexpr std::size_t kPairGroup = 16;

/// The smallest and the largest radius of the pairs: what the error of their deviates depends on.
struct RadiusRange {
  double least;
  double most;
};

/// `pairs` words for radii, then `pairs` words for angles, become 2 * `pairs` deviates: first the
/// first values of all pairs, then the second ones. `pairs` is a multiple of kPairGroup.
RadiusRange normals(const std::uint64_t* words, std::size_t pairs, double* out);

/// An upper bound of the probability that a vector of this dimension and norm (in deviations of the
/// noise), plus noise, is rounded to a lattice of `per_deviation` points a deviation otherwise in
/// doubles than in real arithmetic. In units of the deviation the error of a coordinate is at most
/// 32 units of 2^-53 on average over the noise (15 of the deviate, 2 of the sum;
/// docs/reference/mechanisms.md) and 2^-52 |x_i|; a normal coordinate lies within e of a boundary
/// with probability at most 2 e (per_deviation + 0.4).
double lattice_coupling(double per_deviation, double dimension, double norm);

/// The same in single precision, times 4096 and rounded to integers: |value| <= 27,280 always.
void lattice_normals(const std::uint32_t* words, std::size_t pairs, std::int16_t* out);
inline constexpr int kNormalScale = 4096;

}  // namespace sotto
