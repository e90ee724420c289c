// How a role proves who it is: its bundle from `sotto keys`, and the authority that everybody
// trusts. Without one connections are plain, for one machine and for tests.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sotto/identity.h"

namespace sotto::rpc {

struct Security {
  std::optional<identity::Bundle> bundle;  // nothing: plain connections
  std::optional<identity::Trust> trust;    // of the bundle's authority

  bool plain() const { return !bundle.has_value(); }
};

/// The bundle of a node with this role, or `plain` and none.
Result<Security> read_security(const std::filesystem::path& bundle, identity::Role role,
                               bool plain);

/// What tells the federation's authority from every other: SHA-256 of its certificate, in hex;
/// empty where connections are plain.
std::string authority_of(const Security& security);

/// The key that opens what clients seal: that of the bundle. Where connections are plain, one that
/// is kept in `file` and made when it is not there.
Result<identity::SealKey> seal_key_of(const Security& security, const std::filesystem::path& file);

}  // namespace sotto::rpc
