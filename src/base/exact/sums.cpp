// Sums in vectors: see sums.h. The scalar path is the same template with one lane.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/exact/sums.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_SUMS_SHARED
#define SOTTO_SUMS_SHARED
#include <array>

#include "base/exact/sums.h"

namespace sotto {
/// The lanes of a sum and what their last additions lost.
struct LaneSums {
  double sum[kSumLanes];
  double lost[kSumLanes];
};
}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const double* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const std::int16_t* from) {
  const hn::Rebind<std::int32_t, D> whole;
  return hn::PromoteTo(d, hn::PromoteTo(whole, hn::LoadU(hn::Rebind<std::int16_t, D>(), from)));
}

template <class D, class A, class B>
HWY_INLINE void sum_products(D d, const A* a, const B* b, std::size_t count, LaneSums& out) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  constexpr std::size_t kVectors = kSumLanes / kLanes;
  hn::Vec<D> sum[kVectors];
  hn::Vec<D> lost[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) sum[v] = lost[v] = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += kSumLanes) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = i + v * kLanes;
      const auto term = hn::Sub(hn::Mul(load_double(d, a + at), load_double(d, b + at)), lost[v]);
      const auto next = hn::Add(sum[v], term);
      lost[v] = hn::Sub(hn::Sub(next, sum[v]), term);
      sum[v] = next;
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    hn::StoreU(sum[v], d, out.sum + v * kLanes);
    hn::StoreU(lost[v], d, out.lost + v * kLanes);
  }
}

template <class D, class A, class B>
HWY_INLINE void sum_quickly(D d, const A* a, const B* b, std::size_t count, LaneSums& out) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  constexpr std::size_t kVectors = kSumLanes / kLanes;
  hn::Vec<D> sum[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += kSumLanes) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = i + v * kLanes;
      sum[v] = hn::Add(sum[v], hn::Mul(load_double(d, a + at), load_double(d, b + at)));
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out.sum + v * kLanes);
}

std::int64_t sum_integers_one(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::int64_t{a[i]} * b[i];
  return sum;
}
#if HWY_TARGET == HWY_SCALAR
std::int64_t sum_integers(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  return sum_integers_one(a, b, count);
}
#else
/// Two products together stay below 2^31, so pairs are added in 32 bits and the pairs in 64.
std::int64_t sum_integers(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  const hn::CappedTag<std::int16_t, kSumLanes> narrow;
  const hn::RepartitionToWide<decltype(narrow)> middle;
  const hn::RepartitionToWide<decltype(middle)> wide;
  auto sum = hn::Zero(wide);
  const auto add = [&](auto pairs) HWY_ATTR {
    sum = hn::Add(sum, hn::PromoteTo(wide, hn::LowerHalf(pairs)));
    sum = hn::Add(sum, hn::PromoteTo(wide, hn::UpperHalf(hn::Half<decltype(middle)>(), pairs)));
  };
  for (std::size_t i = 0; i < count; i += hn::Lanes(narrow)) {
    auto second = hn::Zero(middle);
    const auto first = hn::ReorderWidenMulAccumulate(
        middle, hn::LoadU(narrow, a + i), hn::LoadU(narrow, b + i), hn::Zero(middle), second);
    add(first);
    add(second);
  }
  return hn::GetLane(hn::SumOfLanes(wide, sum));
}
#endif

using Wide = hn::CappedTag<double, 8>;
using One = hn::CappedTag<double, 1>;

#define SOTTO_SUM(name, A, B)                                                 \
  void name(const A* a, const B* b, std::size_t count, LaneSums& out) {       \
    sum_products(Wide(), a, b, count, out);                                   \
  }                                                                           \
  void name##_one(const A* a, const B* b, std::size_t count, LaneSums& out) { \
    sum_products(One(), a, b, count, out);                                    \
  }
SOTTO_SUM(sum_ff, float, float)
SOTTO_SUM(sum_dd, double, double)
SOTTO_SUM(sum_df, double, float)
SOTTO_SUM(sum_sf, std::int16_t, float)
#undef SOTTO_SUM
#define SOTTO_QUICK(name, A, B)                                               \
  void name(const A* a, const B* b, std::size_t count, LaneSums& out) {       \
    sum_quickly(Wide(), a, b, count, out);                                    \
  }                                                                           \
  void name##_one(const A* a, const B* b, std::size_t count, LaneSums& out) { \
    sum_quickly(One(), a, b, count, out);                                     \
  }
SOTTO_QUICK(quick_ff, float, float)
SOTTO_QUICK(quick_sf, std::int16_t, float)
#undef SOTTO_QUICK

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {
namespace {

/// By halves: one chain of 64 sums would take longer than a whole block.
WideSum added(const LaneSums& lanes) {
  std::array<WideSum, kSumLanes> sums;
  for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
    sums[lane] = {lanes.sum[lane], 0.0};
    sums[lane].add(-lanes.lost[lane]);
  }
  for (std::size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane].add(sums[lane + half]);
  }
  return sums[0];
}

WideSum halved(LaneSums& lanes) {
  for (std::size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes.sum[lane] += lanes.sum[lane + half];
  }
  return {lanes.sum[0], 0.0};
}

}  // namespace

WideSum dot(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  const std::int64_t sum = SOTTO_SIMD_OR_ONE(sum_integers)(a, b, count);
  const auto high = static_cast<double>(sum);
  return {high, static_cast<double>(sum - static_cast<std::int64_t>(high))};
}

#define SOTTO_DOT(function, name, together, A, B)               \
  WideSum function(const A* a, const B* b, std::size_t count) { \
    LaneSums lanes;                                             \
    SOTTO_SIMD_OR_ONE(name)(a, b, count, lanes);                \
    return together(lanes);                                     \
  }
SOTTO_DOT(dot, sum_ff, added, float, float)
SOTTO_DOT(dot, sum_dd, added, double, double)
SOTTO_DOT(dot, sum_df, added, double, float)
SOTTO_DOT(dot, sum_sf, added, std::int16_t, float)
SOTTO_DOT(quick_dot, quick_ff, halved, float, float)
SOTTO_DOT(quick_dot, quick_sf, halved, std::int16_t, float)
#undef SOTTO_DOT

}  // namespace sotto
#endif
