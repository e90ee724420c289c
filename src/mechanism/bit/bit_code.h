// How the inputs of a bit mechanism become bits, and bits become features again.
//
// A feature of a locally trained network is written in sign-magnitude: the sign first, then `whole`
// bits of the whole number, then `fraction` bits of the fraction, the most significant first
// (LDPFL, eq. 10). Further bits of the fraction are cut off, and values saturate at
// +-(2^whole - 2^-fraction). Minus zero keeps its sign bit, so every pattern of bits is some input:
// the pairs that a guarantee speaks of exist. Raw bits and one-hot vectors are one bit a value.
// Every function here is total: any float has a code.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/symbols.h"

namespace sotto {

struct FeatureCode {
  unsigned whole = 4;
  unsigned fraction = 5;

  static constexpr unsigned kMostWhole = 15;
  static constexpr unsigned kMostFraction = 16;

  unsigned bits() const noexcept { return 1 + whole + fraction; }
  /// The largest value, 15.96875 for four and five bits.
  double largest() const noexcept;
  /// The code of a value: the sign is its highest bit. What is not finite counts as zero.
  std::uint32_t encode(float value) const noexcept;
  float decode(std::uint32_t code) const noexcept;
};

// Here, so that loops over it become vector code.
inline std::uint32_t FeatureCode::encode(float value) const noexcept {
  // x - x is 0 for every finite x and NaN for all others.
  const float finite = value - value == 0.0F ? value : 0.0F;
  const std::uint32_t sign = std::uint32_t{1} << (whole + fraction);
  // A product with a power of two is exact (or infinite, which is large enough).
  const float steps = std::abs(finite) * static_cast<float>(std::uint32_t{1} << fraction);
  const bool inside = steps < static_cast<float>(sign);
  const auto cut = static_cast<std::int32_t>(inside ? steps : 0.0F);
  const std::uint32_t magnitude = inside ? static_cast<std::uint32_t>(cut) : sign - 1;
  return (std::bit_cast<std::uint32_t>(finite) >> 31 << (whole + fraction)) | magnitude;
}

enum class BitInput {
  kRaw,       // 1 where a value is above 0.5
  kOneHot,    // 1 at the largest value alone, the first one of equals
  kFeatures,  // FeatureCode
};

struct BitCode {
  BitInput input = BitInput::kRaw;
  FeatureCode feature;
  std::size_t values = 0;  // how many inputs are encoded

  unsigned bits_a_value() const noexcept {
    return input == BitInput::kFeatures ? feature.bits() : 1;
  }
  std::size_t bits() const noexcept { return values * bits_a_value(); }
};

/// The bits of one input vector, position 0 first. Keeps a reference to the values.
class BitView {
 public:
  /// `values` has code.values elements or more; those beyond are not read.
  BitView(const BitCode& code, std::span<const float> values);

  bool operator[](std::size_t position) const;
  /// Writes the bits first, first + 1, ... (`first` is a multiple of 64), the first one lowest in a
  /// word; what lies beyond the end is 0.
  void read(std::size_t first, std::span<std::uint64_t> words) const;

 private:
  void read_raw(std::size_t first, std::span<std::uint64_t> words) const;
  void read_features(std::size_t first, std::span<std::uint64_t> words) const;

  BitCode code_;
  std::span<const float> values_;
  std::size_t hot_ = 0;
};

/// The features whose codes are the bits first, first + 1, ... of `bits`, which is of width 1.
std::vector<float> decode_features(const FeatureCode& code, const PackedSymbols& bits,
                                   std::size_t first, std::size_t features);

}  // namespace sotto
