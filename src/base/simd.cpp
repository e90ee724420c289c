#include "base/simd.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

namespace sotto {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"scalar", "baseline", "avx2", "avx512"};

std::vector<SimdLevel> detect() {
  std::vector<SimdLevel> levels = {SimdLevel::kScalar, SimdLevel::kBaseline};
#if defined(__x86_64__)
  // What Highway's AVX2 and AVX3 targets use.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
    levels.push_back(SimdLevel::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd")) {
      levels.push_back(SimdLevel::kAvx512);
    }
  }
#endif
  return levels;
}

SimdLevel initial_level() {
  const char* const wanted = std::getenv("SOTTO_SIMD");
  if (wanted != nullptr) {
    for (const SimdLevel level : simd_levels()) {
      if (name_of(level) == wanted) return level;
    }
  }
  return simd_levels().back();
}

std::atomic<SimdLevel>& current() {
  static std::atomic<SimdLevel> level{initial_level()};
  return level;
}

}  // namespace

std::string_view name_of(SimdLevel level) { return kNames[static_cast<std::size_t>(level)]; }

std::span<const SimdLevel> simd_levels() {
  static const std::vector<SimdLevel> levels = detect();
  return levels;
}

SimdLevel simd_level() { return current().load(std::memory_order_relaxed); }

void set_simd_level(SimdLevel level) { current().store(level, std::memory_order_relaxed); }

}  // namespace sotto
