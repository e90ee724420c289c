// Who may say what to a role: every request of a client is checked here before it is read further.
//
// A client's message travels as bytes with a signature over exactly these bytes (v2::Signed). The
// gate asks the federation's authority about the certificate of the connection (is it ours, valid
// now, not revoked, a client's) and checks that its holder signed this message, for this recipient
// and method, and that it is here for the first time. Where connections are plain there is none of
// it, and a sender is who it says it is.
//
// The signature ends here. What a shuffler passes on carries nothing of it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "sotto/v2/federation.pb.h"
#include "transport/grpc/connections.h"
#include "transport/grpc/messages.h"
#include "transport/grpc/security.h"

namespace sotto::rpc {

/// What a signature says that it was made for.
namespace method {
inline constexpr const char* kJoin = "sotto.v2.Coordinator/Join";
inline constexpr const char* kPull = "sotto.v2.Coordinator/Pull";
inline constexpr const char* kDecline = "sotto.v2.Coordinator/Decline";
inline constexpr const char* kSubmit = "sotto.v2.Coordinator/Submit";
inline constexpr const char* kRelay = "sotto.v2.Relay/Submit";
inline constexpr const char* kCompare = "sotto.v2.Relay/Compare";
}  // namespace method

class Gate {
 public:
  /// Remembers requests in `memory`, so that none is taken twice, also after a restart; of plain
  /// connections nothing. Tells `connections` whose calls are admitted.
  static Result<Gate> open(const Security& security, const std::filesystem::path& memory,
                           std::shared_ptr<Connections> connections);

  /// The message that a client sent, if it may. `Message` has a name and is one of
  /// proto/sotto/v2's requests.
  template <class Message>
  Result<Message> admit(grpc::ServerContext& context, const char* method,
                        const v2::Signed& request) {
    SOTTO_CHECK(check_known(request));
    Message message;
    if (!message.ParseFromString(request.body())) {
      return fail(ErrorKind::kCorrupt, "message: the signed body is not of its kind");
    }
    SOTTO_CHECK(check_known(message));
    SOTTO_CHECK(check_sender(context, method, request, message.name()));
    return message;
  }
  /// Whether nothing is signed here.
  bool plain_connections() const noexcept { return security_.plain(); }
  /// Whether the other side of this connection is a node of the federation with this role, not
  /// revoked: asked before anything that it sends is read.
  Result<void> check_member(const grpc::ServerContext& context, identity::Role role) const;

 private:
  Gate(Security security, identity::ReplayGuard guard, std::shared_ptr<Connections> connections)
      : security_(std::move(security)),
        guard_(std::move(guard)),
        connections_(std::move(connections)) {}
  Result<void> check_role(const std::string& certificate, identity::Role role) const;
  Result<void> check_sender(grpc::ServerContext& context, const char* method,
                            const v2::Signed& request, const std::string& name);

  Security security_;
  identity::ReplayGuard guard_;
  std::shared_ptr<Connections> connections_;
};

/// The other side's certificate (PEM); empty where connections are plain.
std::string certificate_of(const grpc::ServerContext& context);
std::string certificate_of(const grpc::AuthContext& context);

/// The message as a client sends it to the node `audience`, as the request of this number; unsigned
/// where connections are plain.
v2::Signed sign(const Security& security, const std::string& audience, const char* method,
                const std::string& name, const google::protobuf::Message& message,
                std::uint64_t number);
/// After a call that failed: whether the recipient says that the number of the request was not
/// above those that it knows. The next numbers are, and the request is worth signing anew.
bool told_behind(const grpc::ClientContext& context, identity::RequestNumbers& numbers);

}  // namespace sotto::rpc
