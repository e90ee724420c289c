#include "identity/xchacha20_poly1305.h"

#include <sodium.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sotto::identity {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // what an int counts, in whole blocks

/// Nothing may be sent or read with a cipher that does not work.
void require(bool works) {
  if (works) return;
  std::fputs("sotto: OpenSSL's ChaCha20 or Poly1305 does not work\n", stderr);
  std::abort();
}

}  // namespace

XChaCha20Poly1305::XChaCha20Poly1305()
    : chacha_(EVP_CIPHER_fetch(nullptr, "ChaCha20", nullptr)),
      stream_(EVP_CIPHER_CTX_new()),
      poly_(EVP_MAC_fetch(nullptr, "POLY1305", nullptr)),
      mac_(EVP_MAC_CTX_new(poly_.get())) {
  require(chacha_ && stream_ && poly_ && mac_);
}

void XChaCha20Poly1305::begin(std::span<const unsigned char, kKeyBytes> key,
                              std::span<const unsigned char, kNonceBytes> nonce) {
  // The first 16 bytes of the nonce go into the key, the last 8 into the stream, behind a counter
  // of 8 bytes.
  std::array<unsigned char, kKeyBytes> inner{};
  crypto_core_hchacha20(inner.data(), nonce.data(), key.data(), nullptr);
  std::array<unsigned char, 16> start{};
  std::copy(nonce.begin() + 16, nonce.end(), start.begin() + 8);
  require(EVP_EncryptInit_ex2(stream_.get(), chacha_.get(), inner.data(), start.data(), nullptr) ==
          1);
  std::array<unsigned char, kKeyBytes> one_time{};
  apply(one_time, one_time.data());
  begin_tag(one_time);
  sodium_memzero(inner.data(), inner.size());
  sodium_memzero(one_time.data(), one_time.size());
}

void XChaCha20Poly1305::begin_tag(std::span<const unsigned char, kKeyBytes> one_time) {
  require(EVP_MAC_init(mac_.get(), one_time.data(), one_time.size(), nullptr) == 1);
}

void XChaCha20Poly1305::apply(std::span<const unsigned char> from, unsigned char* to) {
  while (!from.empty()) {
    const std::size_t size = std::min(from.size(), kMostBytes);
    int written = 0;
    require(EVP_EncryptUpdate(stream_.get(), to, &written, from.data(), static_cast<int>(size)) ==
            1);
    from = from.subspan(size);
    to += size;
  }
}

std::array<unsigned char, XChaCha20Poly1305::kTagBytes> XChaCha20Poly1305::tag_of(
    std::span<const unsigned char> encrypted) {
  std::array<unsigned char, kTagBytes> tag{};
  std::size_t written = 0;
  require(EVP_MAC_update(mac_.get(), encrypted.data(), encrypted.size()) == 1 &&
          EVP_MAC_final(mac_.get(), tag.data(), &written, tag.size()) == 1 &&
          written == tag.size());
  return tag;
}

}  // namespace sotto::identity
