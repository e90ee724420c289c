// Keys of Curve25519 as certificates, sealed chunks and secure aggregation hold them.
#pragma once

#include <array>
#include <cstddef>

namespace sotto {

/// Of Ed25519 (signing) or X25519 (agreeing on a shared key).
using PublicKey = std::array<unsigned char, 32>;

/// Key material that is wiped when it goes out of scope. It has no way to text.
template <std::size_t Bytes>
class Secret {
 public:
  Secret() = default;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() {
    volatile unsigned char* const bytes = bytes_.data();
    for (std::size_t i = 0; i < Bytes; ++i) bytes[i] = 0;
  }
  unsigned char* data() noexcept { return bytes_.data(); }
  const unsigned char* data() const noexcept { return bytes_.data(); }
  static constexpr std::size_t size() noexcept { return Bytes; }
  /// Takes the same time wherever two secrets differ.
  bool operator==(const Secret& other) const noexcept {
    unsigned char difference = 0;
    for (std::size_t i = 0; i < Bytes; ++i) {
      difference |= static_cast<unsigned char>(bytes_[i] ^ other.bytes_[i]);
    }
    return difference == 0;
  }

 private:
  std::array<unsigned char, Bytes> bytes_{};
};

}  // namespace sotto
