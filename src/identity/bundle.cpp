// A node's folder: read whole and checked, so that what starts has all it needs.
#include <openssl/err.h>

#include "base/file.h"
#include "identity/key_files.h"
#include "identity/x509.h"

namespace sotto::identity {
namespace {

Result<std::string> read_public(const std::filesystem::path& file) {
  SOTTO_CHECK(check_only_owner_writes(file, "this file of a bundle"));
  return read_text(file, kLargestPem);
}

tl::unexpected<Error> mixed(const std::filesystem::path& folder, const std::string& what) {
  return fail(ErrorKind::kCorrupt, folder.string() + ": " + what +
                                       "; copy the whole folder again from where "
                                       "'sotto keys' made it");
}

Result<void> check_key(const std::filesystem::path& folder, const std::string& certificate_pem,
                       const std::string& key_pem) {
  SOTTO_TRY(const auto certificate,
            certificate_from_pem(certificate_pem, (folder / "cert.pem").string()));
  SOTTO_TRY(const auto key, key_from_pem(key_pem, (folder / "key.pem").string()));
  const bool pair = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!pair) return mixed(folder, "key.pem is not the key of cert.pem");
  return {};
}

/// The server's own key, or the server's public key in another node's bundle.
Result<void> read_seal_keys(Bundle& bundle) {
  if (bundle.self.role != Role::kServer) {
    const auto file = bundle.folder / "server.pub";
    SOTTO_TRY(const std::string text, read_public(file));
    SOTTO_TRY(bundle.server_key, parse_server_key(text, file.string()));
    return {};
  }
  const auto file = bundle.folder / "seal.key";
  SOTTO_TRY(const std::string text, read_private(file));
  SOTTO_TRY(bundle.seal_key, parse_seal_key(text, file.string()));
  bundle.server_key = bundle.seal_key->public_key;
  if (bundle.server_key != bundle.self.seal_key) {
    return mixed(bundle.folder, "seal.key is not the one that cert.pem names");
  }
  return {};
}

}  // namespace

Result<Bundle> Bundle::read(const std::filesystem::path& folder, Role role, Time at) {
  std::error_code code;
  if (!std::filesystem::is_directory(folder, code)) {
    return fail(ErrorKind::kNotFound, folder.string() +
                                          ": no such folder; 'sotto keys init' makes one for "
                                          "every node");
  }
  SOTTO_CHECK(check_only_owner_writes(folder, "this bundle"));
  Bundle bundle;
  bundle.folder = folder;
  SOTTO_TRY(bundle.ca_pem, read_public(bundle.ca_file()));
  SOTTO_TRY(bundle.certificate_pem, read_public(folder / "cert.pem"));
  SOTTO_TRY(bundle.key_pem, read_private(folder / "key.pem"));
  SOTTO_TRY(const Trust trust, bundle.trust());
  auto self = trust.identify(bundle.certificate_pem, at);
  if (!self) {
    Error error = self.error().error();
    if (self.error().fault == Fault::kExpired || self.error().fault == Fault::kRevoked) {
      error.message += "; 'sotto keys issue' makes a new one";
    }
    return sotto::at((folder / "cert.pem").string(), error);
  }
  bundle.self = std::move(*self);
  if (bundle.self.role != role) {
    return fail(ErrorKind::kUsage, folder.string() + ": the bundle of a " +
                                       std::string(name_of(bundle.self.role)) + " ('" +
                                       bundle.self.name + "'); this needs that of a " +
                                       std::string(name_of(role)));
  }
  SOTTO_CHECK(check_key(folder, bundle.certificate_pem, bundle.key_pem));
  SOTTO_TRY(const std::string sign, read_private(folder / "sign.key"));
  SOTTO_TRY(bundle.sign_key, parse_sign_key(sign, (folder / "sign.key").string()));
  if (bundle.sign_key.public_key != bundle.self.sign_key) {
    return mixed(folder, "sign.key is not the one that cert.pem names");
  }
  SOTTO_CHECK(read_seal_keys(bundle));
  return bundle;
}

}  // namespace sotto::identity
