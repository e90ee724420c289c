// A linear layer's loops in vectors: see linear_kernels.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/native/linear_kernels.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_LINEAR_KERNELS_SHARED
#define SOTTO_LINEAR_KERNELS_SHARED
#include <algorithm>
#include <array>

#include "train/native/linear_kernels.h"
#include "train/native/simd_choice.h"

namespace sotto::native {
inline constexpr std::size_t kScoreLanes = 16;
/// Classes that are summed side by side: one sum alone would wait for its own last addition.
inline constexpr std::size_t kSideBySide = 4;
}  // namespace sotto::native
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using native::kScoreLanes;
using native::kSideBySide;
using native::LinearShape;

using LinearTag = hn::CappedTag<float, kScoreLanes>;
constexpr std::size_t kLinearLanes = hn::MaxLanes(LinearTag());
constexpr std::size_t kRegisters = kScoreLanes / kLinearLanes;

/// The scores of kCount classes from `first` on.
template <std::size_t kCount>
HWY_INLINE void score_some(LinearShape shape, std::size_t first, const float* weights,
                           const float* biases, const float* x, float* scores) {
  const LinearTag d;
  hn::Vec<LinearTag> sums[kCount][kRegisters];
  for (auto& of_class : sums) {
    for (auto& sum : of_class) sum = hn::Zero(d);
  }
  const float* const rows = weights + first * shape.inputs;
  std::size_t i = 0;
  for (; i + kScoreLanes <= shape.inputs; i += kScoreLanes) {
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const auto value = hn::LoadU(d, x + i + r * kLinearLanes);
      for (std::size_t c = 0; c < kCount; ++c) {
        const auto weight = hn::LoadU(d, rows + c * shape.inputs + i + r * kLinearLanes);
        sums[c][r] = hn::Add(sums[c][r], hn::Mul(weight, value));
      }
    }
  }
  for (std::size_t c = 0; c < kCount; ++c) {
    std::array<float, kScoreLanes> lanes;
    for (std::size_t r = 0; r < kRegisters; ++r) {
      hn::StoreU(sums[c][r], d, lanes.data() + r * kLinearLanes);
    }
    const float* const row = rows + c * shape.inputs;
    for (std::size_t j = i; j < shape.inputs; ++j) lanes[j - i] += row[j] * x[j];
    for (std::size_t half = kScoreLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    scores[first + c] = lanes[0] + biases[first + c];
  }
}

void linear_scores_all(LinearShape shape, const float* weights, const float* biases, const float* x,
                       float* scores) {
  std::size_t c = 0;
  for (; c + kSideBySide <= shape.classes; c += kSideBySide) {
    score_some<kSideBySide>(shape, c, weights, biases, x, scores);
  }
  for (; c < shape.classes; ++c) score_some<1>(shape, c, weights, biases, x, scores);
}

/// Rows `first` to first + kCount of `out`.
template <std::size_t kCount>
HWY_INLINE void add_some(LinearShape shape, std::size_t first, std::size_t samples,
                         const float* factors, const float* x, float* out) {
  const LinearTag d;
  float* const rows = out + first * shape.inputs;
  std::size_t i = 0;
  for (; i + kLinearLanes <= shape.inputs; i += kLinearLanes) {
    hn::Vec<LinearTag> sums[kCount];
    for (std::size_t c = 0; c < kCount; ++c) sums[c] = hn::LoadU(d, rows + c * shape.inputs + i);
    for (std::size_t r = 0; r < samples; ++r) {
      const auto value = hn::LoadU(d, x + r * shape.inputs + i);
      for (std::size_t c = 0; c < kCount; ++c) {
        const auto factor = hn::Set(d, factors[r * shape.classes + first + c]);
        sums[c] = hn::Add(sums[c], hn::Mul(factor, value));
      }
    }
    for (std::size_t c = 0; c < kCount; ++c) hn::StoreU(sums[c], d, rows + c * shape.inputs + i);
  }
  for (; i < shape.inputs; ++i) {
    for (std::size_t r = 0; r < samples; ++r) {
      for (std::size_t c = 0; c < kCount; ++c) {
        rows[c * shape.inputs + i] +=
            factors[r * shape.classes + first + c] * x[r * shape.inputs + i];
      }
    }
  }
}

void add_weighted_samples_all(LinearShape shape, std::size_t samples, const float* factors,
                              const float* x, float* out) {
  std::size_t c = 0;
  for (; c + kSideBySide <= shape.classes; c += kSideBySide) {
    add_some<kSideBySide>(shape, c, samples, factors, x, out);
  }
  for (; c < shape.classes; ++c) add_some<1>(shape, c, samples, factors, x, out);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto::native {

void linear_scores(LinearShape shape, const float* weights, const float* biases, const float* x,
                   float* scores) {
  SOTTO_NATIVE_CALL(linear_scores_all)(shape, weights, biases, x, scores);
}

void add_weighted_samples(LinearShape shape, std::size_t samples, const float* factors,
                          const float* x, float* out) {
  SOTTO_NATIVE_CALL(add_weighted_samples_all)(shape, samples, factors, x, out);
}

}  // namespace sotto::native
#endif
