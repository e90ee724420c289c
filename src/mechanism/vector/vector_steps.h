// What privunit computes for one coordinate, one lane of a sum or one vector, without vector
// registers: for a device's kernels, where a thread does it, and for tests of the same source on
// the processor. Operation by operation the steps of normal.cpp, base/exact/sums.cpp,
// vector_kernels.cpp, bound/fill_ball.cpp and bound/bound.cpp, each rounded once and none fused, so
// that the error bounds of privunit_bound.h hold on a device as they do on the processor. One order
// differs: a device adds the 32 lanes of a sum one after the other, the processor by halves. Both
// are sums of double-doubles, which agree to about 2^-98 of the lanes' magnitudes.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "mechanism/vector/normal_constants.h"

#ifdef __CUDACC__
#define SOTTO_STEP __host__ __device__ inline
#else
#define SOTTO_STEP inline
#endif

namespace sotto::steps {

SOTTO_STEP std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
SOTTO_STEP double double_of(std::uint64_t bits) {
  double value = 0.0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// The sum of coefficient(kFrom + n) z^n for n < kTerms, by Horner's rule, innermost first.
template <Expansion kSeries, int kFrom, int kTerms>
SOTTO_STEP double series(double z) {
  constexpr double kFirst = coefficient<double>(kSeries, kFrom);
  if constexpr (kTerms == 1) {
    return kFirst;
  } else {
    return series<kSeries, kFrom + 1, kTerms - 1>(z) * z + kFirst;
  }
}

/// sqrt(-2 ln U), U = (word / 2 + 1/2) 2^-63.
SOTTO_STEP double normal_radius(std::uint64_t word) {
  using Traits = NormalTraits<double>;
  constexpr int kMantissa = Traits::kMantissa;
  constexpr std::uint64_t kBias = std::uint64_t{64} << kMantissa;
  const double u =
      (static_cast<double>(static_cast<std::int64_t>(word >> 1)) + 0.5) * Traits::kRadiusUnit;
  const std::uint64_t raw = bits_of(u) + kBias;
  const std::uint64_t exponent = (raw - Traits::kRootHalf) >> kMantissa;
  const double m = double_of(raw - (exponent << kMantissa));
  const double power = double_of(exponent | Traits::kInteger) - (Traits::kTwoToMantissa + 64.0);
  const double f = m - 1.0;
  const double s = f / (f + 2.0);
  const double z = s * s;
  const double twice = s + s;
  const double tail = (twice * z) * series<Expansion::kAtanh, 1, Traits::kLogTerms>(z);
  const double low = power * Traits::kLn2Low + tail;
  const double ln = power * Traits::kLn2High + (twice + low);
  return sqrt(fmax(ln * -2.0, 0.0));
}

/// A pair of deviates; returns their radius.
SOTTO_STEP double normal_pair(std::uint64_t radius_word, std::uint64_t angle_word, double& first,
                              double& second) {
  using Traits = NormalTraits<double>;
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  const double r = normal_radius(radius_word);
  const std::uint64_t rest = angle_word & ((kTop >> 2) - 1);
  const double a = static_cast<double>(static_cast<std::int64_t>(rest)) * Traits::kAngleUnit;
  const double z = a * a;
  const double sine = a + (a * z) * series<Expansion::kSine, 1, Traits::kSineTerms - 1>(z);
  const double cosine = 1.0 + z * series<Expansion::kCosine, 1, Traits::kCosineTerms - 1>(z);
  const bool swap = (angle_word & (kTop >> 2)) != 0;
  const double x = r * (swap ? sine : cosine);
  const double y = r * (swap ? cosine : sine);
  first = double_of(bits_of(x) ^ (angle_word & kTop));
  second = double_of(bits_of(y) ^ (angle_word << 1 & kTop));
  return r;
}

/// One of the 32 lanes of a sum of products, with Kahan's compensation.
struct LaneSum {
  double sum = 0.0;
  double lost = 0.0;
  SOTTO_STEP void add_product(double a, double b) {
    const double term = a * b - lost;
    const double next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
};

/// WideSum::add; a device adds the lanes of a sum in order, `sum` and then -`lost` of each.
SOTTO_STEP void add_wide(double& high, double& low, double value) {
  const double sum = high + value;
  const double part = sum - high;
  const double error = (high - (sum - part)) + (value - part);
  const double rest = low + error;
  high = sum + rest;
  low = rest - (high - sum);
}

/// How a vector is brought to a length: by fill_ball() or by bound() for a ball.
struct Scaling {
  enum class How : std::uint32_t { kKeep, kNarrow, kWide, kFirst };
  double factor = 1.0;
  How how = How::kKeep;
  /// The coordinate `i` after it; of kFirst the first one is `factor`.
  SOTTO_STEP float of(float value, std::uint64_t i) const {
    if (how == How::kNarrow) return value * static_cast<float>(factor);
    if (how == How::kWide) return static_cast<float>(value * factor);
    if (how == How::kFirst && i == 0) return static_cast<float>(factor);
    return value;
  }
};

/// `most` is the largest factor that single precision is used for.
SOTTO_STEP Scaling scaled_to(double norm, double square, double most) {
  Scaling scaling;
  scaling.factor = norm / sqrt(square) * (1.0 - 0x1p-20);
  const bool narrow = scaling.factor >= 0x1p-100 && scaling.factor <= most;
  scaling.how = narrow ? Scaling::How::kNarrow : Scaling::How::kWide;
  return scaling;
}
SOTTO_STEP Scaling filling(double square, double norm, double floor) {
  if (square < floor * floor) return {};
  if (square == 0.0) return {norm * (1.0 - 0x1p-20), Scaling::How::kFirst};
  return scaled_to(norm, square, 0x1p100);
}
SOTTO_STEP Scaling projecting(double square, double norm) {
  return square <= norm * norm ? Scaling{} : scaled_to(norm, square, 1.0);
}

/// a g + b x, at most `most` in magnitude, rounded to `symbol`; returns its distance from there
/// with the error flat + of_value |a g + b x| + of_input |x| added.
struct Rounding {
  double a, b, most;
  double flat, of_value, of_input;
};
SOTTO_STEP double round_surely(const Rounding& how, double noise, float input,
                               std::int32_t& symbol) {
  constexpr double kShift = 0x1.8p52;
  const auto x = static_cast<double>(input);
  const double value = noise * how.a + x * how.b;
  const double inside = fmin(fmax(value, -how.most), how.most);
  const double shifted = inside + kShift;
  symbol = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits_of(shifted)));
  const double error = (how.flat + fabs(inside) * how.of_value) + fabs(x) * how.of_input;
  return fabs(inside - (shifted - kShift)) + error;
}
/// Whether a coordinate of that distance can be no other symbol; false for what is no number.
SOTTO_STEP bool is_sure(double distance) { return distance < 0.5 - 0x1p-50; }

}  // namespace sotto::steps
