// Inversion by enclosures: the definition of what `em` and `laplace` draw.
//
// With the first m bits of U known, U lies in [u, u + 1] / 2^m and X in an interval of integers.
// A candidate k is certain when q^k >= X_high and q^(k+1) <= X_low, in integers. Where a boundary
// q^k lies inside the interval, bits and precision are doubled. The interval shrinks with 2^-m, so
// that happens with a probability of about 2^-m / a and ends with probability one; a row of zeros
// only goes on until the last symbol of the tail is certain.
#include <algorithm>
#include <cmath>

#include "mechanism/value/constants.h"
#include "mechanism/value/geometric.h"

namespace sotto {
namespace {

constexpr unsigned kGuard = 128;

/// ln of a positive integer, to a relative error of some 2^-50.
double log_of(DoubleWord value) { return std::log(static_cast<double>(value)); }
double log_of(const exact::Integer& value) {
  const auto top = static_cast<unsigned>(msb(value));
  const unsigned cut = top > 62 ? top - 62 : 0;
  return std::log(static_cast<double>(static_cast<std::uint64_t>(value >> cut))) +
         cut * 0.6931471805599453;
}

/// ln(a / b), with a small relative error also where a is close to b.
template <class Int>
double log_quotient(const Int& a, const Int& b) {
  const Int gap = a > b ? Int(a - b) : Int(b - a);
  if (gap == 0) return 0.0;
  if (gap > Int(b >> 1)) return log_of(a) - log_of(b);
  const double share = std::exp(log_of(gap) - log_of(b));
  return std::log1p(a > b ? share : -share);
}

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::min(std::max(std::floor(value), -0x1p60), 0x1p60));
}

}  // namespace

ExactGeometric::ExactGeometric(const GeometricDistribution& distribution)
    : distribution_(distribution),
      digits_(static_cast<unsigned>(
          std::bit_width(static_cast<std::uint64_t>(distribution.bound + distribution.reach) + 1))),
      first_(distribution.rate, 120, digits_),
      second_(distribution.rate, 128 + kGuard, digits_) {}

double ExactGeometric::power(std::uint64_t exponent) const {
  const Powers<exact::Integer> powers(distribution_.rate, 512,
                                      static_cast<unsigned>(std::bit_width(exponent)));
  return std::ldexp(powers.power(exponent).low.convert_to<double>(), -512);
}

/// `digits` are the first `count` bits of U.
template <class Int>
std::optional<Symbol> ExactGeometric::decide(const Powers<Int>& powers, std::int64_t input,
                                             const Int& digits, unsigned count) const {
  using Pair = Enclosure<Int>;
  const Int& one = powers.one();
  const Pair& q = powers.q();
  const std::int64_t down = distribution_.bound + input;
  const std::int64_t up = distribution_.bound - input;
  Pair below{0, 0}, above{0, 0};
  if (distribution_.cut) {
    below = powers.power(static_cast<std::uint64_t>(down) + 1);
    above = powers.power(static_cast<std::uint64_t>(up) + 1);
    if (one + q.low < below.high + above.high) return {};
  }
  const Pair length{one + q.low - below.high - above.high, one + q.high - below.low - above.low};
  const auto placed = [&](const Int& u, const Pair& start) -> Pair {
    return {scaled(u, length.low, count) + start.low,
            scaled_up(Int(u + 1), length.high, count) + start.high};
  };
  Pair x = placed(digits, below);
  const bool lower = x.low + x.high <= one + q.low;
  // 1 - U begins with the complements of the bits of U.
  if (!lower) x = placed(Int(((Int(1) << count) - 1) - digits), above);
  const std::int64_t last = lower ? down : up;

  const double start = (log_of(one) - log_of(x.high)) / distribution_.rate;
  std::int64_t k = std::clamp<std::int64_t>(whole(start), 0, last);
  for (int step = 0; step < 200; ++step) {
    const Pair here = powers.power(static_cast<std::uint64_t>(k));
    const Pair next = powers.times(here, q);
    const bool reached = here.low >= x.high;
    if (reached && (k == last || next.high <= x.low)) return lower ? input - k : input + k;
    if (reached && next.low >= x.high) {
      k += std::max<std::int64_t>(1, whole(log_quotient(here.high, x.high) / distribution_.rate));
    } else if (k > 0 && here.high <= x.low) {
      k += std::min<std::int64_t>(-1, whole(log_quotient(here.high, x.high) / distribution_.rate));
    } else {
      return {};  // a boundary lies inside the interval
    }
    k = std::clamp<std::int64_t>(k, 0, last);
  }
  return {};
}

Symbol ExactGeometric::draw(std::int64_t input, const UnitBits& bits) const {
  if (const auto symbol = decide<DoubleWord>(first_, input, bits.first, 64)) return *symbol;
  exact::Integer digits = bits.first;
  digits = digits << 64 | bits.next();
  if (const auto symbol = decide<exact::Integer>(second_, input, digits, 128)) return *symbol;
  for (unsigned words = 4;; words *= 2) {
    for (unsigned word = words / 2; word < words; ++word) digits = digits << 64 | bits.next();
    const Powers<exact::Integer> powers(distribution_.rate, 64 * words + kGuard, digits_);
    if (const auto symbol = decide<exact::Integer>(powers, input, digits, 64 * words)) {
      return *symbol;
    }
  }
}

bool ExactGeometric::sums_to_one(std::int64_t input) const {
  using Int = exact::Integer;
  const Powers<Int> powers(distribution_.rate, 512, digits_ + 1);
  const Int& one = powers.one();
  const auto down = static_cast<std::uint64_t>(distribution_.bound + input);
  const auto up = static_cast<std::uint64_t>(distribution_.bound - input);
  // All masses times (1 - q) N for a distribution that is cut, times 1 + q for one that is
  // gathered.
  const std::uint64_t ends = distribution_.cut ? 1 : 0;
  const auto below = powers.sum(down + ends);
  const auto above = powers.sum(up + ends);
  const Enclosure<Int> shape{below.low + above.low - one, below.high + above.high - one};
  Enclosure<Int> total =
      powers.times(shape, {one - powers.q().high, one - powers.q().low});  // times 1 - q
  Enclosure<Int> whole{one + powers.q().low, one + powers.q().high};
  const auto beyond_below = powers.power(down + ends);
  const auto beyond_above = powers.power(up + ends);
  if (distribution_.cut) {
    whole = {whole.low - beyond_below.high - beyond_above.high,
             whole.high - beyond_below.low - beyond_above.low};
  } else {
    total = {total.low + beyond_below.low + beyond_above.low,
             total.high + beyond_below.high + beyond_above.high};
  }
  const bool meet = total.low <= whole.high && whole.low <= total.high;
  return meet && whole.low > 0 && ((total.high - total.low) << 64) <= whole.low;
}

std::vector<Constant> GeometricChannel::constants() const {
  std::vector<Constant> all = grid_constants(grid_);
  all.push_back(integer_constant("bound", distribution_.bound));
  all.push_back(integer_constant("cut", distribution_.cut ? 1 : 0));
  all.push_back(real_constant("rate", distribution_.rate));
  return all;
}

}  // namespace sotto
