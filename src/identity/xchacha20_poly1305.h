// XChaCha20 (draft-irtf-cfrg-xchacha-03) and Poly1305 (RFC 8439) as libsodium's sealed boxes put
// them together, computed by OpenSSL, whose ChaCha20 and Poly1305 use the widest vectors that a
// processor has. What that gains over libsodium's own: docs/research/performance.md.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/openssl.h"

namespace sotto::identity {

/// The stream and the authenticator of one message after the other; one for each thread.
class XChaCha20Poly1305 {
 public:
  static constexpr std::size_t kKeyBytes = 32;
  static constexpr std::size_t kNonceBytes = 24;
  static constexpr std::size_t kTagBytes = 16;

  XChaCha20Poly1305();

  /// Starts the stream. Its first 32 bytes are the authenticator's key; `apply` goes on after them.
  void begin(std::span<const unsigned char, kKeyBytes> key,
             std::span<const unsigned char, kNonceBytes> nonce);
  /// Starts the authenticator alone, with a key that is used once.
  void begin_tag(std::span<const unsigned char, kKeyBytes> one_time);
  /// Adds the next bytes of the stream to `from`. `to` may be where `from` lies.
  void apply(std::span<const unsigned char> from, unsigned char* to);
  /// Once after each begin() or begin_tag().
  std::array<unsigned char, kTagBytes> tag_of(std::span<const unsigned char> encrypted);

 private:
  Owned<EVP_CIPHER> chacha_;
  Owned<EVP_CIPHER_CTX> stream_;
  Owned<EVP_MAC> poly_;
  Owned<EVP_MAC_CTX> mac_;
};

}  // namespace sotto::identity
