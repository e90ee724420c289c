// Sums of products whose result does not depend on the machine.
//
// A sum over floats depends on its order, so the order is fixed: 32 lanes take the elements by
// turns on every instruction set, each with Kahan's compensation (error at most 2^-51 of the sum
// of magnitudes), and the lanes are added in double-double, by halves. Every step is odd:
// with all signs of one factor turned, the sum changes its sign and not a bit of its magnitude.
// Integers are summed as integers. Where a sign or a length is all that is wanted, quick_dot leaves
// the compensation out: in the same order, four times as fast.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

/// Blocks are padded with zeros to a multiple of so many elements.
inline constexpr std::size_t kSumLanes = 32;
constexpr std::size_t padded(std::size_t count) {
  return (count + kSumLanes - 1) / kSumLanes * kSumLanes;
}

/// An unevaluated sum of two doubles, of about 106 bits.
struct WideSum {
  double high = 0.0;
  double low = 0.0;
  void add(double value) {
    const double sum = high + value;  // Knuth's exact sum of two
    const double part = sum - high;
    const double error = (high - (sum - part)) + (value - part);
    const double rest = low + error;
    high = sum + rest;
    low = rest - (high - sum);
  }
  void add(const WideSum& other) {
    add(other.low);
    add(other.high);
  }
  double value() const { return high + low; }
};

/// The sum of a_i b_i. `count` is a multiple of kSumLanes.
WideSum dot(const float* a, const float* b, std::size_t count);
WideSum dot(const double* a, const double* b, std::size_t count);
WideSum dot(const double* a, const float* b, std::size_t count);
/// Exact; no element may be -32768.
WideSum dot(const std::int16_t* a, const std::int16_t* b, std::size_t count);
WideSum dot(const std::int16_t* a, const float* b, std::size_t count);

/// The same without compensation: the error is at most (count / 32 + 5) 2^-53 of the sum of
/// magnitudes.
WideSum quick_dot(const float* a, const float* b, std::size_t count);
WideSum quick_dot(const std::int16_t* a, const float* b, std::size_t count);

}  // namespace sotto
