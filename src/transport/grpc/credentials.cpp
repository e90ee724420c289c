#include "transport/grpc/credentials.h"

#include <grpc/support/log.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <chrono>

#include "server/coordinator/turnstile.h"
#include "transport/grpc/call_rate.h"
#include "transport/grpc/gate.h"
#include "transport/grpc/messages.h"

namespace sotto::rpc {
namespace {

namespace tls = grpc::experimental;

/// A connection that is cut without a word is noticed after one interval and one timeout.
constexpr int kKeepaliveMs = 15000;
constexpr int kKeepaliveTimeoutMs = 10000;
/// Calls at once, of all clients: each has a thread. Who comes then gets RESOURCE_EXHAUSTED.
constexpr int kMostCalls = 2048;
/// Calls at once on one connection; the other side's library keeps the rest back.
constexpr int kCallsOfAConnection = 16;
/// Threads of each queue that wait for the next call instead of ending: making one for each call
/// takes as long as opening a small report.
constexpr int kIdleThreads = 16;
/// Bytes that have arrived for all calls of a server and were not read yet. Beyond it the library
/// ends calls; reports that keep to the turnstile's limits stay below.
constexpr std::size_t kServerBytes = std::size_t{512} << 20;
/// The same at a node that dials, for one connection.
constexpr std::size_t kClientBytes = std::size_t{128} << 20;
/// No answer is longer: weights come in pieces.
constexpr int kLongestAnswer = 4 << 20;
/// How long a handshake may take, and how long a connection without a call is kept. Clients that
/// train for longer dial again when they have something to say.
constexpr int kHandshakeMs = 20000;
constexpr int kIdleMs = 60 * 1000;
/// How long calls may go on when a server ends.
constexpr std::chrono::seconds kFarewell{1};
/// While a connection is waited for, how often to look whether it was refused.
constexpr std::chrono::milliseconds kLook{100};

/// What the library would print of every failed handshake, its own words and clock included, we say
/// ourselves, once.
void silence_library() {
  static const bool silent = [] {
    gpr_set_log_function([](gpr_log_func_args*) {});
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  (void)silent;
}

/// No side sends compressed messages, and whoever receives one does not unpack it: a few megabytes
/// would become gigabytes before anybody could look at their length. Nor do windows grow with the
/// speed of a connection: what is not read stays small.
template <class Set>
void refuse_expansion(Set&& set) {
  set(GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM, GRPC_COMPRESS_NONE);
  set(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

std::string text_of(const grpc::string_ref& text) { return {text.data(), text.size()}; }

/// Looks at the certificate of the side that was dialled, before anything is said to it.
class RoleVerifier final : public tls::ExternalCertificateVerifier {
 public:
  RoleVerifier(const Security& security, identity::Role role, std::shared_ptr<Peer> peer)
      : trust_(*security.trust),
        server_key_(security.bundle->server_key),
        role_(role),
        peer_(std::move(peer)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const Result<std::string> name = check(*request);
    if (name) {
      peer_->accept(*name);
      *status = grpc::Status::OK;
    } else {
      peer_->refuse(name.error().message);
      *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, name.error().message);
    }
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  Result<std::string> check(tls::TlsCustomVerificationCheckRequest& request) {
    const auto refuse = [](identity::Fault fault, const std::string& what) {
      return fail(ErrorKind::kRefused, std::string(identity::name_of(fault)) + ": " + what);
    };
    const auto member = trust_.identify(text_of(request.peer_cert()));
    if (!member) return refuse(member.error().fault, member.error().message);
    if (member->role != role_) {
      return refuse(identity::Fault::kWrongRole,
                    "'" + member->name + "' is a " + std::string(identity::name_of(member->role)) +
                        ", not a " + std::string(identity::name_of(role_)));
    }
    if (role_ == identity::Role::kServer && member->seal_key != server_key_) {
      return refuse(
          identity::Fault::kForeign,
          "'" + member->name + "' has another sealing key than server.pub of this bundle");
    }
    grpc::Status host;
    if (!hosts_.Verify(
            &request, [](const grpc::Status&) {}, &host) ||
        !host.ok()) {
      return refuse(identity::Fault::kForeign, "the certificate of '" + member->name +
                                                   "' does not name the host that was dialled, " +
                                                   text_of(request.target_name()));
    }
    return member->name;
  }

  identity::Trust trust_;
  PublicKey server_key_;
  identity::Role role_;
  std::shared_ptr<Peer> peer_;
  tls::HostNameCertificateVerifier hosts_;
};

/// Turns the calls of a sender that begins too many away in the transport itself, before they have
/// a place in any queue.
class CallGuard final : public grpc::AuthMetadataProcessor {
 public:
  explicit CallGuard(std::shared_ptr<Connections> connections)
      : connections_(std::move(connections)) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata&, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const std::string certificate = certificate_of(*context);
    const CallRate::Verdict verdict = rate_.call(certificate);
    if (verdict == CallRate::Verdict::kLetIn) return grpc::Status::OK;
    if (verdict == CallRate::Verdict::kEndConnections) connections_->end_all_of(certificate);
    return to_status(busy("too many calls a second"));
  }

 private:
  std::shared_ptr<Connections> connections_;
  CallRate rate_;
};

/// Plain connections have no certificates to tell senders apart, and the library looks at none of
/// their calls before it queues them.
std::shared_ptr<grpc::ServerCredentials> server_credentials(
    const Security& security, const std::shared_ptr<Connections>& connections) {
  if (security.plain()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = security.bundle->ca_pem;
  options.pem_key_cert_pairs = {{security.bundle->key_pem, security.bundle->certificate_pem}};
  auto credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallGuard>(connections));
  return credentials;
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Security& security,
                                                              identity::Role role,
                                                              const std::shared_ptr<Peer>& peer) {
  if (security.plain()) return grpc::InsecureChannelCredentials();
  const identity::Bundle& bundle = *security.bundle;
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
      bundle.ca_pem,
      std::vector<tls::IdentityKeyCertPair>{{bundle.key_pem, bundle.certificate_pem}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<RoleVerifier>(security, role, peer));
  return tls::TlsCredentials(options);
}

}  // namespace

void Peer::accept(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  name_ = name;
  refusal_.clear();
}

void Peer::refuse(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  name_.clear();
  refusal_ = reason;
}

std::string Peer::name() const {
  const std::scoped_lock lock(mutex_);
  return name_;
}

std::string Peer::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

Line::Line(std::string address, const Security& security, identity::Role role)
    : address_(std::move(address)),
      security_(security),
      peer_(std::make_shared<Peer>()),
      numbers_(std::make_unique<identity::RequestNumbers>()) {
  silence_library();
  grpc::ChannelArguments arguments;
  refuse_expansion([&](const char* name, int value) { arguments.SetInt(name, value); });
  arguments.SetMaxReceiveMessageSize(kLongestAnswer);
  grpc::ResourceQuota quota("sotto-line");
  quota.Resize(kClientBytes);
  arguments.SetResourceQuota(quota);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // This one is also how long a handshake may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  // A request is signed for one sending; we send it again ourselves, signed anew.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  channel_ =
      grpc::CreateCustomChannel(address_, channel_credentials(security, role, peer_), arguments);
}

Result<std::string> Line::peer_name(double seconds) const {
  if (security_.plain()) return std::string();
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
  do {
    const bool connected = channel_->WaitForConnected(std::chrono::system_clock::now() + kLook);
    if (const std::string why = peer_->refusal(); !why.empty()) {
      return fail(ErrorKind::kCorrupt, address_ + ": " + why);
    }
    const std::string name = peer_->name();
    if (connected && !name.empty()) return name;
  } while (std::chrono::steady_clock::now() < end);
  SOTTO_CHECK(check_self());
  return fail(ErrorKind::kIo, address_ +
                                  ": nobody answers, or the certificates at both ends are not of "
                                  "one federation, or the other side's ran out");
}

Result<void> Line::check_self() const {
  const identity::Bundle& bundle = *security_.bundle;
  const auto self = security_.trust->identify(bundle.certificate_pem);
  if (self) return {};
  return fail(ErrorKind::kRefused, (bundle.folder / "cert.pem").string() + ": " +
                                       std::string(identity::name_of(self.error().fault)) + ": " +
                                       self.error().message +
                                       "; 'sotto keys issue' makes a new one");
}

Result<std::unique_ptr<Listener>> Listener::start(const std::string& address,
                                                  const Security& security,
                                                  std::initializer_list<grpc::Service*> services,
                                                  std::shared_ptr<Connections> connections) {
  silence_library();
  std::unique_ptr<Listener> listener(new Listener());
  SOTTO_TRY(listener->door_, Door::open(address));
  grpc::ServerBuilder builder;
  listener->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      server_credentials(security, connections));
  builder.SetMaxReceiveMessageSize(static_cast<int>(kLongestMessage));
  refuse_expansion([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kKeepaliveMs / 2);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsOfAConnection);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, kIdleThreads);
  builder.SetResourceQuota(
      grpc::ResourceQuota("sotto").SetMaxThreads(kMostCalls).Resize(kServerBytes));
  for (grpc::Service* const service : services) builder.RegisterService(service);
  listener->server_ = builder.BuildAndStart();
  if (listener->server_ == nullptr) {
    return fail(ErrorKind::kIo, "cannot listen on " + address + ": gRPC does not start");
  }
  listener->address_ =
      address.substr(0, address.rfind(':') + 1) + std::to_string(listener->door_->port());
  listener->door_->accept_all(
      std::move(connections), [acceptor = listener->acceptor_.get()](int socket) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
        connection.fd = socket;
        acceptor->HandleNewConnection(&connection);
      });
  return listener;
}

Listener::~Listener() {
  door_->close();
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kFarewell);
  server_->Wait();
}

}  // namespace sotto::rpc
