#include "transport/grpc/security.h"

#include <algorithm>

#include "base/file.h"
#include "base/sha256.h"
#include "identity/key_files.h"

namespace sotto::rpc {

std::string authority_of(const Security& security) {
  if (security.plain()) return "";
  // How lines are broken does not make another authority.
  std::string pem = security.bundle->ca_pem;
  std::erase_if(pem, [](unsigned char c) { return c <= ' '; });
  return sha256_hex(pem);
}

Result<Security> read_security(const std::filesystem::path& bundle, identity::Role role,
                               bool plain) {
  if (plain && !bundle.empty()) {
    return fail(ErrorKind::kUsage, "--plain: there is no use for --identity then");
  }
  if (plain) return Security{};
  if (bundle.empty()) {
    return fail(ErrorKind::kUsage,
                "who is this " + std::string(identity::name_of(role)) +
                    "? --identity FOLDER is its bundle from 'sotto keys init'; --plain is for "
                    "connections that anybody can read and join");
  }
  Security security;
  SOTTO_TRY(security.bundle, identity::Bundle::read(bundle, role));
  SOTTO_TRY(security.trust, security.bundle->trust());
  return security;
}

Result<identity::SealKey> seal_key_of(const Security& security, const std::filesystem::path& file) {
  if (!security.plain()) return *security.bundle->seal_key;
  if (!std::filesystem::exists(file)) {
    const identity::SealKey key = identity::SealKey::generate();
    SOTTO_CHECK(write_file_atomically(file, identity::seal_key_text(key), Readers::kOwner));
    return key;
  }
  SOTTO_TRY(const std::string text, identity::read_private(file));
  return identity::parse_seal_key(text, file.string());
}

}  // namespace sotto::rpc
