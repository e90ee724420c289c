#include "transport/grpc/gate.h"

#include <charconv>

#include "server/coordinator/roster.h"

namespace sotto::rpc {
namespace {

/// In the trailer of a refusal: the largest number of the client's requests that was here.
constexpr const char* kLargestNumber = "sotto-largest-number";

identity::RequestFacts facts_of(const std::string& audience, const char* method,
                                const std::string& name) {
  // Round and recipe stand in the body, which is covered whole.
  return {audience, method, name, 0, ""};
}

tl::unexpected<Error> refused(const identity::Refusal& refusal) {
  Error error = refusal.error();
  error.message = std::string(identity::name_of(refusal.fault)) + ": " + error.message;
  return tl::unexpected(error);
}

}  // namespace

std::string certificate_of(const grpc::ServerContext& context) {
  return certificate_of(*context.auth_context());
}

std::string certificate_of(const grpc::AuthContext& context) {
  const auto pem = context.FindPropertyValues("x509_pem_cert");
  return pem.size() == 1 ? std::string(pem.front().data(), pem.front().size()) : std::string();
}

Result<Gate> Gate::open(const Security& security, const std::filesystem::path& memory,
                        std::shared_ptr<Connections> connections) {
  if (security.plain()) {
    return Gate(security, identity::ReplayGuard::in_memory(), std::move(connections));
  }
  SOTTO_TRY(identity::ReplayGuard guard, identity::ReplayGuard::open(memory));
  return Gate(security, std::move(guard), std::move(connections));
}

Result<void> Gate::check_member(const grpc::ServerContext& context, identity::Role role) const {
  const std::string certificate = certificate_of(context);
  Result<void> known = check_role(certificate, role);
  if (known) {
    connections_->admit(context.peer(), certificate);
  } else {
    connections_->refuse(context.peer(), certificate);
  }
  return known;
}

Result<void> Gate::check_role(const std::string& certificate, identity::Role role) const {
  if (security_.plain()) return {};
  const auto member = security_.trust->identify(certificate);
  if (!member) return refused(member.error());
  if (member->role == role) return {};
  return refused({identity::Fault::kWrongRole,
                  "'" + member->name + "' is a " + std::string(identity::name_of(member->role)) +
                      ", not a " + std::string(identity::name_of(role))});
}

Result<void> Gate::check_sender(grpc::ServerContext& context, const char* method,
                                const v2::Signed& request, const std::string& name) {
  SOTTO_CHECK(check_name(name));
  if (security_.plain()) return {};
  const std::string& token = request.token();
  const auto member = identity::verify_request(
      *security_.trust, guard_, identity::Role::kClient, certificate_of(context),
      std::span(reinterpret_cast<const unsigned char*>(token.data()), token.size()),
      facts_of(security_.bundle->self.name, method, name), as_span(request.body()));
  if (member) return {};
  const identity::Fault fault = member.error().fault;
  if (fault == identity::Fault::kBehind || fault == identity::Fault::kDuplicate) {
    // Its signature was genuine, so this goes to the client itself, which signs anew above.
    context.AddTrailingMetadata(kLargestNumber, std::to_string(guard_.largest(name)));
  }
  return refused(member.error());
}

bool told_behind(const grpc::ClientContext& context, identity::RequestNumbers& numbers) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(kLargestNumber);
  if (found == trailers.end()) return false;
  std::uint64_t largest = 0;
  const char* const begin = found->second.data();
  const char* const end = begin + found->second.size();
  const auto [rest, code] = std::from_chars(begin, end, largest);
  return code == std::errc() && rest == end && numbers.jump_beyond(largest);
}

v2::Signed sign(const Security& security, const std::string& audience, const char* method,
                const std::string& name, const google::protobuf::Message& message,
                std::uint64_t number) {
  v2::Signed request;
  request.set_body(message.SerializeAsString());
  if (security.plain()) return request;
  const identity::Token token = identity::sign_request(
      security.bundle->sign_key, facts_of(audience, method, name), as_span(request.body()), number);
  request.set_token(token.data(), token.size());
  return request;
}

}  // namespace sotto::rpc
