// Sixty-four coins at a time, each with its own 64-bit probability, exactly.
//
// An output bit is 1 with probability T / 2^64, where the integer T depends on the input bit and on
// whether its position is even or odd. It is 1 when a uniform 64-bit number r is below T, which the
// highest bit in which r and T differ decides. So we compare bit by bit from the top, all 64
// positions of a word at once: a random word holds one bit of each of the 64 numbers r, a mask the
// same bit of each T. Every level decides half of the positions that are still open; after nine or
// ten levels none of 256 is open, and nothing is ever cut off: the last level is the 64th.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/exact/exact.h"
#include "mechanism/value/coin.h"

namespace sotto {

/// P(1) = one[parity][input] / 2^64 at positions of that parity; above 0, so no symbol is certain.
struct BitThresholds {
  std::array<std::array<std::uint64_t, 2>, 2> one{};

  /// The same at even and odd positions.
  static BitThresholds everywhere(std::uint64_t for_one, std::uint64_t for_zero) {
    const std::array<std::uint64_t, 2> both{for_zero, for_one};
    return {{both, both}};
  }
  /// How many of the 2^64 words give `symbol`.
  exact::Integer words(std::size_t position, bool input, bool symbol) const {
    const exact::Integer ones = one[position % 2][input ? 1 : 0];
    return symbol ? ones : exact::Integer((exact::Integer(1) << 64) - ones);
  }
};

class SlicedSampler {
 public:
  static constexpr unsigned kLevels = 64;
  /// Words of 64 bits that go through the levels together, so that the loop's end, which nothing
  /// can foresee, costs less and the compiler has vectors to work with.
  static constexpr std::size_t kTogether = 4;
  using Bits = std::array<std::uint64_t, kTogether>;
  static constexpr std::size_t kMostRandom = kLevels * kTogether;
  struct Level {
    std::uint64_t zero;    // the thresholds' bits where the input is 0 ...
    std::uint64_t change;  // ... and in which they change where it is 1
  };

  explicit SlicedSampler(const BitThresholds& thresholds) : levels_{} {
    constexpr std::uint64_t kEven = 0x5555555555555555;
    const auto mask = [&thresholds](unsigned input, unsigned bit) {
      const bool even = (thresholds.one[0][input] >> bit & 1) != 0;
      const bool odd = (thresholds.one[1][input] >> bit & 1) != 0;
      return (even ? kEven : 0) | (odd ? ~kEven : 0);
    };
    for (unsigned level = 0; level < kLevels; ++level) {
      const std::uint64_t zero = mask(0, kLevels - 1 - level);
      levels_[level] = {zero, zero ^ mask(1, kLevels - 1 - level)};
    }
  }

  /// Replaces input bits, of which the lowest has an even position, by their outputs. Takes
  /// kTogether words a level from `random` on, where kMostRandom of them must be ready, and returns
  /// where it stopped. This is the definition.
  const std::uint64_t* draw(Bits& bits, const std::uint64_t* random) const {
    Bits open;
    open.fill(~std::uint64_t{0});
    Bits result{};
    for (const Level& level : levels_) {
      std::uint64_t any = 0;
      for (std::size_t i = 0; i < kTogether; ++i) {
        const std::uint64_t threshold = level.zero ^ (bits[i] & level.change);
        const std::uint64_t differ = random[i] ^ threshold;
        result[i] |= open[i] & differ & threshold;
        open[i] &= ~differ;
        any |= open[i];
      }
      random += kTogether;
      if (any == 0) break;
    }
    bits = result;
    return random;
  }

  /// The same with the vector instructions of this machine, for whole groups of kTogether words.
  const std::uint64_t* draw_fast(std::uint64_t* group, const std::uint64_t* random) const;

 private:
  std::array<Level, kLevels> levels_;
};

/// The integer T of 1 .. 2^64 - 1 that is nearest to 2^64 / (1 + odds), for odds above 0.
std::uint64_t nearest_threshold(const exact::Rational& odds);

}  // namespace sotto
