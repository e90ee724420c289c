// Certificates, lists, keys and the one-line key files, read by themselves: what is accepted is
// within its bounds and can be written again.
#include "identity/key_files.h"
#include "identity/x509.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const std::string_view text = as_text(fuzz::input(data, size));
  if (const auto certificate = identity::certificate_from_pem(text, "f")) {
    fuzz::require(!identity::to_pem(certificate->get()).empty());
    if (const auto member = identity::member_of(certificate->get(), "f")) {
      fuzz::require(!member->name.empty() && member->name.size() <= 64);
      fuzz::require(member->seal_key.has_value() == (member->role == identity::Role::kServer));
    }
  }
  if (const auto list = identity::revoked_from_pem(text, "f")) {
    fuzz::require(!identity::to_pem(list->get()).empty());
  }
  static_cast<void>(identity::key_from_pem(text, "f"));
  if (const auto key = identity::parse_sign_key(text, "f")) {
    fuzz::require(text.starts_with(identity::sign_key_text(*key).substr(0, 77)));
  }
  if (const auto key = identity::parse_seal_key(text, "f")) {
    fuzz::require(text.starts_with(identity::seal_key_text(*key).substr(0, 78)));
  }
  if (const auto key = identity::parse_server_key(text, "f")) {
    fuzz::require(text.starts_with(identity::server_key_text(*key).substr(0, 78)));
  }
  return 0;
}
