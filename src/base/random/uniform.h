// A uniform integer from any source of 64-bit words.
#pragma once

#include <cstdint>

namespace sotto {

/// Uniform on [0, bound), exactly: rejects the words beyond the last whole multiple of bound,
/// 2^64 mod bound of them. `source` has next_u64(); bound must be positive.
template <class Source>
std::uint64_t uniform_below(Source& source, std::uint64_t bound) {
  const std::uint64_t rejected = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t word = source.next_u64();
    if (word >= rejected) return word % bound;
  }
}

}  // namespace sotto
