// Which compiled version of a kernel runs. The engine has no path with one lane of its own: where
// that is asked for, the baseline's is taken.
#pragma once

#include "base/simd.h"

#define SOTTO_NATIVE_CALL(function)                                                     \
  (::sotto::simd_level() == ::sotto::SimdLevel::kScalar ? HWY_STATIC_DISPATCH(function) \
                                                        : SOTTO_SIMD_CALL(function))
