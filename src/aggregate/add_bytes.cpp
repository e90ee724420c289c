// Bytes to 32-bit sums: see add_bytes.h. All symbols are looked at before the first is added.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aggregate/add_bytes.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_ADD_BYTES_SHARED
#define SOTTO_ADD_BYTES_SHARED
#include <algorithm>

#include "aggregate/add_bytes.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The definition.
bool add_bytes_one(const std::int8_t* symbols, std::size_t count, std::int8_t smallest,
                   std::int8_t largest, std::int32_t* sums) {
  bool within = true;
  for (std::size_t i = 0; i < count; ++i) {
    within = within && symbols[i] >= smallest && symbols[i] <= largest;
  }
  for (std::size_t i = 0; within && i < count; ++i) sums[i] += symbols[i];
  return within;
}

bool add_bytes(const std::int8_t* symbols, std::size_t count, std::int8_t smallest,
               std::int8_t largest, std::int32_t* sums) {
#if HWY_TARGET == HWY_SCALAR
  return add_bytes_one(symbols, count, smallest, largest, sums);
#else
  const hn::ScalableTag<std::int8_t> d8;
  const hn::ScalableTag<std::int32_t> d32;
  const hn::Rebind<std::int8_t, decltype(d32)> quarter;
  auto least = hn::Set(d8, largest), most = hn::Set(d8, smallest);
  std::size_t i = 0;
  for (; i + hn::Lanes(d8) <= count; i += hn::Lanes(d8)) {
    const auto here = hn::LoadU(d8, symbols + i);
    least = hn::Min(least, here);
    most = hn::Max(most, here);
  }
  const auto below = hn::Lt(least, hn::Set(d8, smallest));
  const auto above = hn::Gt(most, hn::Set(d8, largest));
  if (!hn::AllFalse(d8, hn::Or(below, above))) return false;
  for (; i < count; ++i) {
    if (symbols[i] < smallest || symbols[i] > largest) return false;
  }
  for (i = 0; i + hn::Lanes(d32) <= count; i += hn::Lanes(d32)) {
    const auto here = hn::PromoteTo(d32, hn::LoadU(quarter, symbols + i));
    hn::StoreU(hn::Add(hn::LoadU(d32, sums + i), here), d32, sums + i);
  }
  return add_bytes_one(symbols + i, count - i, smallest, largest, sums + i);
#endif
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {

bool add_packed_bytes(std::span<const std::byte> symbols, std::int8_t smallest, std::int8_t largest,
                      std::int32_t* sums) {
  return SOTTO_SIMD_OR_ONE(add_bytes)(reinterpret_cast<const std::int8_t*>(symbols.data()),
                                      symbols.size(), smallest, largest, sums);
}

}  // namespace sotto
#endif
