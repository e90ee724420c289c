// AES-256-CTR on a device, as base/streams.h lays its streams out.
//
// The table lies 32 times in shared memory, once for each bank, so that no two lanes of a warp wait
// for one another; that is also why the time does not depend on the key.
#pragma once

#include <cstdint>

namespace sotto::cuda {

constexpr std::uint32_t kLanes = 32;
constexpr std::uint32_t kTableWords = 256 * kLanes;
constexpr int kRounds = 14;

__device__ __forceinline__ std::uint32_t rotated(std::uint32_t word, int bits) {
  return __funnelshift_r(word, word, bits);
}

/// Block `counter` of the stream that starts at `start` * 2^64, as the words of a little-endian
/// machine. `table` is this lane's.
__device__ __forceinline__ uint4 stream_words(const std::uint32_t* table, const std::uint32_t* keys,
                                              std::uint64_t start, std::uint32_t counter) {
  const auto at = [table](std::uint32_t byte) { return table[(byte & 0xFF) * kLanes]; };
  std::uint32_t a = static_cast<std::uint32_t>(start >> 32) ^ keys[0];
  std::uint32_t b = static_cast<std::uint32_t>(start) ^ keys[1];
  std::uint32_t c = keys[2];
  std::uint32_t d = counter ^ keys[3];
  const auto mixed = [&](std::uint32_t p, std::uint32_t q, std::uint32_t r, std::uint32_t s) {
    return at(p >> 24) ^ rotated(at(q >> 16), 8) ^ rotated(at(r >> 8), 16) ^ rotated(at(s), 24);
  };
#pragma unroll
  for (int round = 1; round < kRounds; ++round) {
    const std::uint32_t* const key = keys + 4 * round;
    const std::uint32_t e = mixed(a, b, c, d) ^ key[0];
    const std::uint32_t f = mixed(b, c, d, a) ^ key[1];
    const std::uint32_t g = mixed(c, d, a, b) ^ key[2];
    const std::uint32_t h = mixed(d, a, b, c) ^ key[3];
    a = e, b = f, c = g, d = h;
  }
  // The last round only substitutes: the second byte of a column is S itself.
  const auto last = [&](std::uint32_t p, std::uint32_t q, std::uint32_t r, std::uint32_t s,
                        std::uint32_t key) {
    const std::uint32_t word = (at(p >> 24) >> 16 & 0xFF) << 24 | (at(q >> 16) & 0xFF0000) |
                               (at(r >> 8) & 0xFF00) | (at(s) >> 8 & 0xFF);
    return __byte_perm(word ^ key, 0, 0x0123);
  };
  const std::uint32_t* const key = keys + 4 * kRounds;
  return {last(a, b, c, d, key[0]), last(b, c, d, a, key[1]), last(c, d, a, b, key[2]),
          last(d, a, b, c, key[3])};
}

/// Fills the AES tables of all lanes; a barrier must follow.
__device__ __forceinline__ void load_table(const std::uint32_t* from, std::uint32_t* table) {
  for (std::uint32_t i = threadIdx.x; i < kTableWords; i += blockDim.x) table[i] = from[i / kLanes];
}

}  // namespace sotto::cuda
