// Rounding in vectors: see vector_kernels.h. The scalar path is the same template with one lane.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/vector_kernels.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_VECTOR_KERNELS_SHARED
#define SOTTO_VECTOR_KERNELS_SHARED
#include "mechanism/vector_kernels.h"
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

template <class D>
HWY_INLINE void combine_block(D d, const Combination& how, const double* noise, const float* input,
                              std::size_t count, std::int32_t* out) {
  const hn::Rebind<std::int32_t, D> whole;
  const auto a = hn::Set(d, how.a);
  const auto b = hn::Set(d, how.b);
  const auto most = hn::Set(d, how.most);
  const auto least = hn::Set(d, -how.most);
  const auto shift = hn::Set(d, 0x1.8p52);  // adding it rounds to an integer
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto value =
        hn::Add(hn::Mul(hn::LoadU(d, noise + i), a),
                hn::Mul(hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), input + i)), b));
    const auto inside = hn::Min(hn::Max(value, least), most);
    const auto integer = hn::Sub(hn::Add(inside, shift), shift);
    hn::StoreU(hn::DemoteTo(whole, integer), whole, out + i);
  }
}

void rescale_wide(std::int16_t* values, std::size_t count, float factor) {
  rescale_block(hn::CappedTag<float, 16>(), values, count, factor);
}
void rescale_wide_one(std::int16_t* values, std::size_t count, float factor) {
  rescale_block(hn::CappedTag<float, 1>(), values, count, factor);
}
void combine_wide(const Combination& how, const double* noise, const float* input,
                  std::size_t count, std::int32_t* out) {
  combine_block(hn::CappedTag<double, 8>(), how, noise, input, count, out);
}
void combine_wide_one(const Combination& how, const double* noise, const float* input,
                      std::size_t count, std::int32_t* out) {
  combine_block(hn::CappedTag<double, 1>(), how, noise, input, count, out);
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

}  // namespace sotto
#endif
