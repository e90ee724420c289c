#include "secure/crypto.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace sotto::secure {
namespace {

static_assert(crypto_scalarmult_BYTES == 32 && crypto_stream_chacha20_ietf_KEYBYTES == 32 &&
              crypto_aead_chacha20poly1305_ietf_KEYBYTES == 32);

/// A client without working primitives must not go on.
void ready() {
  static const bool kReady = sodium_init() >= 0;
  if (!kReady) std::abort();
}

template <class T>
void put(std::span<unsigned char> out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out[i] = static_cast<unsigned char>(value >> (8 * i));
  }
}

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;
Nonce nonce_of(Member from, Member to) {
  Nonce nonce{};
  put(std::span(nonce).first(4), from);
  put(std::span(nonce).subspan(4, 4), to);
  return nonce;
}

}  // namespace

Secret<32> draw_secret(BitSource& bits) {
  Secret<32> secret;
  bits.fill(std::as_writable_bytes(std::span(secret.data(), secret.size())));
  return secret;
}

PublicKey public_key(const Secret<32>& secret) {
  ready();
  PublicKey key;
  if (crypto_scalarmult_base(key.data(), secret.data()) != 0) std::abort();
  return key;
}

Digest digest_of(const Secret<32>& seed) {
  ready();
  constexpr std::string_view kPurpose = "sotto seed";
  Digest digest;
  crypto_generichash(digest.data(), digest.size(), seed.data(), seed.size(),
                     reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size());
  return digest;
}

std::optional<Secret<32>> agree(const Secret<32>& mine, const PublicKey& my_key,
                                const PublicKey& theirs, std::string_view purpose, RoundId round) {
  ready();
  Secret<32> point;
  if (crypto_scalarmult(point.data(), mine.data(), theirs.data()) != 0) return std::nullopt;
  const auto& [low, high] = std::minmax(my_key, theirs);
  std::array<unsigned char, 4> number{};
  put(std::span(number), round);
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(purpose.data()),
                          purpose.size(), crypto_generichash_BYTES);
  crypto_generichash_update(&state, point.data(), point.size());
  crypto_generichash_update(&state, low.data(), low.size());
  crypto_generichash_update(&state, high.data(), high.size());
  crypto_generichash_update(&state, number.data(), number.size());
  Secret<32> shared;
  static_assert(crypto_generichash_BYTES == 32);
  crypto_generichash_final(&state, shared.data(), shared.size());
  return shared;
}

void apply_mask(const Secret<32>& seed, Sign sign, std::span<std::uint64_t> words) {
  ready();
  constexpr std::size_t kPiece = 1024;  // words: 128 blocks of the cipher, in the nearest cache
  constexpr std::uint32_t kBlocks = kPiece * sizeof(std::uint64_t) / 64;
  std::array<std::uint64_t, kPiece> mask;
  const std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  std::uint32_t block = 0;
  for (std::size_t first = 0; first < words.size(); first += kPiece, block += kBlocks) {
    const std::span<std::uint64_t> part =
        words.subspan(first, std::min(kPiece, words.size() - first));
    std::memset(mask.data(), 0, sizeof mask);
    auto* const bytes = reinterpret_cast<unsigned char*>(mask.data());
    crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, part.size() * sizeof(std::uint64_t),
                                       nonce.data(), block, seed.data());
    if (sign == Sign::kAdd) {
      for (std::size_t i = 0; i < part.size(); ++i) part[i] += mask[i];
    } else {
      for (std::size_t i = 0; i < part.size(); ++i) part[i] -= mask[i];
    }
  }
}

std::vector<unsigned char> seal(const Secret<32>& key, Member from, Member to,
                                std::span<const unsigned char> message) {
  ready();
  const Nonce nonce = nonce_of(from, to);
  std::vector<unsigned char> box(message.size() + crypto_aead_chacha20poly1305_ietf_ABYTES);
  crypto_aead_chacha20poly1305_ietf_encrypt(box.data(), nullptr, message.data(), message.size(),
                                            nullptr, 0, nullptr, nonce.data(), key.data());
  return box;
}

std::optional<std::vector<unsigned char>> open(const Secret<32>& key, const SealedShares& sealed) {
  ready();
  if (sealed.box.size() < crypto_aead_chacha20poly1305_ietf_ABYTES) return std::nullopt;
  const Nonce nonce = nonce_of(sealed.from, sealed.to);
  std::vector<unsigned char> message(sealed.box.size() - crypto_aead_chacha20poly1305_ietf_ABYTES);
  if (crypto_aead_chacha20poly1305_ietf_decrypt(message.data(), nullptr, nullptr, sealed.box.data(),
                                                sealed.box.size(), nullptr, 0, nonce.data(),
                                                key.data()) != 0) {
    return std::nullopt;
  }
  return message;
}

}  // namespace sotto::secure
