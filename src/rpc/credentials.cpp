#include "rpc/credentials.h"

#include "base/file.h"
#include "rpc/messages.h"

namespace sotto::rpc {

Result<Security> read_security(const std::filesystem::path& authority,
                               const std::filesystem::path& certificate,
                               const std::filesystem::path& key, bool plain) {
  const int given = (authority.empty() ? 0 : 1) + (certificate.empty() ? 0 : 1) + !key.empty();
  if (plain && given > 0) {
    return fail(ErrorKind::kUsage, "--plain: there is no use for certificates then");
  }
  if (plain) return Security{};
  if (given < 3) {
    return fail(ErrorKind::kUsage,
                "certificates are needed: --ca CA.pem --cert CERT.pem --key KEY.pem, or --plain "
                "for connections that anybody can read and join");
  }
  Security security;
  SOTTO_TRY(security.authority, read_text(authority));
  SOTTO_TRY(security.certificate, read_text(certificate));
  SOTTO_TRY(security.key, read_text(key));
  if (security.authority.empty()) {
    return fail(ErrorKind::kCorrupt, authority.string() + ": is empty");
  }
  return security;
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security& security) {
  if (security.plain()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = security.authority;
  options.pem_key_cert_pairs = {{security.key, security.certificate}};
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::Channel> connect(const std::string& address, const Security& security) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kLongestMessage));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // This one is also how long a handshake may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  if (security.plain()) {
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = security.authority;
  options.pem_private_key = security.key;
  options.pem_cert_chain = security.certificate;
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

Result<std::string> peer_name(const grpc::ServerContext& context, const Security& security,
                              const std::string& claimed) {
  if (security.plain()) return claimed;
  const auto names = context.auth_context()->FindPropertyValues("x509_common_name");
  if (names.size() != 1) {
    return fail(ErrorKind::kRefused, "a certificate with one common name is needed");
  }
  std::string name(names.front().data(), names.front().size());
  if (name != claimed) {
    return fail(ErrorKind::kRefused,
                "the certificate is of '" + name + "', not of '" + claimed + "'");
  }
  return name;
}

Result<std::unique_ptr<grpc::Server>> listen(const std::string& address, const Security& security,
                                             std::initializer_list<grpc::Service*> services,
                                             std::string& bound_address) {
  // What a stranger sends must not fill our log; every refusal is answered and told by us.
  google::protobuf::SetLogHandler(nullptr);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, server_credentials(security), &port);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kLongestMessage));
  // Two servers on one port would share the clients between them.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  for (grpc::Service* const service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return fail(ErrorKind::kIo, "cannot listen on " + address +
                                    ": is it in use, or are certificate and key not a pair?");
  }
  bound_address = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  return server;
}

}  // namespace sotto::rpc
