// Mutual TLS for gRPC: both ends show a certificate of the federation's authority.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "rpc/security.h"

namespace sotto::rpc {

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security& security);

/// A channel to "host:port", whose certificate must name that host.
std::shared_ptr<grpc::Channel> connect(const std::string& address, const Security& security);

/// What the peer's certificate calls it. Where connections are plain: `claimed`.
Result<std::string> peer_name(const grpc::ServerContext& context, const Security& security,
                              const std::string& claimed);

/// The name that a shuffler's certificate has.
inline constexpr const char* kShufflerName = "shuffler";

/// A listening server: messages no longer than any that the protocol has.
Result<std::unique_ptr<grpc::Server>> listen(const std::string& address, const Security& security,
                                             std::initializer_list<grpc::Service*> services,
                                             std::string& bound_address);

}  // namespace sotto::rpc
