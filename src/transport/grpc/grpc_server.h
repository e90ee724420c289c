// The server's network: puts a Coordinator on a port. No type of the RPC library is seen outside.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "server/coordinator/coordinator.h"
#include "transport/grpc/security.h"

namespace sotto::rpc {

class Server {
 public:
  /// `coordinator` must outlive it. `memory`: a file that remembers which requests were taken; not
  /// used where connections are plain.
  static Result<std::unique_ptr<Server>> start(const std::string& listen, const Security& security,
                                               const std::filesystem::path& memory,
                                               Coordinator& coordinator);
  ~Server();
  const std::string& address() const noexcept { return address_; }

 private:
  struct Parts;
  Server();
  std::unique_ptr<Parts> parts_;
  std::string address_;
};

}  // namespace sotto::rpc
