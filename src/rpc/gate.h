// Who may say what to a role: every request of a client is checked here before it is read further.
//
// A client's message travels as bytes with a signature over exactly these bytes (v1::Signed). The
// gate asks the federation's authority about the certificate of the connection (is it ours, valid
// now, not revoked, a client's) and checks that its holder signed this message, for this recipient
// and method, now and for the first time. Where connections are plain there is none of it, and a
// sender is who it says it is.
//
// The signature ends here. What a shuffler passes on carries nothing of it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "rpc/messages.h"
#include "rpc/security.h"
#include "sotto/v1/federation.pb.h"

namespace sotto::rpc {

/// What a signature says that it was made for.
namespace method {
inline constexpr const char* kJoin = "sotto.v1.Coordinator/Join";
inline constexpr const char* kPull = "sotto.v1.Coordinator/Pull";
inline constexpr const char* kDecline = "sotto.v1.Coordinator/Decline";
inline constexpr const char* kSubmit = "sotto.v1.Coordinator/Submit";
inline constexpr const char* kRelay = "sotto.v1.Relay/Submit";
}  // namespace method

class Gate {
 public:
  /// Remembers requests in `memory`, so that none is taken twice, also after a restart.
  static Result<Gate> open(const Security& security, const std::filesystem::path& memory);
  /// For plain connections, which nothing is remembered of.
  static Gate plain() { return Gate(Security{}, identity::ReplayGuard::in_memory()); }

  /// The message that a client sent, if it may. `Message` has a name and is one of
  /// proto/sotto/v1's requests.
  template <class Message>
  Result<Message> admit(const grpc::ServerContext& context, const char* method,
                        const v1::Signed& request) {
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
  /// Whether the other side of this connection is a shuffler of the federation.
  Result<void> admit_shuffler(const grpc::ServerContext& context) const;

 private:
  Gate(Security security, identity::ReplayGuard guard)
      : security_(std::move(security)), guard_(std::move(guard)) {}
  Result<void> check_sender(const grpc::ServerContext& context, const char* method,
                            const v1::Signed& request, const std::string& name);

  Security security_;
  identity::ReplayGuard guard_;
};

/// The other side's certificate (PEM); empty where connections are plain.
std::string certificate_of(const grpc::ServerContext& context);

/// The message as a client sends it to the node `audience`; unsigned where connections are plain.
v1::Signed sign(const Security& security, const std::string& audience, const char* method,
                const std::string& name, const google::protobuf::Message& message);

}  // namespace sotto::rpc
