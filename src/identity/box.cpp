#include "identity/box.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "identity/key_files.h"
#include "identity/xchacha20_poly1305.h"

namespace sotto::identity {
namespace {

static_assert(kBoxOverhead == crypto_box_curve25519xchacha20poly1305_SEALBYTES);
using Nonce = std::array<unsigned char, XChaCha20Poly1305::kNonceBytes>;
using Key = std::array<unsigned char, XChaCha20Poly1305::kKeyBytes>;
static_assert(std::tuple_size_v<Nonce> == crypto_box_curve25519xchacha20poly1305_NONCEBYTES);
static_assert(std::tuple_size_v<Key> == crypto_box_curve25519xchacha20poly1305_BEFORENMBYTES);

XChaCha20Poly1305& cipher() {
  thread_local XChaCha20Poly1305 own;
  return own;
}

/// Both ends know the two public keys: a box needs no nonce of its own.
Nonce nonce_of(std::span<const unsigned char> once, const PublicKey& to) {
  Nonce nonce{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, nonce.size());
  crypto_generichash_update(&state, once.data(), once.size());
  crypto_generichash_update(&state, to.data(), to.size());
  crypto_generichash_final(&state, nonce.data(), nonce.size());
  return nonce;
}

/// False where the two keys agree on nothing, as a point of small order makes them.
bool begin(const unsigned char* other, const unsigned char* secret, const Nonce& nonce) {
  Key shared{};
  const bool agreed =
      crypto_box_curve25519xchacha20poly1305_beforenm(shared.data(), other, secret) == 0;
  if (agreed) cipher().begin(shared, nonce);
  sodium_memzero(shared.data(), shared.size());
  return agreed;
}

}  // namespace

bool seal_box(std::span<const unsigned char> plain, const PublicKey& to,
              std::span<unsigned char> box) {
  sodium_ready();
  Key secret{};
  crypto_box_curve25519xchacha20poly1305_keypair(box.data(), secret.data());
  const bool agreed = begin(to.data(), secret.data(), nonce_of(box.first(kBoxKeyBytes), to));
  sodium_memzero(secret.data(), secret.size());
  if (!agreed) return false;
  const std::span<unsigned char> encrypted = box.subspan(kBoxOverhead);
  cipher().apply(plain, encrypted.data());
  std::ranges::copy(cipher().tag_of(encrypted), box.begin() + kBoxKeyBytes);
  return true;
}

bool open_box(std::span<const unsigned char> box, const SealKey& key,
              std::span<unsigned char> plain) {
  sodium_ready();
  if (box.size() < kBoxOverhead) return false;
  const std::span<const unsigned char> once = box.first(kBoxKeyBytes);
  if (!begin(once.data(), key.secret.data(), nonce_of(once, key.public_key))) return false;
  const std::span<const unsigned char> encrypted = box.subspan(kBoxOverhead);
  const auto tag = cipher().tag_of(encrypted);
  if (sodium_memcmp(tag.data(), box.data() + kBoxKeyBytes, tag.size()) != 0) return false;
  cipher().apply(encrypted, plain.data());
  return true;
}

}  // namespace sotto::identity
