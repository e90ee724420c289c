// Which vector instructions a kernel may use on this machine.
//
// Kernels are written once with Highway and compiled for several instruction sets; we choose
// between them ourselves, so that Highway is used by its headers alone. Every kernel has a scalar
// twin, the definition of what it computes, and all levels give the same bits (tests/mechanism
// compares them).
//
// A file with a kernel opens like this:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "mechanism/two_point.cpp"   // this file
//   #include "base/simd_targets.h"                          // which sets, then foreach_target
//   #include <hwy/highway.h>
//   HWY_BEFORE_NAMESPACE();
//   namespace sotto::HWY_NAMESPACE { ... void kernel(...) ... }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace sotto { ... SOTTO_SIMD_CALL(kernel)(arguments) ... }
//   #endif
#pragma once

#include <span>
#include <string_view>

namespace sotto {

enum class SimdLevel { kScalar, kBaseline, kAvx2, kAvx512 };

std::string_view name_of(SimdLevel level);

/// The levels that this machine can run, lowest first.
std::span<const SimdLevel> simd_levels();

/// The level that kernels use: the highest, or SOTTO_SIMD=scalar|baseline|avx2|avx512 if it is set.
SimdLevel simd_level();

/// For tests and benchmarks. Not to be called while kernels run.
void set_simd_level(SimdLevel level);

}  // namespace sotto
