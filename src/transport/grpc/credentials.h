// Mutual TLS for gRPC: both ends show a certificate of the federation's authority, and who dials
// accepts only a node of the role that it means to talk to.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "transport/grpc/door.h"
#include "transport/grpc/security.h"

namespace sotto::rpc {

/// What the last handshake of a channel said of the other side. For several threads at once.
class Peer {
 public:
  void accept(const std::string& name);
  void refuse(const std::string& reason);
  std::string name() const;
  /// Why the last handshake was refused; empty where it was not.
  std::string refusal() const;

 private:
  mutable std::mutex mutex_;
  std::string name_;
  std::string refusal_;
};

/// A way to "host:port". The certificate there must be of the federation, not revoked, of `role`,
/// and name that host; a server must also own the key that this node seals for.
class Line {
 public:
  Line(std::string address, const Security& security, identity::Role role);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& address() const { return address_; }
  /// Of the requests that are signed for the other side.
  identity::RequestNumbers& numbers() const { return *numbers_; }
  /// The name in the other side's certificate, once connected; empty where connections are plain.
  /// kIo: nobody answers. kRefused: this node's own certificate is no longer one of the federation.
  /// kCorrupt: somebody else answers, and trying again is of no use.
  Result<std::string> peer_name(double seconds) const;

 private:
  /// Whether this node's own certificate is the reason that nobody answers.
  Result<void> check_self() const;

  std::string address_;
  Security security_;
  std::shared_ptr<Peer> peer_;
  std::unique_ptr<identity::RequestNumbers> numbers_;
  std::shared_ptr<grpc::Channel> channel_;
};

/// A listening server that takes no compressed message, and whose unread bytes are bounded for each
/// call, for each connection and for all together; so are connections, and calls a second of each
/// certificate.
class Listener {
 public:
  /// `connections`: where the gate says which of them are a member's.
  static Result<std::unique_ptr<Listener>> start(const std::string& address,
                                                 const Security& security,
                                                 std::initializer_list<grpc::Service*> services,
                                                 std::shared_ptr<Connections> connections);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  /// Gives calls a second to end.
  ~Listener();
  /// Where it can be reached: with the port that it got.
  const std::string& address() const noexcept { return address_; }

 private:
  Listener() = default;
  std::string address_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sotto::rpc
