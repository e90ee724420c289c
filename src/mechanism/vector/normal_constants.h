// The numbers of Box-Muller's steps: see normal.h. Shared by the vector kernels and by those of a
// device, which must compute the same bits.
#pragma once

#include <cstdint>

namespace sotto {

/// What differs between the two precisions.
template <class T>
struct NormalTraits;

template <>
struct NormalTraits<float> {
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kRootHalf = 0x3F3504F3;  // the bits of sqrt(1/2)
  static constexpr Bits kInteger = 0x4B000000;   // the bits of 2^23
  static constexpr float kTwoToMantissa = 0x1p23F;
  static constexpr float kRadiusUnit = 0x1p-31F;  // of a word without its lowest bit
  static constexpr float kAngleUnit = 0x1.921fb6p-1F * 0x1p-29F;  // pi / 4 over 2^29
  static constexpr float kLn2High = 0x1.62ep-1F;  // few bits: its small multiples are exact
  static constexpr float kLn2Low = 0x1.0bfbe8p-15F;
  static constexpr int kLogTerms = 5, kSineTerms = 5, kCosineTerms = 5;
};

template <>
struct NormalTraits<double> {
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kRootHalf = 0x3FE6A09E667F3BCD;
  static constexpr Bits kInteger = 0x4330000000000000;  // the bits of 2^52
  static constexpr double kTwoToMantissa = 0x1p52;
  static constexpr double kRadiusUnit = 0x1p-63;
  static constexpr double kAngleUnit = 0x1.921fb54442d18p-1 * 0x1p-61;
  static constexpr double kLn2High = 0x1.62e42fefap-1;
  static constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;
  static constexpr int kLogTerms = 10, kSineTerms = 8, kCosineTerms = 9;
};

/// Taylor coefficients: 1 / (2n + 1) of atanh, (-1)^n / (2n + 1)! of sine, (-1)^n / (2n)! of
/// cosine.
enum class Expansion { kAtanh, kSine, kCosine };
template <class T>
constexpr T coefficient(Expansion series, int n) {
  if (series == Expansion::kAtanh) return T(1) / static_cast<T>(2 * n + 1);
  double factorial = 1.0;  // exact to 18!
  const int order = series == Expansion::kSine ? 2 * n + 1 : 2 * n;
  for (int k = 2; k <= order; ++k) factorial *= k;
  return static_cast<T>((n % 2 == 0 ? 1.0 : -1.0) / factorial);
}

}  // namespace sotto
