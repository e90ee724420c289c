// Ed25519 by OpenSSL. Keys come as PEM files, as the openssl program writes them; keys and
// signatures travel in hexadecimal.
#include "account/certificate/signing.h"

#include <openssl/pem.h>

#include <array>
#include <vector>

#include "base/file.h"
#include "base/openssl.h"
#include "sotto/certificate.h"

namespace sotto {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kLargestPem = 65536;

using Key = Owned<EVP_PKEY>;
using Context = Owned<EVP_MD_CTX>;

std::string to_hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// Of lower-case digits alone; nothing for any other text.
std::optional<std::vector<unsigned char>> from_hex(std::string_view text, std::size_t bytes) {
  if (text.size() != 2 * bytes) return std::nullopt;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<unsigned char> result;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    result.push_back(static_cast<unsigned char>(high << 4 | low));
  }
  return result;
}

Result<std::string> public_part(EVP_PKEY* key) {
  std::array<unsigned char, kKeyBytes> bytes{};
  std::size_t size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) != 1 || size != bytes.size()) {
    return fail(ErrorKind::kInternal, "OpenSSL gives no public key");
  }
  return to_hex(bytes);
}

/// A key that is locked by a passphrase is refused, and no terminal is asked for one.
int no_passphrase(char*, int, int, void*) { return -1; }

using ReadPem = EVP_PKEY* (*)(BIO*, EVP_PKEY**, pem_password_cb*, void*);

Result<Key> read_pem(const std::filesystem::path& path, ReadPem read, const std::string& demanded) {
  SOTTO_TRY(const std::string text, read_text(path, kLargestPem));
  const Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key(bio ? read(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_ED25519) {
    return fail(ErrorKind::kCorrupt, path.string() + ": not " + demanded);
  }
  return key;
}

}  // namespace

struct SigningKey::Pair {
  Key key;
};

Result<SigningKey> SigningKey::generate() {
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr));
  EVP_PKEY* made = nullptr;
  if (!context || EVP_PKEY_keygen_init(context.get()) != 1 ||
      EVP_PKEY_keygen(context.get(), &made) != 1) {
    return fail(ErrorKind::kInternal, "OpenSSL makes no Ed25519 key");
  }
  auto pair = std::make_shared<Pair>(Pair{Key(made)});
  SOTTO_TRY(std::string text, public_part(made));
  return SigningKey(std::move(pair), std::move(text));
}

Result<SigningKey> SigningKey::read(const std::filesystem::path& pem) {
  SOTTO_TRY(Key key, read_pem(pem, PEM_read_bio_PrivateKey,
                              "an Ed25519 private key without passphrase in PEM form, as "
                              "'openssl genpkey -algorithm ed25519 -out key.pem' writes it"));
  SOTTO_TRY(std::string text, public_part(key.get()));
  return SigningKey(std::make_shared<Pair>(Pair{std::move(key)}), std::move(text));
}

Result<std::string> SigningKey::sign(std::string_view message) const {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pair_->key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes, message.size()) != 1 ||
      size != signature.size()) {
    return fail(ErrorKind::kInternal, "OpenSSL does not sign");
  }
  return to_hex(signature);
}

Result<std::string> read_public_key(const std::filesystem::path& pem) {
  SOTTO_TRY(const Key key, read_pem(pem, PEM_read_bio_PUBKEY,
                                    "an Ed25519 public key in PEM form, as 'openssl pkey -in "
                                    "key.pem -pubout -out public.pem' writes it"));
  return public_part(key.get());
}

bool signature_holds(const std::string& public_key, const std::string& signature,
                     std::string_view message) {
  const auto raw = from_hex(public_key, kKeyBytes);
  const auto signed_with = from_hex(signature, kSignatureBytes);
  if (!raw || !signed_with) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw->data(), raw->size()));
  const Context context(EVP_MD_CTX_new());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signed_with->data(), signed_with->size(), bytes,
                          message.size()) == 1;
}

}  // namespace sotto
