#include "identity/box.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/openssl.h"
#include "identity/keys.h"

namespace sotto::identity {
namespace {

static_assert(kBoxOverhead == crypto_box_curve25519xchacha20poly1305_SEALBYTES);
constexpr std::size_t kNonceBytes = crypto_box_curve25519xchacha20poly1305_NONCEBYTES;
constexpr std::size_t kKeyBytes = 32;

/// Nothing may be sent or read with a cipher that does not work.
void require(bool works) {
  if (works) return;
  std::fputs("sotto: OpenSSL's ChaCha20 or Poly1305 does not work\n", stderr);
  std::abort();
}

/// The stream and the authenticator of one message after the other.
class Cipher {
 public:
  Cipher()
      : chacha_(EVP_CIPHER_fetch(nullptr, "ChaCha20", nullptr)),
        stream_(EVP_CIPHER_CTX_new()),
        poly_(EVP_MAC_fetch(nullptr, "POLY1305", nullptr)),
        mac_(EVP_MAC_CTX_new(poly_.get())) {
    require(chacha_ && stream_ && poly_ && mac_);
  }

  /// The first half of the first block of the stream is the authenticator's key.
  void begin(std::span<const unsigned char, kKeyBytes> key,
             std::span<const unsigned char, kNonceBytes> nonce) {
    // XChaCha20: the first 16 bytes of the nonce go into the key, the last 8 into the stream,
    // behind a counter of 8 bytes.
    std::array<unsigned char, kKeyBytes> inner{};
    crypto_core_hchacha20(inner.data(), nonce.data(), key.data(), nullptr);
    std::array<unsigned char, 16> start{};
    std::copy(nonce.begin() + 16, nonce.end(), start.begin() + 8);
    require(EVP_EncryptInit_ex2(stream_.get(), chacha_.get(), inner.data(), start.data(),
                                nullptr) == 1);
    std::array<unsigned char, kKeyBytes> one_time{};
    apply(one_time, one_time.data());
    require(EVP_MAC_init(mac_.get(), one_time.data(), one_time.size(), nullptr) == 1);
    sodium_memzero(inner.data(), inner.size());
    sodium_memzero(one_time.data(), one_time.size());
  }

  /// `to` may be where `from` lies.
  void apply(std::span<const unsigned char> from, unsigned char* to) {
    while (!from.empty()) {
      const std::size_t size = std::min<std::size_t>(from.size(), kMost);
      int written = 0;
      require(EVP_EncryptUpdate(stream_.get(), to, &written, from.data(), static_cast<int>(size)) ==
              1);
      from = from.subspan(size);
      to += size;
    }
  }

  std::array<unsigned char, kBoxTagBytes> tag_of(std::span<const unsigned char> encrypted) {
    std::array<unsigned char, kBoxTagBytes> tag{};
    std::size_t written = 0;
    require(EVP_MAC_update(mac_.get(), encrypted.data(), encrypted.size()) == 1 &&
            EVP_MAC_final(mac_.get(), tag.data(), &written, tag.size()) == 1 &&
            written == tag.size());
    return tag;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;  // what an int counts, in whole blocks

  Owned<EVP_CIPHER> chacha_;
  Owned<EVP_CIPHER_CTX> stream_;
  Owned<EVP_MAC> poly_;
  Owned<EVP_MAC_CTX> mac_;
};

Cipher& cipher() {
  thread_local Cipher own;
  return own;
}

/// Both ends know the two public keys: a box needs no nonce of its own.
std::array<unsigned char, kNonceBytes> nonce_of(std::span<const unsigned char> once,
                                                const PublicKey& to) {
  std::array<unsigned char, kNonceBytes> nonce{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, nonce.size());
  crypto_generichash_update(&state, once.data(), once.size());
  crypto_generichash_update(&state, to.data(), to.size());
  crypto_generichash_final(&state, nonce.data(), nonce.size());
  return nonce;
}

/// False where the two keys agree on nothing, as a point of small order makes them.
bool begin(const unsigned char* other, const unsigned char* secret,
           std::span<const unsigned char, kNonceBytes> nonce) {
  std::array<unsigned char, kKeyBytes> shared{};
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
  std::array<unsigned char, kKeyBytes> secret{};
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
