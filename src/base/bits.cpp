#include "sotto/bits.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <string>

namespace sotto {
namespace {

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "sotto: %s; refusing to continue without randomness\n", what);
  std::abort();
}

void append_u64(std::string& text, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) text.push_back(static_cast<char>(value >> (8 * byte)));
}

}  // namespace

struct BitSource::Cipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  ~Cipher() { EVP_CIPHER_CTX_free(context); }
};

BitSource::BitSource(const Key& key) : cipher_(std::make_unique<Cipher>()), buffer_(kWords) {
  const unsigned char counter[16] = {};
  if (cipher_->context == nullptr ||
      EVP_EncryptInit_ex(cipher_->context, EVP_aes_256_ctr(), nullptr, key.data(), counter) != 1) {
    die("AES-256-CTR is not available from OpenSSL");
  }
}

BitSource::BitSource(BitSource&&) noexcept = default;
BitSource& BitSource::operator=(BitSource&&) noexcept = default;
BitSource::~BitSource() = default;

BitSource BitSource::from_system() {
  Key key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    die("the system's random generator failed");
  }
  return BitSource(key);
}

BitSource BitSource::from_seed(std::uint64_t seed, std::string_view purpose,
                               std::initializer_list<std::uint64_t> path) {
  // Length-prefixed, so that no two (purpose, path) pairs give the same text.
  std::string text = "sotto.bits.v1";
  append_u64(text, seed);
  append_u64(text, purpose.size());
  text += purpose;
  append_u64(text, path.size());
  for (const std::uint64_t step : path) append_u64(text, step);
  Key key;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  return BitSource(key);
}

void BitSource::fill(std::span<std::byte> out) {
  // Counter mode is an XOR with the key stream: encrypting zeros yields the stream itself.
  constexpr std::size_t kPiece = std::size_t{1} << 14;
  while (!out.empty()) {
    const std::size_t n = std::min(out.size(), kPiece);
    std::memset(out.data(), 0, n);
    int written = 0;
    auto* bytes = reinterpret_cast<unsigned char*>(out.data());
    if (EVP_EncryptUpdate(cipher_->context, bytes, &written, bytes, static_cast<int>(n)) != 1 ||
        written != static_cast<int>(n)) {
      die("AES-256-CTR failed");
    }
    out = out.subspan(n);
  }
}

void BitSource::refill() {
  fill(std::as_writable_bytes(std::span(buffer_)));
  next_ = 0;
}

std::uint64_t BitSource::below(std::uint64_t bound) {
  // Reject the words beyond the last whole multiple of bound: 2^64 mod bound of them.
  const std::uint64_t rejected = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t word = next_u64();
    if (word >= rejected) return word % bound;
  }
}

double BitSource::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
  return radius * std::cos(2.0 * std::numbers::pi * unit());
}

}  // namespace sotto
