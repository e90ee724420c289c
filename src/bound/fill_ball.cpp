// Two passes in vectors: see fill_ball.h. Squares are summed in 16 lanes on every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bound/fill_ball.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_FILL_BALL_SHARED
#define SOTTO_FILL_BALL_SHARED
#include <array>
#include <cmath>
#include <numeric>

#include "bound/fill_ball.h"

namespace sotto {
/// Plain doubles do: the sum of n squares is off by less than n 2^-53 of itself.
inline constexpr std::size_t kSquareLanes = 16;
using SquareLanes = std::array<double, kSquareLanes>;
}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What is no finite number becomes 0; `sums` are of the squares of groups of kSquareLanes values.
template <class D>
HWY_INLINE void clean_groups(D d, float* values, std::size_t groups, SquareLanes& out) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  constexpr std::size_t kVectors = kSquareLanes / kLanes;
  const hn::Rebind<float, D> narrow;
  hn::Vec<D> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t i = 0; i < groups * kSquareLanes; i += kSquareLanes) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const at = values + i + v * kLanes;
      const auto value = hn::LoadU(narrow, at);
      const auto finite = hn::Eq(hn::Sub(value, value), hn::Zero(narrow));
      const auto clean = hn::IfThenElseZero(finite, value);
      hn::StoreU(clean, narrow, at);
      const auto wide = hn::PromoteTo(d, clean);
      sums[v] = hn::Add(sums[v], hn::Mul(wide, wide));
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, out.data() + v * kLanes);
}

template <class D>
HWY_INLINE void scale_groups(D d, float* values, std::size_t groups, float factor) {
  const auto by = hn::Set(d, factor);
  for (std::size_t i = 0; i < groups * kSquareLanes; i += hn::Lanes(d)) {
    hn::StoreU(hn::Mul(hn::LoadU(d, values + i), by), d, values + i);
  }
}

void clean(float* values, std::size_t groups, SquareLanes& sums) {
  clean_groups(hn::CappedTag<double, 8>(), values, groups, sums);
}
void clean_one(float* values, std::size_t groups, SquareLanes& sums) {
  clean_groups(hn::CappedTag<double, 1>(), values, groups, sums);
}
void scale(float* values, std::size_t groups, float factor) {
  scale_groups(hn::CappedTag<float, 16>(), values, groups, factor);
}
void scale_one(float* values, std::size_t groups, float factor) {
  scale_groups(hn::CappedTag<float, 1>(), values, groups, factor);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {

void fill_ball(std::span<float> values, double norm, double floor) {
  SquareLanes sums{};
  const std::size_t groups = values.size() / kSquareLanes;
  const std::span<float> rest = values.subspan(groups * kSquareLanes);
  SOTTO_SIMD_OR_ONE(clean)(values.data(), groups, sums);
  for (std::size_t lane = 0; lane < rest.size(); ++lane) {
    rest[lane] = std::isfinite(rest[lane]) ? rest[lane] : 0.0F;
    sums[lane] += static_cast<double>(rest[lane]) * static_cast<double>(rest[lane]);
  }
  const double square = std::accumulate(sums.begin(), sums.end(), 0.0);
  if (square < floor * floor) return;
  if (square == 0.0) {
    if (!values.empty()) values[0] = static_cast<float>(norm * (1.0 - 0x1p-20));
    return;
  }
  // Rounding to float, of the factor and of the products, is 2^-23 together.
  const double factor = norm / std::sqrt(square) * (1.0 - 0x1p-20);
  if (factor >= 0x1p-100 && factor <= 0x1p100) {
    const auto narrow = static_cast<float>(factor);
    SOTTO_SIMD_OR_ONE(scale)(values.data(), groups, narrow);
    for (float& value : rest) value *= narrow;
  } else {
    for (float& value : values) value = static_cast<float>(value * factor);
  }
}

}  // namespace sotto
#endif
