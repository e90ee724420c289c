#include "rpc/seal.h"

#include <sodium.h>

#include <algorithm>

#include "base/file.h"

namespace sotto::rpc {
namespace {

static_assert(kSealBytes == crypto_box_SEALBYTES);
static_assert(sizeof(SealPublicKey) == crypto_box_PUBLICKEYBYTES);

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

Result<void> ready() {
  if (sodium_init() < 0) return fail(ErrorKind::kInternal, "libsodium does not start");
  return {};
}

}  // namespace

std::vector<std::byte> seal(std::span<const std::byte> message, const SealPublicKey& key) {
  std::vector<std::byte> sealed(message.size() + kSealBytes);
  crypto_box_seal(raw(sealed.data()), raw(message.data()), message.size(), raw(key.data()));
  return sealed;
}

Result<SealKey> SealKey::generate() {
  SOTTO_CHECK(ready());
  SealKey key;
  crypto_box_keypair(raw(key.public_.data()), raw(key.secret_.data()));
  return key;
}

Result<SealKey> SealKey::read_or_make(const std::filesystem::path& file) {
  SOTTO_CHECK(ready());
  if (!std::filesystem::exists(file)) {
    SOTTO_TRY(const SealKey key, generate());
    SOTTO_CHECK(write_file_atomically(file, key.secret_, Readers::kOwner));
    return key;
  }
  SOTTO_TRY(const std::vector<std::byte> bytes, read_file(file, 1024));
  SealKey key;
  if (bytes.size() != key.secret_.size()) {
    return fail(ErrorKind::kCorrupt, file.string() + ": not a sealing key: " +
                                         std::to_string(bytes.size()) + " bytes instead of 32");
  }
  std::ranges::copy(bytes, key.secret_.begin());
  crypto_scalarmult_base(raw(key.public_.data()), raw(key.secret_.data()));
  return key;
}

Result<std::vector<std::byte>> SealKey::open(std::span<const std::byte> sealed) const {
  if (sealed.size() < kSealBytes) return fail(ErrorKind::kCorrupt, "sealed chunk: too short");
  std::vector<std::byte> message(sealed.size() - kSealBytes);
  if (crypto_box_seal_open(raw(message.data()), raw(sealed.data()), sealed.size(),
                           raw(public_.data()), raw(secret_.data())) != 0) {
    return fail(ErrorKind::kCorrupt, "sealed chunk: not sealed to this server's key, or altered");
  }
  return message;
}

}  // namespace sotto::rpc
