// Bits to byte counters: see add_bits.h. In vectors a mask is loaded straight from the bits, and
// subtracting it adds one where it is set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aggregate/add_bits.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_ADD_BITS_SHARED
#define SOTTO_ADD_BITS_SHARED
#include <array>
#include <cstring>

#include "aggregate/add_bits.h"

namespace sotto {
/// The bits of a byte as eight bytes, lowest first.
inline constexpr std::array<std::uint64_t, 256> kSpread = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) table[byte] |= ((byte >> bit) & 1) << (8 * bit);
  }
  return table;
}();
}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The definition. No byte carries into the next: each counts 255 at most.
void add_bits_one(const std::uint8_t* bits, std::size_t bytes, std::uint8_t* counters) {
  for (std::size_t i = 0; i < bytes; ++i) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, counters + 8 * i, sizeof eight);
    eight += kSpread[bits[i]];
    std::memcpy(counters + 8 * i, &eight, sizeof eight);
  }
}

void add_bits(const std::uint8_t* bits, std::size_t bytes, std::uint8_t* counters) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d) / 8;
  // Eight bytes are read for a mask, however few of them it takes.
  for (; i + sizeof(std::uint64_t) <= bytes; i += step) {
    const auto set = hn::VecFromMask(d, hn::LoadMaskBits(d, bits + i));
    std::uint8_t* const at = counters + 8 * i;
    hn::StoreU(hn::Sub(hn::LoadU(d, at), set), d, at);
  }
#endif
  add_bits_one(bits + i, bytes - i, counters + 8 * i);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {

void add_packed_bits(std::span<const std::byte> bits, std::uint8_t* counters) {
  SOTTO_SIMD_OR_ONE(add_bits)
  (reinterpret_cast<const std::uint8_t*>(bits.data()), bits.size(), counters);
}

}  // namespace sotto
#endif
