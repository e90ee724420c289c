// The fast way of two-sided geometric inversion: t = -ln(z) / a in doubles, with a proven error.
//
// Notation as in geometric.h; w = 2^-53 is the relative error of one rounding. A fused
// multiply-add only leaves roundings out, so the bounds hold with and without it.
//
// Exponential, e^-x for 0 <= x <= 200: x = n ln 2 - r with |r| <= 0.35. Reducing costs an absolute
// error of at most 1 w in r; the Taylor polynomial of degree 13 leaves out less than 0.04 w; its
// Horner steps lose at most 2.2 w relative, of which the last two steps make 1.9. Altogether below
// 4 w, relative.
//
// Logarithm, z = 2^e m with m in [sqrt(1/2), sqrt(2)): ln m = 2 atanh(s), s = (m - 1) / (m + 1).
// m - 1 is exact, s has a relative error of 2 w; s^2 <= 0.0295, so the series up to s^19 leaves out
// less than 0.1 w and its correction s^2 (1/3 + ...) <= 0.011 carries less than 0.2 w; the product
// adds 2 w: 4.3 w |ln m| <= 1.5 w. Adding e ln 2 in two parts costs 0.4 w and a last rounding.
// Altogether below (2 + |ln z|) w, absolute.
//
// X = U N + lo, with lo = q^(l+1), hi = q^(u+1) and N = 1 + q - lo - hi. Of lo and hi the larger
// one is an exponential of a product that is rounded once, with a relative error of (y + 4) w for
// e^-y; the smaller one is the quotient of q^(l+u+2), known to 1 w, and the larger one: (y + 6) w.
// Absolute, these are at most 4.4 w and 6.4 w, for y e^-y < 0.37. 1 + q and two differences bring 4
// more: N has an absolute error below 15 w. U / X is at most 2, since either N >= 1/2, or
// 1 - lo <= N < 1/2 and X >= lo > 1/2. So N's error is 30 w of X; U, the product and the sum are
// rounded, 3 w; lo's own error is at most (lo / X) (y + 6) w <= (7 + |ln X|) w, because lo <= X and
// s ln(1/s) is at most X ln(1/X) for s <= X < 1/e, and at most 1/e everywhere. Bits of U that are
// not drawn yet shift X by at most N 2^-65 <= 2^-64. (Beyond e^-200 lo and hi are replaced by
// e^-200 or 0, which nothing here can see.) The same holds for X' with hi for lo. In all, with z =
// min(X, X'), t = |ln z| / a and two roundings in the product with 1/a,
//
//   |t computed - t| <= ((42 + a t) w + 2^-64 / z + a t w) / a + 3 w t,  if z >= 2^-50,
//
// and the code takes 48 for 42, 6 w t for the terms with t, and a little more than 2^-64: the rest
// covers second-order terms and the roundings of the test itself. Where nothing is cut, lo and hi
// are zero, N has a relative error of 2 w, and 42 becomes 7; the code takes 9.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/value/geometric.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#include "mechanism/value/geometric.h"

#ifndef SOTTO_GEOMETRIC_SHARED
#define SOTTO_GEOMETRIC_SHARED
namespace sotto {
/// Stands in a block for a symbol that is open: -2^31 or -2^51. No distribution reaches either.
template <class Integer>
constexpr double kGeometricOpen = sizeof(Integer) == 4 ? -0x1p31 : -0x1p51;
/// Added to an integer of less than 2^51, it leaves that in the low bits of the double.
constexpr double kShift = 0x1.8p52;
}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> exponential(D f64, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> u64;
  x = hn::Min(x, hn::Set(f64, 200.0));
  // n = x / ln 2, rounded: in the low bits of a double after the shift.
  const auto shifted = hn::MulAdd(x, hn::Set(f64, 0x1.71547652b82fep0), hn::Set(f64, kShift));
  const auto n = hn::Sub(shifted, hn::Set(f64, kShift));
  // The upper part of ln 2 has 32 bits, so its product with n is exact.
  const auto upper = hn::NegMulAdd(n, hn::Set(f64, 0x1.62e42feep-1), x);
  const auto r = hn::MulSub(n, hn::Set(f64, 0x1.a39ef35793c76p-33), upper);
  auto sum = hn::Set(f64, 1.0 / 6227020800.0);
  for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0}) {
    sum = hn::MulAdd(sum, r, hn::Set(f64, 1.0 / factorial));
  }
  // Times 2^-n, by the exponent: n <= 289 and the sum is near one.
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(u64, shifted));
  return hn::BitCast(f64, hn::Sub(hn::BitCast(u64, sum), exponent));
}

/// -ln z for a normal z.
template <class D>
HWY_INLINE hn::Vec<D> minus_log(D f64, hn::Vec<D> z) {
  const hn::RebindToUnsigned<D> u64;
  const auto half_root = hn::Set(u64, 0x3FE6A09E667F3BCD);  // sqrt(1/2)
  const auto one = hn::Set(u64, 0x3FF0000000000000);
  const auto bits = hn::Add(hn::BitCast(u64, z), hn::Sub(one, half_root));
  const auto biased = hn::Or(hn::ShiftRight<52>(bits), hn::Set(u64, 0x4330000000000000));
  const auto e = hn::Sub(hn::BitCast(f64, biased), hn::Set(f64, 0x1p52 + 1023.0));
  const auto mantissa = hn::And(bits, hn::Set(u64, 0x000FFFFFFFFFFFFF));
  const auto m = hn::BitCast(f64, hn::Add(mantissa, half_root));
  const auto f = hn::Sub(m, hn::Set(f64, 1.0));
  const auto s = hn::Div(f, hn::Add(hn::Set(f64, 2.0), f));
  const auto square = hn::Mul(s, s);
  auto sum = hn::Set(f64, 2.0 / 19.0);
  for (const double odd : {17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) {
    sum = hn::MulAdd(sum, square, hn::Set(f64, 2.0 / odd));
  }
  const auto log_m = hn::MulAdd(hn::Mul(s, square), sum, hn::Add(s, s));
  const auto low = hn::MulAdd(e, hn::Set(f64, 0x1.a39ef35793c76p-33), log_m);
  return hn::Neg(hn::MulAdd(e, hn::Set(f64, 0x1.62e42feep-1), low));
}

/// A word in the low bits of the power of two `at`.
template <class D, class Words>
HWY_INLINE hn::Vec<D> placed(D f64, Words word, double at) {
  const hn::RebindToUnsigned<D> u64;
  return hn::BitCast(f64, hn::Or(hn::PromoteTo(u64, word), hn::BitCast(u64, hn::Set(f64, at))));
}

/// (high 2^32 + low + 1/2) / 2^64. The low bits of 2^20 count units of 2^-32, those of 2^-12 units
/// of 2^-64; the second difference also adds the half. Both differences are exact.
template <class D, class Words>
HWY_INLINE hn::Vec<D> unit(D f64, Words high, Words low) {
  const auto upper = hn::Sub(placed(f64, high, 0x1p20), hn::Set(f64, 0x1p20));
  const auto lower = hn::Sub(placed(f64, low, 0x1p-12), hn::Set(f64, 0x1p-12 - 0x1p-65));
  return hn::Add(upper, lower);
}

/// The symbols of one vector of weights, as doubles, `mark` where one is open.
template <bool kCut, class D>
HWY_INLINE hn::Vec<D> symbols_of(D f64, const GeometricKernel& k, const float* weights,
                                 const std::uint32_t* high, const std::uint32_t* low, double mark,
                                 hn::Mask<D>& any) {
  const hn::Rebind<float, D> f32;
  const hn::Rebind<std::uint32_t, D> u32;
  const auto one = hn::Set(f64, 1.0);
  // The index as DecimalGrid has it: a product and a difference, each rounded.
  const auto weight = hn::PromoteTo(f64, hn::LoadU(f32, weights));
  const auto steps = hn::Sub(hn::Mul(weight, hn::Set(f64, k.scale)), hn::Set(f64, k.shift));
  const auto input =
      hn::Min(hn::Max(hn::Ceil(steps), hn::Set(f64, -k.reach)), hn::Set(f64, k.reach));

  const auto word0 = hn::LoadU(u32, high);
  const auto word1 = hn::LoadU(u32, low);
  const auto u = unit(f64, word0, word1);
  const auto complement = unit(f64, hn::Not(word0), hn::Not(word1));
  hn::Vec<D> x, mirrored;
  if constexpr (kCut) {
    // The term of the nearer end; the other one from their product, q^(l+1) q^(u+1).
    const auto steps_out = hn::Sub(hn::Set(f64, k.bound + 1.0), hn::Abs(input));
    const auto near = exponential(f64, hn::Mul(hn::Set(f64, k.rate), steps_out));
    const auto far = hn::Div(hn::Set(f64, k.both_ends), near);
    const auto left = hn::Lt(input, hn::Zero(f64));
    const auto below = hn::IfThenElse(left, near, far);
    const auto above = hn::IfThenElse(left, far, near);
    const auto length = hn::Sub(hn::Sub(hn::Set(f64, k.one_plus_q), below), above);
    x = hn::MulAdd(u, length, below);
    mirrored = hn::MulAdd(complement, length, above);
  } else {
    const auto length = hn::Set(f64, k.one_plus_q);
    x = hn::Mul(u, length);
    mirrored = hn::Mul(complement, length);
  }
  const auto lower = hn::Le(x, mirrored);
  const auto z = hn::Min(x, mirrored);
  const auto t = hn::Mul(minus_log(f64, z), hn::Set(f64, k.inverse_rate));
  const auto whole = hn::Floor(t);

  // Certain if the nearest integer is farther than fixed + relative t + unit / z.
  const auto past = hn::Sub(t, whole);
  const auto gap = hn::Min(past, hn::Sub(one, past));
  const auto error = hn::MulAdd(hn::Set(f64, k.relative), t, hn::Set(f64, k.fixed));
  const auto bound = hn::MulAdd(error, z, hn::Set(f64, k.unit));
  const auto certain = hn::And(hn::Gt(hn::Mul(gap, z), bound), hn::Ge(z, hn::Set(f64, 0x1p-50)));

  const auto moved = hn::IfThenElse(lower, hn::Sub(input, whole), hn::Add(input, whole));
  const auto kept = hn::Min(hn::Max(moved, hn::Set(f64, -k.bound)), hn::Set(f64, k.bound));
  any = hn::Or(any, hn::Not(certain));
  return hn::IfThenElse(certain, kept, hn::Set(f64, mark));
}

template <class D>
HWY_INLINE void store(D /*f64*/, hn::Vec<D> symbols, std::int32_t* out) {
  const hn::Rebind<std::int32_t, D> i32;
  hn::StoreU(hn::DemoteTo(i32, symbols), i32, out);
}
template <class D>
HWY_INLINE void store(D f64, hn::Vec<D> symbols, std::int64_t* out) {
  const hn::RebindToSigned<D> i64;
  const auto shift = hn::Set(f64, kShift);
  const auto bits = hn::BitCast(i64, hn::Add(symbols, shift));
  hn::StoreU(hn::Sub(bits, hn::BitCast(i64, shift)), i64, out);
}

template <bool kCut, class Integer, class D>
HWY_INLINE std::size_t all_symbols(D f64, const GeometricKernel& k, const float* weights,
                                   const std::uint32_t* words, std::size_t count, Integer* out,
                                   bool& open) {
  const std::size_t lanes = hn::Lanes(f64);
  auto any = hn::FirstN(f64, 0);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store(f64,
          symbols_of<kCut>(f64, k, weights + i, words + i, words + count + i,
                           kGeometricOpen<Integer>, any),
          out + i);
  }
  open = !hn::AllFalse(f64, any);
  return i;
}

/// Treats whole vectors only and returns how many weights those are; `open` tells whether a symbol
/// was left open.
std::size_t geometric_narrow(const GeometricKernel& k, const float* weights,
                             const std::uint32_t* words, std::size_t count, std::int32_t* out,
                             bool& open) {
  const hn::ScalableTag<double> f64;
  return k.cut ? all_symbols<true>(f64, k, weights, words, count, out, open)
               : all_symbols<false>(f64, k, weights, words, count, out, open);
}
std::size_t geometric_wide(const GeometricKernel& k, const float* weights,
                           const std::uint32_t* words, std::size_t count, std::int64_t* out,
                           bool& open) {
  const hn::ScalableTag<double> f64;
  return k.cut ? all_symbols<true>(f64, k, weights, words, count, out, open)
               : all_symbols<false>(f64, k, weights, words, count, out, open);
}

/// The same for one weight.
std::int64_t geometric_one(const GeometricKernel& k, float weight, std::uint32_t high,
                           std::uint32_t low) {
  const hn::CappedTag<double, 1> f64;
  auto any = hn::FirstN(f64, 0);
  const auto symbol =
      k.cut ? symbols_of<true>(f64, k, &weight, &high, &low, kGeometricOpen<std::int64_t>, any)
            : symbols_of<false>(f64, k, &weight, &high, &low, kGeometricOpen<std::int64_t>, any);
  return static_cast<std::int64_t>(hn::GetLane(symbol));
}

/// Whole vectors; the caller pads.
std::size_t exponentials_of(const double* x, std::size_t count, double* out) {
  const hn::ScalableTag<double> f64;
  std::size_t i = 0;
  for (; i + hn::Lanes(f64) <= count; i += hn::Lanes(f64)) {
    hn::StoreU(exponential(f64, hn::LoadU(f64, x + i)), f64, out + i);
  }
  return i;
}
std::size_t logarithms_of(const double* z, std::size_t count, double* out) {
  const hn::ScalableTag<double> f64;
  std::size_t i = 0;
  for (; i + hn::Lanes(f64) <= count; i += hn::Lanes(f64)) {
    hn::StoreU(minus_log(f64, hn::LoadU(f64, z + i)), f64, out + i);
  }
  return i;
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace sotto {
namespace {

GeometricKernel kernel_of(const DecimalGrid& grid, const GeometricDistribution& distribution,
                          const ExactGeometric& exact) {
  constexpr double kRounding = 0x1p-53;
  GeometricKernel kernel{};
  kernel.scale = grid.scale();
  kernel.shift = grid.shift();
  kernel.reach = static_cast<double>(grid.radius());
  kernel.bound = static_cast<double>(distribution.bound);
  kernel.rate = distribution.rate;
  kernel.inverse_rate = 1.0 / distribution.rate;
  kernel.one_plus_q = 1.0 + exact.power(1);
  const double both = 2.0 * kernel.bound + 2.0;
  kernel.both_ends = distribution.cut && distribution.rate * both < 200.0
                         ? exact.power(static_cast<std::uint64_t>(both))
                         : 0.0;
  kernel.fixed = (distribution.cut ? 48.0 : 9.0) * kRounding * kernel.inverse_rate;
  kernel.relative = 6.0 * kRounding;
  kernel.unit = 1.01 * 0x1p-64 * kernel.inverse_rate;
  kernel.cut = distribution.cut;
  return kernel;
}

/// For any number of values: the last ones in a vector of their own.
template <class Whole>
void in_vectors(std::span<const double> in, std::span<double> out, Whole&& whole) {
  const std::size_t done = whole(in.data(), in.size(), out.data());
  std::array<double, 64> padded, results;
  padded.fill(1.0);
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(done), in.end(), padded.begin());
  whole(padded.data(), padded.size(), results.data());
  std::copy_n(results.begin(), in.size() - done, out.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace

void fast_exponentials(std::span<const double> x, std::span<double> out) {
  in_vectors(x, out, SOTTO_SIMD_CALL(exponentials_of));
}
void fast_logarithms(std::span<const double> z, std::span<double> out) {
  in_vectors(z, out, SOTTO_SIMD_CALL(logarithms_of));
}

GeometricChannel::GeometricChannel(const DecimalGrid& grid,
                                   const GeometricDistribution& distribution)
    : grid_(grid),
      distribution_(distribution),
      exact_(distribution),
      kernel_(kernel_of(grid, distribution, exact_)) {}

WorstCase GeometricChannel::worst_case() const {
  WorstCase worst;
  worst.epsilon = exact::multiply_up(distribution_.rate, 2.0 * static_cast<double>(grid_.radius()));
  worst.input = short_number(grid_.value(grid_.radius()));
  worst.other_input = short_number(grid_.value(-grid_.radius()));
  worst.output = worst.input;
  worst.values = {static_cast<float>(grid_.value(grid_.radius()))};
  worst.other_values = {static_cast<float>(grid_.value(-grid_.radius()))};
  return worst;
}

Symbol GeometricChannel::draw_exactly(float weight, Words words, MoreBits& more) const {
  const std::uint64_t first = std::uint64_t{words[0]} << 32 | words[1];
  return exact_.draw(input_of(weight), {first, [&more] { return more.next_u64(); }});
}

std::optional<Symbol> GeometricChannel::draw_fast(float weight, Words words) const {
  const std::int64_t symbol =
      HWY_STATIC_DISPATCH(geometric_one)(kernel_, weight, words[0], words[1]);
  if (symbol == static_cast<std::int64_t>(kGeometricOpen<std::int64_t>)) return {};
  return symbol;
}

Symbol GeometricChannel::draw(float weight, Words words, MoreBits& more) const {
  const auto symbol = draw_fast(weight, words);
  return symbol ? *symbol : draw_exactly(weight, words, more);
}

template <class Integer>
void GeometricChannel::draw_all(const BlockDraw& block, Integer* out) const {
  const std::size_t count = block.weights.size();
  std::size_t done = 0;
  bool open = false;
  if (simd_level() != SimdLevel::kScalar) {
    if constexpr (sizeof(Integer) == 4) {
      done = SOTTO_SIMD_CALL(geometric_narrow)(kernel_, block.weights.data(), block.words, count,
                                               out, open);
    } else {
      done = SOTTO_SIMD_CALL(geometric_wide)(kernel_, block.weights.data(), block.words, count, out,
                                             open);
    }
  }
  for (std::size_t i = 0; open && i < done; ++i) {
    if (out[i] != static_cast<Integer>(kGeometricOpen<Integer>)) continue;
    MoreBits more = block.more(i);
    out[i] = static_cast<Integer>(draw_exactly(block.weights[i], block.words_of(i), more));
  }
  for (std::size_t i = done; i < count; ++i) {
    MoreBits more = block.more(i);
    out[i] = static_cast<Integer>(draw(block.weights[i], block.words_of(i), more));
  }
}

void GeometricChannel::draw_block(const BlockDraw& block, std::int32_t* out) const {
  draw_all(block, out);
}
void GeometricChannel::draw_block_wide(const BlockDraw& block, std::int64_t* out) const {
  draw_all(block, out);
}

}  // namespace sotto
#endif
