// The primitives of secure aggregation, all libsodium's: X25519 with BLAKE2b for a key that two
// members share, ChaCha20 for masks, ChaCha20-Poly1305 for what one member sends another.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sotto/bits.h"
#include "sotto/secure.h"

namespace sotto::secure {

/// 32 fresh bytes: a secret key of X25519, or a seed.
Secret<32> draw_secret(BitSource& bits);
PublicKey public_key(const Secret<32>& secret);
Digest digest_of(const Secret<32>& seed);

/// The same for both sides of a pair; another for every purpose, round and pair. Nothing for a
/// public key of small order, which would make it known to all.
std::optional<Secret<32>> agree(const Secret<32>& mine, const PublicKey& my_key,
                                const PublicKey& theirs, std::string_view purpose, RoundId round);

enum class Sign { kAdd, kSubtract };
/// Adds the mask that `seed` expands to, or subtracts it, modulo 2^64.
void apply_mask(const Secret<32>& seed, Sign sign, std::span<std::uint64_t> words);

/// `key` seals at most one message from a member to another: their numbers are the nonce.
std::vector<unsigned char> seal(const Secret<32>& key, Member from, Member to,
                                std::span<const unsigned char> message);
std::optional<std::vector<unsigned char>> open(const Secret<32>& key, const SealedShares& sealed);

}  // namespace sotto::secure
