#include "rpc/gate.h"

#include "rpc/roster.h"

namespace sotto::rpc {
namespace {

/// Clients ask for their tasks several times a second, and what they ask is remembered.
constexpr std::size_t kRequestsOfAClient = 1U << 13;
constexpr std::size_t kRequestsOfAll = std::size_t{1} << 21;

identity::RequestFacts facts_of(const std::string& audience, const char* method,
                                const std::string& name) {
  // Round and recipe stand in the body, which is covered whole.
  return {audience, method, name, 0, ""};
}

tl::unexpected<Error> refused(const identity::Refusal& refusal) {
  Error error = refusal.error();
  // Too many now may be few enough later.
  if (refusal.fault == identity::Fault::kTooMany) error.kind = ErrorKind::kIo;
  error.message = std::string(identity::name_of(refusal.fault)) + ": " + error.message;
  return tl::unexpected(error);
}

}  // namespace

std::string certificate_of(const grpc::ServerContext& context) {
  const auto pem = context.auth_context()->FindPropertyValues("x509_pem_cert");
  return pem.size() == 1 ? std::string(pem.front().data(), pem.front().size()) : std::string();
}

Result<Gate> Gate::open(const Security& security, const std::filesystem::path& memory) {
  if (security.plain()) return plain();
  identity::ReplayGuard::Options options;
  options.per_client = kRequestsOfAClient;
  options.capacity = kRequestsOfAll;
  SOTTO_TRY(identity::ReplayGuard guard, identity::ReplayGuard::open(memory, options));
  return Gate(security, std::move(guard));
}

Result<void> Gate::check_sender(const grpc::ServerContext& context, const char* method,
                                const v1::Signed& request, const std::string& name) {
  SOTTO_CHECK(check_name(name));
  if (security_.plain()) return {};
  const std::string& token = request.token();
  const auto member = identity::verify_request(
      *security_.trust, guard_, identity::Role::kClient, certificate_of(context),
      std::span(reinterpret_cast<const unsigned char*>(token.data()), token.size()),
      facts_of(security_.bundle->self.name, method, name), as_span(request.body()));
  if (!member) return refused(member.error());
  return {};
}

Result<void> Gate::admit_shuffler(const grpc::ServerContext& context) const {
  if (security_.plain()) return {};
  const auto member = security_.trust->identify(certificate_of(context));
  if (!member) return refused(member.error());
  if (member->role == identity::Role::kShuffler) return {};
  return refused({identity::Fault::kWrongRole, "'" + member->name + "' is a " +
                                                   std::string(identity::name_of(member->role)) +
                                                   ", not a shuffler"});
}

v1::Signed sign(const Security& security, const std::string& audience, const char* method,
                const std::string& name, const google::protobuf::Message& message) {
  v1::Signed request;
  request.set_body(message.SerializeAsString());
  if (security.plain()) return request;
  const identity::Token token = identity::sign_request(
      security.bundle->sign_key, facts_of(audience, method, name), as_span(request.body()));
  request.set_token(token.data(), token.size());
  return request;
}

}  // namespace sotto::rpc
