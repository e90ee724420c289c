// Sealed boxes of libsodium's XChaCha20 family (crypto_box_curve25519xchacha20poly1305_seal), byte
// for byte: a one-time X25519 key, the Poly1305 authenticator, the message under XChaCha20.
//
// libsodium makes and agrees on the keys. The message itself goes through OpenSSL: with libsodium's
// own call a server takes in reports at 0.49 and 0.50 of bare gRPC's speed, where its bar is 0.5
// (docs/research/performance.md has the figures; `sotto bench sealed` measures both).
#pragma once

#include <cstddef>
#include <span>

#include "sotto/identity.h"

namespace sotto::identity {

inline constexpr std::size_t kBoxKeyBytes = 32;
inline constexpr std::size_t kBoxTagBytes = 16;
inline constexpr std::size_t kBoxOverhead = kBoxKeyBytes + kBoxTagBytes;

/// Fills `box`, which is kBoxOverhead longer than `plain`. False for a key that is none.
bool seal_box(std::span<const unsigned char> plain, const PublicKey& to,
              std::span<unsigned char> box);
/// Fills `plain`, kBoxOverhead shorter than `box`; on false, where the box was changed or is for
/// another key, nothing was written to it.
bool open_box(std::span<const unsigned char> box, const SealKey& key,
              std::span<unsigned char> plain);

}  // namespace sotto::identity
