// The instruction sets that kernels are compiled for. No include guard: see base/simd.h for its
// use.
#include "base/simd.h"

// Baseline, AVX2 and AVX-512: more would cost build time and give nothing.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#include <hwy/foreach_target.h>

#ifndef SOTTO_SIMD_CALL
/// The same for a function f whose twin f_one has one lane: that one at SimdLevel::kScalar.
#define SOTTO_SIMD_OR_ONE(function)                                                           \
  (::sotto::simd_level() == ::sotto::SimdLevel::kScalar ? HWY_STATIC_DISPATCH(function##_one) \
                                                        : SOTTO_SIMD_CALL(function))
#if HWY_ARCH_X86
/// The function compiled for the current level; never call it at SimdLevel::kScalar.
#define SOTTO_SIMD_CALL(function)                                          \
  (::sotto::simd_level() == ::sotto::SimdLevel::kAvx512 ? N_AVX3::function \
   : ::sotto::simd_level() == ::sotto::SimdLevel::kAvx2 ? N_AVX2::function \
                                                        : HWY_STATIC_DISPATCH(function))
#else
#define SOTTO_SIMD_CALL(function) HWY_STATIC_DISPATCH(function)
#endif
#endif
