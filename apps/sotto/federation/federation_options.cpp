#include "federation_options.h"

#include <unistd.h>

#include <csignal>

namespace sotto::cli {
namespace {

std::atomic<bool> stop{false};

/// The first one asks; whoever sends a second does not want to wait. What must last is on disk.
extern "C" void on_stop(int number) {
  if (stop.exchange(true)) _exit(128 + number);
}

}  // namespace

void SecurityOptions::add_to(CLI::App& command) {
  command.add_option("--identity", bundle, "this node's bundle, from 'sotto keys init' or 'issue'")
      ->type_name("FOLDER");
  command.add_flag("--plain", plain, "no certificates: for one machine and for tests");
}

Result<rpc::Security> SecurityOptions::read(identity::Role role) const {
  return rpc::read_security(bundle, role, plain);
}

std::string shown(const rpc::Security& security) {
  return security.plain() ? "plain connections"
                          : "mutual TLS as '" + security.bundle->self.name + "'";
}

const std::atomic<bool>& stop_requested() {
  static const bool installed = [] {
    std::signal(SIGINT, on_stop);
    std::signal(SIGTERM, on_stop);
    return true;
  }();
  (void)installed;
  return stop;
}

}  // namespace sotto::cli
