// Rounding in vectors: see vector_kernels.h. The scalar path is the same template with one lane.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/vector/vector_kernels.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_VECTOR_KERNELS_SHARED
#define SOTTO_VECTOR_KERNELS_SHARED
#include <cmath>

#include "mechanism/vector/vector_kernels.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void rescale_block(D d, std::int16_t* values, std::size_t count, float factor) {
  const hn::Rebind<std::int32_t, D> whole;
  const hn::Rebind<std::int16_t, D> narrow;
  const auto by = hn::Set(d, factor);
  const auto most = hn::Set(d, 32767.0F);
  const auto least = hn::Set(d, -32767.0F);
  const auto shift = hn::Set(d, 0x1.8p23F);  // leaves the nearest integer in the low bits
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto value = hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(narrow, values + i)));
    const auto scaled = hn::Min(hn::Max(hn::Mul(value, by), least), most);
    const auto integer =
        hn::Sub(hn::BitCast(whole, hn::Add(scaled, shift)), hn::BitCast(whole, shift));
    hn::StoreU(hn::DemoteTo(narrow, integer), narrow, values + i);
  }
}

/// With kChecked: the largest distance from a symbol, error included, below 1/2 if all are sure.
template <bool kChecked, class D>
HWY_INLINE double combine_block(D d, const Combination& how, const Uncertainty& off,
                                const double* noise, const float* input, std::size_t count,
                                std::int32_t* out) {
  const hn::Rebind<std::int32_t, D> whole;
  const auto a = hn::Set(d, how.a);
  const auto b = hn::Set(d, how.b);
  const auto most = hn::Set(d, how.most);
  const auto least = hn::Set(d, -how.most);
  const auto shift = hn::Set(d, 0x1.8p52);  // adding it rounds to an integer
  const auto flat = hn::Set(d, off.flat);
  const auto of_value = hn::Set(d, off.of_value);
  const auto of_input = hn::Set(d, off.of_input);
  auto furthest = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), input + i));
    const auto value = hn::Add(hn::Mul(hn::LoadU(d, noise + i), a), hn::Mul(x, b));
    const auto inside = hn::Min(hn::Max(value, least), most);
    const auto integer = hn::Sub(hn::Add(inside, shift), shift);
    hn::StoreU(hn::DemoteTo(whole, integer), whole, out + i);
    if constexpr (kChecked) {
      // The distance is exact. Beyond `most` there is no boundary, and being there is as sure as
      // being at `most` itself: the error grows more slowly than the distance.
      const auto error =
          hn::Add(hn::Add(flat, hn::Mul(hn::Abs(inside), of_value)), hn::Mul(hn::Abs(x), of_input));
      furthest = hn::Max(furthest, hn::Add(hn::Abs(hn::Sub(inside, integer)), error));
    }
  }
  return kChecked ? hn::GetLane(hn::MaxOfLanes(d, furthest)) : 0.0;
}

void rescale_wide(std::int16_t* values, std::size_t count, float factor) {
  rescale_block(hn::CappedTag<float, 16>(), values, count, factor);
}
void rescale_wide_one(std::int16_t* values, std::size_t count, float factor) {
  rescale_block(hn::CappedTag<float, 1>(), values, count, factor);
}
void combine_wide(const Combination& how, const double* noise, const float* input,
                  std::size_t count, std::int32_t* out) {
  combine_block<false>(hn::CappedTag<double, 8>(), how, {}, noise, input, count, out);
}
void combine_wide_one(const Combination& how, const double* noise, const float* input,
                      std::size_t count, std::int32_t* out) {
  combine_block<false>(hn::CappedTag<double, 1>(), how, {}, noise, input, count, out);
}
double checked_wide(const Combination& how, const Uncertainty& off, const double* noise,
                    const float* input, std::size_t count, std::int32_t* out) {
  return combine_block<true>(hn::CappedTag<double, 8>(), how, off, noise, input, count, out);
}
double checked_wide_one(const Combination& how, const Uncertainty& off, const double* noise,
                        const float* input, std::size_t count, std::int32_t* out) {
  return combine_block<true>(hn::CappedTag<double, 1>(), how, off, noise, input, count, out);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {
void rescale(std::int16_t* values, std::size_t count, float factor) {
  SOTTO_SIMD_OR_ONE(rescale_wide)(values, count, factor);
}

void combine(const Combination& how, const double* noise, const float* input, std::size_t count,
             std::int32_t* out) {
  SOTTO_SIMD_OR_ONE(combine_wide)(how, noise, input, count, out);
}

bool combine_surely(const Combination& how, const Uncertainty& off, const double* noise,
                    const float* input, std::size_t count, std::int32_t* out) {
  if (!std::isfinite(off.flat + off.of_value + off.of_input)) {
    combine(how, noise, input, count, out);
    return false;
  }
  const double furthest = SOTTO_SIMD_OR_ONE(checked_wide)(how, off, noise, input, count, out);
  return furthest < 0.5 - 0x1p-50;  // with room for the rounding of that sum
}

}  // namespace sotto
#endif
