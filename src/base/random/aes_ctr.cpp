#include "base/random/aes_ctr.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sotto {

void die_without_randomness(const char* what) {
  std::fprintf(stderr, "sotto: %s; refusing to continue without randomness\n", what);
  std::abort();
}

AesCtr::AesCtr(const Key& key) : context_(EVP_CIPHER_CTX_new()) {
  const unsigned char counter[16] = {};
  if (context_ == nullptr ||
      EVP_EncryptInit_ex(context_, EVP_aes_256_ctr(), nullptr, key.data(), counter) != 1) {
    die_without_randomness("AES-256-CTR is not available from OpenSSL");
  }
}

AesCtr::~AesCtr() { EVP_CIPHER_CTX_free(context_); }

void AesCtr::seek(std::uint64_t high, std::uint64_t low) {
  unsigned char counter[16];
  for (unsigned byte = 0; byte < 8; ++byte) {
    counter[byte] = static_cast<unsigned char>(high >> (56 - 8 * byte));
    counter[8 + byte] = static_cast<unsigned char>(low >> (56 - 8 * byte));
  }
  if (EVP_EncryptInit_ex(context_, nullptr, nullptr, nullptr, counter) != 1) {
    die_without_randomness("AES-256-CTR failed");
  }
}

void AesCtr::fill(std::span<std::byte> out) {
  // Counter mode is an XOR with the key stream: encrypting zeros yields the stream itself. Pieces
  // of 16 KiB stay in the nearest cache.
  constexpr std::size_t kPiece = std::size_t{1} << 14;
  while (!out.empty()) {
    const std::size_t n = std::min(out.size(), kPiece);
    std::memset(out.data(), 0, n);
    int written = 0;
    auto* const bytes = reinterpret_cast<unsigned char*>(out.data());
    if (EVP_EncryptUpdate(context_, bytes, &written, bytes, static_cast<int>(n)) != 1 ||
        written != static_cast<int>(n)) {
      die_without_randomness("AES-256-CTR failed");
    }
    out = out.subspan(n);
  }
}

}  // namespace sotto
