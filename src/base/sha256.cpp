#include "base/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

namespace sotto {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest, &size);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

Result<std::string> sha256_file(const std::filesystem::path& path) {
  std::error_code code;
  const auto there = std::filesystem::status(path, code);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return fail(ErrorKind::kIo, path.string() + ": not a regular file");  // a pipe has no end
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::kNotFound, path.string() + ": cannot be opened");
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(file.gcount()))));
  }
  if (file.bad()) return fail(ErrorKind::kIo, path.string() + ": read error");
  return hash.hex();
}

}  // namespace sotto
