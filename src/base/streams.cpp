#include "base/streams.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sotto {
namespace {

[[noreturn]] void die() {
  std::fputs("sotto: AES-256-CTR failed; refusing to continue without randomness\n", stderr);
  std::abort();
}

}  // namespace

struct BlockStream::Cipher {
  explicit Cipher(const unsigned char* key) : context(EVP_CIPHER_CTX_new()) {
    const unsigned char counter[16] = {};
    if (context == nullptr ||
        EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nullptr, key, counter) != 1) {
      die();
    }
  }
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  ~Cipher() { EVP_CIPHER_CTX_free(context); }

  void seek(std::uint64_t high, std::uint64_t low) const {
    unsigned char counter[16];
    for (unsigned byte = 0; byte < 8; ++byte) {
      counter[byte] = static_cast<unsigned char>(high >> (56 - 8 * byte));
      counter[8 + byte] = static_cast<unsigned char>(low >> (56 - 8 * byte));
    }
    if (EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, counter) != 1) die();
  }

  void fill(std::span<std::byte> out) const {
    constexpr std::size_t kPiece = std::size_t{1} << 14;
    while (!out.empty()) {
      const std::size_t n = std::min(out.size(), kPiece);
      std::memset(out.data(), 0, n);  // the key stream is the encryption of zeros
      int written = 0;
      auto* const bytes = reinterpret_cast<unsigned char*>(out.data());
      if (EVP_EncryptUpdate(context, bytes, &written, bytes, static_cast<int>(n)) != 1) die();
      out = out.subspan(n);
    }
  }

  EVP_CIPHER_CTX* context;
};

StreamKey::StreamKey(BitSource& bits) {
  for (std::uint64_t& word : words_) word = bits.next_u64();
}

BlockStream::BlockStream(const StreamKey& key) {
  unsigned char bytes[32];
  std::memcpy(bytes, key.words_.data(), sizeof bytes);
  main_ = std::make_unique<Cipher>(bytes);
  more_ = std::make_unique<Cipher>(bytes);
}

BlockStream::~BlockStream() = default;

void BlockStream::seek(std::uint64_t block) {
  block_ = block;
  main_->seek(2 * block, 0);
}

void BlockStream::fill(std::span<std::byte> out) { main_->fill(out); }

void MoreBits::refill() {
  // Two cipher blocks a refill; 2^19 refills a weight are never reached (each is a chance of 2^-32
  // or so), and wrapping into a neighbour's bits would still be pseudo-random.
  const std::uint64_t counter = position_ << 20 | (2 * refills_++ & 0xFFFFF);
  stream_->more_->seek(2 * block_ + 1, counter);
  stream_->more_->fill(std::as_writable_bytes(std::span(buffer_)));
  next_ = 0;
}

std::uint64_t MoreBits::below(std::uint64_t bound) {
  const std::uint64_t rejected = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t word = next_u64();
    if (word >= rejected) return word % bound;
  }
}

}  // namespace sotto
