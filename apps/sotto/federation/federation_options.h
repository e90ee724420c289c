// What the three roles of a federation have in common on the command line.
#pragma once

#include <atomic>
#include <string>

#include "command.h"
#include "transport/grpc/security.h"

namespace sotto::cli {

struct SecurityOptions {
  std::string bundle;
  bool plain = false;

  void add_to(CLI::App& command);
  Result<rpc::Security> read(identity::Role role) const;
};

/// "mutual TLS as 'server'", "plain connections".
std::string shown(const rpc::Security& security);

/// Set by SIGINT and SIGTERM from the first call on: the role ends what it is at and returns. A
/// second signal ends the process at once.
const std::atomic<bool>& stop_requested();

}  // namespace sotto::cli
