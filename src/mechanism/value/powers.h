// Powers of q = e^-a between two integers: fixed point of any precision, rounded outwards.
//
// An enclosure holds low <= x 2^bits <= high. Only products, sums and one alternating series are
// needed, and each is rounded down in `low` and up in `high`, so no error analysis stands behind
// it: e^-x = T_1 with T_j = 1 - (x / j) T_(j+1), and for 0 <= x <= 1 every T_j lies in [0, 1], from
// where the evaluation starts at the far end. Larger exponents are squares of smaller ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/exact/exact.h"

namespace sotto {

/// Two machine words: what almost every decision needs.
__extension__ using DoubleWord = unsigned __int128;

/// a b / 2^shift, rounded down; shift is in (0, 128) and the result must fit.
inline DoubleWord scaled(DoubleWord a, DoubleWord b, unsigned shift) {
  const auto low = [](DoubleWord x) -> DoubleWord { return static_cast<std::uint64_t>(x); };
  const DoubleWord low_low = low(a) * low(b);
  const DoubleWord low_high = low(a) * (b >> 64);
  const DoubleWord high_low = (a >> 64) * low(b);
  const DoubleWord middle = low(low_high) + low(high_low) + (low_low >> 64);
  const DoubleWord upper =
      (a >> 64) * (b >> 64) + (low_high >> 64) + (high_low >> 64) + (middle >> 64);
  const DoubleWord lower = middle << 64 | low(low_low);
  return upper << (128 - shift) | lower >> shift;
}
inline exact::Integer scaled(const exact::Integer& a, const exact::Integer& b, unsigned shift) {
  return exact::Integer(a * b) >> shift;
}
/// An integer that is not below a b / 2^shift.
template <class Int>
Int scaled_up(const Int& a, const Int& b, unsigned shift) {
  return scaled(a, b, shift) + 1;
}

template <class Int>
struct Enclosure {
  Int low;
  Int high;
};

/// Int is DoubleWord, with at most 120 bits, or exact::Integer.
template <class Int>
class Powers {
 public:
  /// For exponents below 2^`digits`. The rate a must be positive.
  Powers(double rate, unsigned bits, unsigned digits) : bits_(bits), one_(Int(1) << bits) {
    squares_.push_back(exponential(rate));
    while (squares_.size() < digits) squares_.push_back(square(squares_.back()));
  }

  unsigned bits() const { return bits_; }
  const Int& one() const { return one_; }
  const Enclosure<Int>& q() const { return squares_[0]; }

  Enclosure<Int> power(std::uint64_t exponent) const {
    Enclosure<Int> result{one_, one_};
    for (std::size_t j = 0; exponent >> j != 0; ++j) {
      if ((exponent >> j & 1) != 0) result = product(result, squares_[j]);
    }
    return result;
  }

  /// Of numbers up to one, with one multiplication if it can be: with widths f and g of the
  /// factors, (a + f)(b + g) <= a b + f + g + f g, and f g is below one unit if f and g are below
  /// 2^(bits / 2) units.
  Enclosure<Int> product(const Enclosure<Int>& a, const Enclosure<Int>& b) const {
    const Int f = a.high - a.low;
    const Int g = b.high - b.low;
    if (Int(f | g) >> (bits_ / 2) != 0) return times(a, b);
    const Int low = scaled(a.low, b.low, bits_);
    return {low, low + f + g + 2};
  }

  Enclosure<Int> times(const Enclosure<Int>& a, const Enclosure<Int>& b) const {
    return {scaled(a.low, b.low, bits_), scaled_up(a.high, b.high, bits_)};
  }

  /// 1 + q + ... + q^(count - 1), by doubling: without the closed form, so that it can be tested.
  Enclosure<Int> sum(std::uint64_t count) const {
    Enclosure<Int> total{0, 0};
    Enclosure<Int> power{one_, one_};  // q^(the number of terms in total)
    for (int j = std::bit_width(count) - 1; j >= 0; --j) {
      const Enclosure<Int> more = times(total, power);
      total = {total.low + more.low, total.high + more.high};
      power = square(power);
      if ((count >> j & 1) == 0) continue;
      total = {total.low + power.low, total.high + power.high};
      power = times(power, squares_[0]);
    }
    return total;
  }

 private:
  Enclosure<Int> square(const Enclosure<Int>& a) const { return times(a, a); }

  /// rate * 2^(bits - halvings), rounded down or up.
  Int argument(double rate, unsigned halvings, bool up) const {
    int exponent = 0;
    const double fraction = std::frexp(rate, &exponent);
    const auto digits = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    const int shift = exponent - 53 + static_cast<int>(bits_) - static_cast<int>(halvings);
    if (shift >= 0) return Int(digits) << static_cast<unsigned>(shift);
    const auto right = static_cast<unsigned>(-shift);
    const Int cut = Int(digits) >> right;
    return up ? Int(cut + 1) : cut;
  }

  Enclosure<Int> exponential(double rate) const {
    // So many that the rest is below one half.
    unsigned halvings = rate < 0.5 ? 0 : static_cast<unsigned>(std::ilogb(rate) + 2);
    const Int low = argument(rate, halvings, false);
    const Int high = argument(rate, halvings, true);
    Enclosure<Int> term{0, one_};
    for (unsigned j = bits_ / 4 + 8; j >= 1; --j) {
      const Int most = scaled_up(high, term.high, bits_) / j + 1;
      const Int least = scaled(low, term.low, bits_) / j;
      term = {most < one_ ? Int(one_ - most) : Int(0), one_ - least};
    }
    for (; halvings > 0; --halvings) term = square(term);
    return term;
  }

  unsigned bits_;
  Int one_;
  std::vector<Enclosure<Int>> squares_;  // q^(2^j)
};

}  // namespace sotto
