// The key stream of AES-256 in counter mode (OpenSSL EVP), from any counter on.
//
// A process that cannot have it is stopped: a client without randomness must not go on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

struct evp_cipher_ctx_st;

namespace sotto {

class AesCtr {
 public:
  using Key = std::array<unsigned char, 32>;
  explicit AesCtr(const Key& key);
  AesCtr(const AesCtr&) = delete;
  AesCtr& operator=(const AesCtr&) = delete;
  ~AesCtr();

  /// To the counter high * 2^64 + low.
  void seek(std::uint64_t high, std::uint64_t low);
  /// The next bytes of the key stream.
  void fill(std::span<std::byte> out);

 private:
  evp_cipher_ctx_st* context_;
};

/// Prints `what` and aborts.
[[noreturn]] void die_without_randomness(const char* what);

}  // namespace sotto
