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
// are the words: |error| <= 10 u r + 2 u / r with r = sqrt(-2 ln U). The series of ln(m) =
// 2 atanh((m - 1) / (m + 1)) for m in [1/sqrt 2, sqrt 2] stops at a relative 2^-57, those of sine
// and cosine on [0, pi / 4] at 2^-54; the rest is the rounding of 4, 3 and 3 steps that count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

/// Pairs come in whole groups of so many, on every instruction set.
inline constexpr std::size_t kPairGroup = 16;

/// `pairs` words for radii, then `pairs` words for angles, become 2 * `pairs` deviates: first the
/// first values of all pairs, then the second ones. `pairs` is a multiple of kPairGroup.
void normals(const std::uint64_t* words, std::size_t pairs, double* out);

/// The same in single precision, times 4096 and rounded to integers: |value| <= 27,280 always.
void lattice_normals(const std::uint32_t* words, std::size_t pairs, std::int16_t* out);
inline constexpr int kNormalScale = 4096;

}  // namespace sotto
