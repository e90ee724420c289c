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
  command.add_option("--ca", authority, "certificate of the federation's authority")
      ->type_name("CA.pem");
  command.add_option("--cert", certificate, "this role's certificate")->type_name("CERT.pem");
  command.add_option("--key", key, "its private key")->type_name("KEY.pem");
  command.add_flag("--plain", plain, "no certificates: for one machine and for tests");
}

Result<rpc::Security> SecurityOptions::read() const {
  return rpc::read_security(authority, certificate, key, plain);
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
