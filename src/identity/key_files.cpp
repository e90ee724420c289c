#include "identity/key_files.h"

#include <sodium.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/file.h"

namespace sotto::identity {
namespace {

constexpr std::string_view kSignWord = "ed25519-seed:";
constexpr std::string_view kSealWord = "x25519-secret:";
constexpr std::string_view kServerWord = "x25519-public:";
constexpr std::size_t kLargestFile = 65536;

static_assert(crypto_sign_SECRETKEYBYTES == 64);
static_assert(crypto_sign_PUBLICKEYBYTES == 32);
static_assert(crypto_sign_SEEDBYTES == 32);
static_assert(crypto_box_SECRETKEYBYTES == 32);
static_assert(crypto_box_PUBLICKEYBYTES == 32);

std::string hex_text(const unsigned char* bytes) {
  std::string text(64, '\0');
  std::array<char, 65> digits{};
  sodium_bin2hex(digits.data(), digits.size(), bytes, 32);
  text.assign(digits.data(), 64);
  sodium_memzero(digits.data(), digits.size());
  return text;
}

/// Of 64 lower-case digits and nothing else.
bool read_hex(std::string_view text, unsigned char* bytes) {
  if (text.size() != 64) return false;
  for (const char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return sodium_hex2bin(bytes, 32, text.data(), text.size(), nullptr, nullptr, nullptr) == 0;
}

Result<void> read_line(std::string_view text, std::string_view word, const std::string& place,
                       unsigned char* bytes) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.starts_with(word) && read_hex(text.substr(word.size()), bytes)) return {};
  return fail(ErrorKind::kCorrupt,
              place + ": must be one line: '" + std::string(word) + "' and 64 hexadecimal digits");
}

}  // namespace

void sodium_ready() {
  static const bool kReady = sodium_init() >= 0;
  if (!kReady) std::abort();
}

std::string to_hex(const PublicKey& key) { return hex_text(key.data()); }

Result<PublicKey> key_from_hex(std::string_view text) {
  PublicKey key{};
  if (read_hex(text, key.data())) return key;
  return fail(ErrorKind::kUsage, "a public key must be 64 hexadecimal digits (0-9, a-f)");
}

SignKey SignKey::generate() {
  sodium_ready();
  SignKey key;
  crypto_sign_keypair(key.public_key.data(), key.secret.data());
  return key;
}

SealKey SealKey::generate() {
  sodium_ready();
  SealKey key;
  crypto_box_keypair(key.public_key.data(), key.secret.data());
  return key;
}

std::string sign_key_text(const SignKey& key) {
  // libsodium's secret key begins with the seed that all of it follows from.
  return std::string(kSignWord) + hex_text(key.secret.data()) + '\n';
}

std::string seal_key_text(const SealKey& key) {
  return std::string(kSealWord) + hex_text(key.secret.data()) + '\n';
}

std::string server_key_text(const PublicKey& key) {
  return std::string(kServerWord) + to_hex(key) + '\n';
}

Result<SignKey> parse_sign_key(std::string_view text, const std::string& place) {
  sodium_ready();
  Secret<32> seed;
  SOTTO_CHECK(read_line(text, kSignWord, place, seed.data()));
  SignKey key;
  crypto_sign_seed_keypair(key.public_key.data(), key.secret.data(), seed.data());
  return key;
}

Result<SealKey> parse_seal_key(std::string_view text, const std::string& place) {
  sodium_ready();
  SealKey key;
  SOTTO_CHECK(read_line(text, kSealWord, place, key.secret.data()));
  crypto_scalarmult_base(key.public_key.data(), key.secret.data());
  return key;
}

Result<PublicKey> parse_server_key(std::string_view text, const std::string& place) {
  PublicKey key{};
  SOTTO_CHECK(read_line(text, kServerWord, place, key.data()));
  return key;
}

Result<std::string> read_private(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(ErrorKind::kRefused, file.string() +
                                         ": others may read or write this private key; run: "
                                         "chmod 600 " +
                                         file.string());
  }
  return read_text(file, kLargestFile);
}

}  // namespace sotto::identity
