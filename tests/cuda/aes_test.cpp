// The tables from which a device computes AES, walked through on the processor: its stream must be
// OpenSSL's.
#include <gtest/gtest.h>

#include <bit>

#include "mechanism/cuda/aes_tables.h"

namespace sotto {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words encrypted(const Words& counter, const std::array<std::uint32_t, cuda::kRoundKeys>& keys) {
  const auto table = cuda::aes_table();
  Words s;
  for (std::size_t i = 0; i < 4; ++i) s[i] = counter[i] ^ keys[i];
  const auto byte = [&s](std::size_t word, unsigned shift) { return s[word % 4] >> shift & 0xFF; };
  for (std::size_t round = 1; round < 14; ++round) {
    Words next;
    for (std::size_t i = 0; i < 4; ++i) {
      next[i] = table[byte(i, 24)] ^ std::rotr(table[byte(i + 1, 16)], 8) ^
                std::rotr(table[byte(i + 2, 8)], 16) ^ std::rotr(table[byte(i + 3, 0)], 24) ^
                keys[4 * round + i];
    }
    s = next;
  }
  Words last;
  const auto box = [&table](std::uint32_t x) { return table[x] >> 8 & 0xFF; };
  for (std::size_t i = 0; i < 4; ++i) {
    last[i] = (box(byte(i, 24)) << 24 | box(byte(i + 1, 16)) << 16 | box(byte(i + 2, 8)) << 8 |
               box(byte(i + 3, 0))) ^
              keys[56 + i];
  }
  return last;
}

TEST(AesTables, YieldTheStreamOfTheProcessor) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    BitSource bits = BitSource::from_seed(seed, "aes");
    const StreamKey key(bits);
    const auto keys = cuda::aes_round_keys(key);
    BlockStream stream(key);
    for (const std::uint64_t block : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 40}) {
      stream.seek(block);
      std::array<std::uint32_t, 64> expected;
      stream.fill(expected);
      const std::uint64_t high = 2 * block;
      for (std::uint32_t n = 0; n < 16; ++n) {
        const Words words = encrypted(
            {static_cast<std::uint32_t>(high >> 32), static_cast<std::uint32_t>(high), 0, n}, keys);
        for (std::size_t i = 0; i < 4; ++i) {
          const std::uint32_t word = words[i];
          const std::uint32_t swapped =
              word >> 24 | (word >> 8 & 0xFF00) | (word << 8 & 0xFF0000) | word << 24;
          ASSERT_EQ(swapped, expected[4 * n + i]) << seed << ' ' << block << ' ' << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sotto
