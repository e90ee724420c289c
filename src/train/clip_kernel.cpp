// See clip_kernel.h. A product of doubles is rounded once and then cut, so every level gives the
// same integers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/clip_kernel.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_CLIP_SHARED
#define SOTTO_CLIP_SHARED
#include "train/clip_kernel.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void add_cut_one(const float* gradient, double scale, std::size_t count, std::int64_t* sums) {
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] += static_cast<std::int64_t>(static_cast<double>(gradient[i]) * scale);
  }
}

void add_cut_all(const float* gradient, double scale, std::size_t count, std::int64_t* sums) {
#if HWY_TARGET == HWY_AVX3
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const hn::Rebind<std::int64_t, decltype(d)> whole;
  const auto factor = hn::Set(d, scale);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto product = hn::Mul(hn::PromoteTo(d, hn::LoadU(narrow, gradient + i)), factor);
    hn::StoreU(hn::Add(hn::LoadU(whole, sums + i), hn::ConvertTo(whole, product)), whole, sums + i);
  }
#else
  // Below AVX-512 there is no instruction for it.
  add_cut_one(gradient, scale, count, sums);
#endif
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {

void add_cut(const float* gradient, double scale, std::size_t count, std::int64_t* sums) {
  if (simd_level() == SimdLevel::kScalar) {
    HWY_STATIC_DISPATCH(add_cut_one)(gradient, scale, count, sums);
  } else {
    SOTTO_SIMD_CALL(add_cut_all)(gradient, scale, count, sums);
  }
}

}  // namespace sotto
#endif
