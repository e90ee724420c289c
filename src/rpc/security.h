// How a role proves who it is: certificate and key of its own, and the authority that everybody
// trusts. Without them connections are plain, for one machine and for tests.
#pragma once

#include <filesystem>
#include <string>

#include "sotto/result.h"

namespace sotto::rpc {

struct Security {
  std::string authority;    // PEM; empty: plain connections
  std::string certificate;  // PEM
  std::string key;          // PEM

  bool plain() const { return authority.empty(); }
};

/// All three files, or `plain` and none. `role` names the command in errors.
Result<Security> read_security(const std::filesystem::path& authority,
                               const std::filesystem::path& certificate,
                               const std::filesystem::path& key, bool plain);

}  // namespace sotto::rpc
