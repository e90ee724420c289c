// AES-256 as a device computes it: one table for the middle rounds, and the round keys of a key.
// The processor's streams come from OpenSSL; a device must produce the same ones to the bit.
#pragma once

#include <array>
#include <cstdint>

#include "base/random/streams.h"

namespace sotto::cuda {

inline constexpr std::size_t kRoundKeys = 60;  // words: 15 round keys of 4

/// Of every byte x the column (2 S(x), S(x), S(x), 3 S(x)), the first byte highest. The other three
/// columns of a round are rotations of this one.
std::array<std::uint32_t, 256> aes_table();

/// As words whose first byte is highest.
std::array<std::uint32_t, kRoundKeys> aes_round_keys(const StreamKey& key);

}  // namespace sotto::cuda
