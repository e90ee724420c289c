#include "mechanism/cuda/aes_tables.h"

#include <bit>

namespace sotto::cuda {
namespace {

/// Times x in the field of AES, x^8 + x^4 + x^3 + x + 1.
constexpr std::uint8_t doubled(std::uint8_t a) {
  return static_cast<std::uint8_t>((a << 1) ^ ((a & 0x80) != 0 ? 0x1B : 0));
}

constexpr std::array<std::uint8_t, 256> substitution() {
  // 3 generates the field: its powers and their logarithms give inverses.
  std::array<std::uint8_t, 256> power{};
  std::array<std::uint8_t, 256> logarithm{};
  std::uint8_t value = 1;
  for (unsigned i = 0; i < 255; ++i) {
    power[i] = value;
    logarithm[value] = static_cast<std::uint8_t>(i);
    value = static_cast<std::uint8_t>(doubled(value) ^ value);
  }
  std::array<std::uint8_t, 256> box{};
  for (unsigned x = 0; x < 256; ++x) {
    const std::uint8_t inverse = x == 0 ? std::uint8_t{0} : power[(255 - logarithm[x]) % 255];
    box[x] = static_cast<std::uint8_t>(inverse ^ std::rotl(inverse, 1) ^ std::rotl(inverse, 2) ^
                                       std::rotl(inverse, 3) ^ std::rotl(inverse, 4) ^ 0x63);
  }
  return box;
}

constexpr std::array<std::uint8_t, 256> kBox = substitution();

constexpr std::uint32_t substituted(std::uint32_t word) {
  return std::uint32_t{kBox[word >> 24]} << 24 | std::uint32_t{kBox[word >> 16 & 0xFF]} << 16 |
         std::uint32_t{kBox[word >> 8 & 0xFF]} << 8 | kBox[word & 0xFF];
}

}  // namespace

std::array<std::uint32_t, 256> aes_table() {
  std::array<std::uint32_t, 256> table{};
  for (unsigned x = 0; x < 256; ++x) {
    const std::uint8_t s = kBox[x];
    const std::uint8_t twice = doubled(s);
    table[x] = std::uint32_t{twice} << 24 | std::uint32_t{s} << 16 | std::uint32_t{s} << 8 |
               static_cast<std::uint8_t>(twice ^ s);
  }
  return table;
}

std::array<std::uint32_t, kRoundKeys> aes_round_keys(const StreamKey& key) {
  constexpr std::size_t kWords = 8;
  const auto bytes = std::bit_cast<std::array<std::uint8_t, 32>>(key.words());
  std::array<std::uint32_t, kRoundKeys> keys{};
  for (std::size_t i = 0; i < kWords; ++i) {
    keys[i] = std::uint32_t{bytes[4 * i]} << 24 | std::uint32_t{bytes[4 * i + 1]} << 16 |
              std::uint32_t{bytes[4 * i + 2]} << 8 | bytes[4 * i + 3];
  }
  std::uint8_t constant = 1;
  for (std::size_t i = kWords; i < kRoundKeys; ++i) {
    std::uint32_t word = keys[i - 1];
    if (i % kWords == 0) {
      word = substituted(std::rotl(word, 8)) ^ std::uint32_t{constant} << 24;
      constant = doubled(constant);
    } else if (i % kWords == 4) {
      word = substituted(word);
    }
    keys[i] = keys[i - kWords] ^ word;
  }
  return keys;
}

}  // namespace sotto::cuda
