// Box-Muller in vectors: see normal.h for what it computes and how well.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/vector/normal.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_NORMAL_SHARED
#define SOTTO_NORMAL_SHARED
#include <cmath>

#include "mechanism/vector/normal.h"
#include "mechanism/vector/normal_constants.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The sum of coefficient(kFrom + n) z^n for n < kTerms, by Horner's rule, innermost first.
template <Expansion kSeries, int kFrom, int kTerms, class D, class V>
HWY_INLINE V series(D d, V z) {
  constexpr auto kFirst = coefficient<hn::TFromD<D>>(kSeries, kFrom);
  if constexpr (kTerms == 1) {
    return hn::Set(d, kFirst);
  } else {
    return hn::Add(hn::Mul(series<kSeries, kFrom + 1, kTerms - 1>(d, z), z), hn::Set(d, kFirst));
  }
}

/// sqrt(-2 ln U), U = (word / 2 + 1/2) in units of kRadiusUnit.
template <class D, class VU>
HWY_INLINE hn::Vec<D> radius(D d, VU word) {
  using T = hn::TFromD<D>;
  using Traits = NormalTraits<T>;
  using Bits = typename Traits::Bits;
  const hn::Rebind<Bits, D> bits;
  const hn::Rebind<typename Traits::Signed, D> whole;
  constexpr int kMantissa = Traits::kMantissa;
  // U = m 2^(e - 64) with m in [sqrt(1/2), sqrt 2); e stays positive and so does its shift.
  constexpr Bits kBias = Bits{64} << kMantissa;
  const auto u = hn::Mul(
      hn::Add(hn::ConvertTo(d, hn::BitCast(whole, hn::ShiftRight<1>(word))), hn::Set(d, T(0.5))),
      hn::Set(d, Traits::kRadiusUnit));
  const auto raw = hn::BitCast(bits, u);
  const auto exponent = hn::ShiftRight<kMantissa>(
      hn::Sub(hn::Add(raw, hn::Set(bits, kBias)), hn::Set(bits, Traits::kRootHalf)));
  const auto m = hn::BitCast(
      d, hn::Sub(hn::Add(raw, hn::Set(bits, kBias)), hn::ShiftLeft<kMantissa>(exponent)));
  const auto power = hn::Sub(hn::BitCast(d, hn::Or(exponent, hn::Set(bits, Traits::kInteger))),
                             hn::Set(d, Traits::kTwoToMantissa + T(64)));

  const auto f = hn::Sub(m, hn::Set(d, T(1)));
  const auto s = hn::Div(f, hn::Add(f, hn::Set(d, T(2))));
  const auto z = hn::Mul(s, s);
  const auto twice = hn::Add(s, s);
  const auto tail =
      hn::Mul(hn::Mul(twice, z), (series<Expansion::kAtanh, 1, Traits::kLogTerms>(d, z)));
  const auto low = hn::Add(hn::Mul(power, hn::Set(d, Traits::kLn2Low)), tail);
  const auto ln = hn::Add(hn::Mul(power, hn::Set(d, Traits::kLn2High)), hn::Add(twice, low));
  return hn::Sqrt(hn::Max(hn::Mul(ln, hn::Set(d, T(-2))), hn::Zero(d)));
}

/// A pair of deviates; returns their radius.
template <class D, class VU>
HWY_INLINE hn::Vec<D> pair(D d, VU radius_word, VU angle_word, hn::Vec<D>& first,
                           hn::Vec<D>& second) {
  using T = hn::TFromD<D>;
  using Traits = NormalTraits<T>;
  using Bits = typename Traits::Bits;
  const hn::Rebind<Bits, D> bits;
  const hn::Rebind<typename Traits::Signed, D> whole;
  constexpr Bits kTop = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto r = radius(d, radius_word);
  const auto rest = hn::And(angle_word, hn::Set(bits, (kTop >> 2) - 1));
  const auto a =
      hn::Mul(hn::ConvertTo(d, hn::BitCast(whole, rest)), hn::Set(d, Traits::kAngleUnit));
  const auto z = hn::Mul(a, a);
  // a + a z (-1/6 + ...) and 1 + z (-1/2 + ...): the small part is added last.
  const auto sine = hn::Add(
      a, hn::Mul(hn::Mul(a, z), (series<Expansion::kSine, 1, Traits::kSineTerms - 1>(d, z))));
  const auto cosine =
      hn::Add(hn::Set(d, T(1)),
              hn::Mul(z, (series<Expansion::kCosine, 1, Traits::kCosineTerms - 1>(d, z))));
  const auto swap = hn::RebindMask(d, hn::TestBit(angle_word, hn::Set(bits, kTop >> 2)));
  const auto x = hn::Mul(r, hn::IfThenElse(swap, sine, cosine));
  const auto y = hn::Mul(r, hn::IfThenElse(swap, cosine, sine));
  const auto top = hn::Set(bits, kTop);
  first = hn::BitCast(d, hn::Xor(hn::BitCast(bits, x), hn::And(angle_word, top)));
  second =
      hn::BitCast(d, hn::Xor(hn::BitCast(bits, y), hn::And(hn::ShiftLeft<1>(angle_word), top)));
  return r;
}

template <class D>
HWY_INLINE RadiusRange fill_doubles(D d, const std::uint64_t* words, std::size_t pairs,
                                    double* out) {
  const hn::Rebind<std::uint64_t, D> bits;
  auto least = hn::Set(d, 16.0), most = hn::Zero(d);  // no radius of 63 bits is above 9.42
  for (std::size_t i = 0; i < pairs; i += hn::Lanes(d)) {
    hn::Vec<D> first, second;
    const auto r =
        pair(d, hn::LoadU(bits, words + i), hn::LoadU(bits, words + pairs + i), first, second);
    least = hn::Min(least, r);
    most = hn::Max(most, r);
    hn::StoreU(first, d, out + i);
    hn::StoreU(second, d, out + pairs + i);
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most))};
}

/// To the nearest integer, ties to even, by a sum that leaves the integer in the low bits: below
/// 2^22 in magnitude, odd in its argument.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, D>> nearest(D d, hn::Vec<D> value) {
  const hn::Rebind<std::int32_t, D> whole;
  const auto shift = hn::Set(d, 0x1.8p23F);
  return hn::Sub(hn::BitCast(whole, hn::Add(value, shift)), hn::BitCast(whole, shift));
}

template <class D>
HWY_INLINE void fill_lattice(D d, const std::uint32_t* words, std::size_t pairs,
                             std::int16_t* out) {
  const hn::Rebind<std::uint32_t, D> bits;
  const hn::Rebind<std::int16_t, D> narrow;
  const auto scale = hn::Set(d, static_cast<float>(kNormalScale));
  for (std::size_t i = 0; i < pairs; i += hn::Lanes(d)) {
    hn::Vec<D> first, second;
    pair(d, hn::LoadU(bits, words + i), hn::LoadU(bits, words + pairs + i), first, second);
    hn::StoreU(hn::DemoteTo(narrow, nearest(d, hn::Mul(first, scale))), narrow, out + i);
    hn::StoreU(hn::DemoteTo(narrow, nearest(d, hn::Mul(second, scale))), narrow, out + pairs + i);
  }
}

RadiusRange doubles(const std::uint64_t* words, std::size_t pairs, double* out) {
  return fill_doubles(hn::CappedTag<double, kPairGroup>(), words, pairs, out);
}
RadiusRange doubles_one(const std::uint64_t* words, std::size_t pairs, double* out) {
  return fill_doubles(hn::CappedTag<double, 1>(), words, pairs, out);
}
void lattice(const std::uint32_t* words, std::size_t pairs, std::int16_t* out) {
  fill_lattice(hn::CappedTag<float, kPairGroup>(), words, pairs, out);
}
void lattice_one(const std::uint32_t* words, std::size_t pairs, std::int16_t* out) {
  fill_lattice(hn::CappedTag<float, 1>(), words, pairs, out);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {

RadiusRange normals(const std::uint64_t* words, std::size_t pairs, double* out) {
  return SOTTO_SIMD_OR_ONE(doubles)(words, pairs, out);
}

double lattice_coupling(double per_deviation, double dimension, double norm) {
  return 2.0 * (per_deviation + 0.4) *
         (0x1p-48 * dimension + 0x1p-51 * norm * std::sqrt(dimension));
}

void lattice_normals(const std::uint32_t* words, std::size_t pairs, std::int16_t* out) {
  if (simd_level() == SimdLevel::kScalar) {
    return HWY_STATIC_DISPATCH(lattice_one)(words, pairs, out);
  }
  SOTTO_SIMD_CALL(lattice)(words, pairs, out);
}

}  // namespace sotto
#endif
