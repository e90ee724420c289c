// Sealed boxes (libsodium's crypto_box_seal): whoever holds the public key can close one, only the
// holder of the secret key can open it, and nothing in it tells who closed it.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "sotto/result.h"

namespace sotto::rpc {

using SealPublicKey = std::array<std::byte, 32>;

/// Bytes that sealing adds to any message.
inline constexpr std::size_t kSealBytes = 48;

std::vector<std::byte> seal(std::span<const std::byte> message, const SealPublicKey& key);

class SealKey {
 public:
  /// The key in `file`; where there is none, a fresh one that is kept there, for its owner alone.
  static Result<SealKey> read_or_make(const std::filesystem::path& file);
  static Result<SealKey> generate();

  const SealPublicKey& public_key() const noexcept { return public_; }
  Result<std::vector<std::byte>> open(std::span<const std::byte> sealed) const;

 private:
  SealKey() = default;
  SealPublicKey public_{};
  std::array<std::byte, 32> secret_{};
};

}  // namespace sotto::rpc
