// A member of a federation that does not keep to the protocol: sends one kind of wrong request to a
// real server or shuffler and prints what it gets for it, "STATUS: message". With a bundle it has a
// valid certificate; it checks nobody else's.
//
//   hostile_client CASE BUNDLE|NAME SERVER TARGET [COUNT]
//
// BUNDLE is a folder of `sotto keys`; where there is none it is a name, and connections are plain.
// SERVER is where the training is asked about, TARGET where the wrong request goes: the server or
// the shuffler. tests/e2e/test_hostile.py knows what must come back.
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sodium.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/sha256.h"
#include "identity/box.h"
#include "shuffle/envelope_size.h"
#include "shuffle/report_form.h"
#include "sotto/v2/federation.grpc.pb.h"
#include "transport/grpc/gate.h"

namespace sotto::rpc {
namespace {

namespace tls = grpc::experimental;
using Chunks = std::vector<std::vector<std::byte>>;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "hostile_client: %s\n", why.c_str());
  std::exit(2);
}

class TrustsEverybody final : public tls::ExternalCertificateVerifier {
 public:
  bool Verify(tls::TlsCustomVerificationCheckRequest*, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    *status = grpc::Status::OK;
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}
};

const char* name_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return "OK";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    default:
      return "OTHER";
  }
}

void print(const grpc::Status& status, bool known = false) {
  std::printf("%s: %s%s\n", name_of(status.error_code()), known ? "known " : "",
              status.error_message().c_str());
  std::fflush(stdout);
}

struct Sent {
  grpc::Status status;
  bool known = false;
};

class Hostile {
 public:
  Hostile(std::string who, std::string server, std::string target)
      : server_address_(std::move(server)), target_address_(std::move(target)), name_(who) {
    if (std::filesystem::is_directory(who)) {
      auto read = read_security(who, identity::Role::kClient, false);
      if (!read) give_up(read.error().message);
      security_ = std::move(*read);
      name_ = security_.bundle->self.name;
    }
    server_ = v2::Coordinator::NewStub(channel(server_address_));
    shuffled_ = server_address_ != target_address_;
    if (shuffled_) shuffler_ = v2::Relay::NewStub(channel(target_address_));
  }

  int work(const std::string& what, int count);

 private:
  std::shared_ptr<grpc::Channel> channel(const std::string& address) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (security_.plain()) {
      return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    }
    const identity::Bundle& bundle = *security_.bundle;
    tls::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
        bundle.ca_pem,
        std::vector<tls::IdentityKeyCertPair>{{bundle.key_pem, bundle.certificate_pem}}));
    options.watch_identity_key_cert_pairs();
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<TrustsEverybody>());
    return grpc::CreateCustomChannel(address, tls::TlsCredentials(options), arguments);
  }

  static void limit(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    context.set_wait_for_ready(false);
  }
  const char* method() const { return shuffled_ ? method::kRelay : method::kSubmit; }
  std::string audience() const { return shuffled_ ? "shuffler" : "server"; }

  /// Which training this is, the round that is open, and what it asks for.
  void ask();
  v2::SubmitHeader header() const;
  v2::Signed signed_as(const v2::SubmitHeader& header, const std::string& audience,
                       const char* method, std::uint64_t number) const;
  Sent send(const v2::Signed& header, const Chunks& chunks,
            std::span<const std::uint32_t> positions = {}) const;
  Sent send(const Chunks& chunks, std::span<const std::uint32_t> positions = {}) const {
    v2::SubmitHeader said = header();
    said.set_digest(digest_of(chunks));
    return send(sign(security_, audience(), method(), name_, said, numbers_.next()), chunks,
                positions);
  }
  Chunks random_chunks() const;
  /// Sealed for the server as it should be, with nothing sensible inside.
  Chunks sealed_chunks(const std::string& task, RoundId round) const;
  /// A report that a server takes: one bit for each weight, all set. Of recipes with one mechanism
  /// and a split that is a multiple of eight.
  Chunks well_formed_chunks() const;
  int gate_case(const std::string& what) const;
  int report_case(const std::string& what);
  int flood(int count) const;
  int unread(int count) const;

  mutable identity::RequestNumbers numbers_;
  Security security_;
  std::string server_address_;
  std::string target_address_;
  std::string name_;
  bool shuffled_ = false;
  std::unique_ptr<v2::Coordinator::Stub> server_;
  std::unique_ptr<v2::Relay::Stub> shuffler_;
  Invitation invitation_;
  RoundId round_ = 0;
  std::string mechanism_;
  std::vector<Range> ranges_;
  std::size_t weights_ = 0;
  std::size_t chunks_ = 0;
  std::size_t bytes_ = 0;
  Contract contract_;
  std::string ticket_;
};

void Hostile::ask() {
  v2::JoinRequest join;
  join.set_name(name_);
  v2::JoinReply joined;
  grpc::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    grpc::ClientContext joining;
    limit(joining);
    status = server_->Join(
        &joining, sign(security_, "server", method::kJoin, name_, join, numbers_.next()), &joined);
    if (status.ok() || !told_behind(joining, numbers_)) break;
  }
  if (!status.ok()) {
    print(status);
    std::exit(0);
  }
  auto read = read_join(joined);
  if (!read) give_up(read.error().message);
  invitation_ = read->invitation;
  grpc::ClientContext pulling;
  limit(pulling);
  v2::PullRequest pull;
  pull.set_name(name_);
  const auto reader = server_->Pull(
      &pulling, sign(security_, "server", method::kPull, name_, pull, numbers_.next()));
  v2::PullReply reply;
  if (!reader->Read(&reply)) give_up("no answer: " + reader->Finish().error_message());
  round_ = reply.has_task() ? reply.task().round() : reply.wait().round();
  if (reply.task().parts_size() == 1) {
    const v2::TaskPart& part = reply.task().parts(0);
    mechanism_ = part.mechanism_id();
    ranges_.clear();
    for (int i = 0; i < part.centres_size(); ++i) {
      ranges_.push_back({part.centres(i), part.radii(i)});
    }
    weights_ = reply.task().weights();
  }
  ticket_ = reply.task().ticket();
  std::string model;
  while (reader->Read(&reply)) model += reply.weights();
  reader->Finish();
  // One bit for each weight.
  const auto recipe = parse_recipe(invitation_.recipe, "recipe", invitation_.settings);
  if (!recipe) give_up(recipe.error().message);
  const auto split = static_cast<std::size_t>(recipe->shuffle.split);
  const std::size_t weights = std::max<std::size_t>(1, weights_);
  const std::size_t piece = split == 0 ? weights : std::min(split, weights);
  chunks_ = (weights + piece - 1) / piece;
  bytes_ = envelope_bytes(mechanism_.size(), piece, 1) + identity::kSealOverhead;
  contract_.run = invitation_.run;
  contract_.recipe = invitation_.recipe_hash;
  contract_.round = round_;
  contract_.mechanisms = {contract_mechanism(mechanism_.empty() ? "none" : mechanism_, ranges_)};
  contract_.chunks = chunks_;
  contract_.chunk_bytes = bytes_;
  contract_.shuffled = shuffled_;
  contract_.seal_key = invitation_.seal_key;
  contract_.model = sha256_hex(model);
  contract_.authority = authority_of(security_);
}

v2::SubmitHeader Hostile::header() const {
  v2::SubmitHeader said;
  said.set_name(name_);
  Contract contract = contract_;
  contract.round = round_;
  said.set_contract(contract.text());
  said.set_minimum(1);
  said.set_ticket(ticket_);
  said.set_digest(std::string(64, '0'));
  return said;
}

v2::Signed Hostile::signed_as(const v2::SubmitHeader& said, const std::string& audience,
                              const char* method, std::uint64_t number) const {
  v2::Signed request;
  request.set_body(said.SerializeAsString());
  const identity::Token token =
      identity::sign_request(security_.bundle->sign_key, {audience, method, said.name(), 0, ""},
                             as_span(request.body()), number);
  request.set_token(token.data(), token.size());
  return request;
}

Sent Hostile::send(const v2::Signed& said, const Chunks& chunks,
                   std::span<const std::uint32_t> positions) const {
  grpc::ClientContext context;
  limit(context);
  v2::SubmitReply reply;
  const auto writer =
      shuffled_ ? shuffler_->Submit(&context, &reply) : server_->Submit(&context, &reply);
  v2::SubmitRequest request;
  *request.mutable_header() = said;
  bool flows = writer->Write(request);
  for (std::size_t i = 0; flows && i < chunks.size(); ++i) {
    request.mutable_chunk()->set_position(positions.empty() ? static_cast<std::uint32_t>(i)
                                                            : positions[i]);
    request.mutable_chunk()->set_sealed(to_bytes(chunks[i]));
    flows = writer->Write(request);
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  return {status, reply.known()};
}

Chunks Hostile::random_chunks() const {
  Chunks chunks(chunks_, std::vector<std::byte>(bytes_));
  for (auto& chunk : chunks) randombytes_buf(chunk.data(), chunk.size());
  return chunks;
}

Chunks Hostile::sealed_chunks(const std::string& task, RoundId round) const {
  std::vector<unsigned char> plain(bytes_ - identity::kBoxOverhead);
  plain[0] = 1;  // version
  crypto_generichash(&plain[1], 16, reinterpret_cast<const unsigned char*>(task.data()),
                     task.size(), nullptr, 0);
  std::memcpy(&plain[17], &round, sizeof round);
  Chunks chunks(chunks_, std::vector<std::byte>(bytes_));
  for (auto& chunk : chunks) {
    if (!identity::seal_box(plain, invitation_.seal_key,
                            {reinterpret_cast<unsigned char*>(chunk.data()), chunk.size()})) {
      give_up("cannot seal");
    }
  }
  return chunks;
}

Chunks Hostile::well_formed_chunks() const {
  const auto put = [](std::vector<std::byte>& out, std::uint64_t value, unsigned bytes) {
    for (unsigned b = 0; b < bytes; ++b) out.push_back(static_cast<std::byte>(value >> (8 * b)));
  };
  constexpr std::size_t kEnvelopeHeader = 26;
  const std::size_t largest = bytes_ - identity::kSealOverhead;
  const std::size_t piece = 8 * (largest - kEnvelopeHeader - mechanism_.size());
  const std::string task = task_name(invitation_.recipe_hash, invitation_.run);
  Chunks chunks;
  for (std::size_t first = 0; first < weights_; first += piece) {
    const std::size_t count = std::min(piece, weights_ - first);
    std::vector<std::byte> bytes;
    for (const char c : std::string("SOT2")) bytes.push_back(static_cast<std::byte>(c));
    put(bytes, round_, 4);
    put(bytes, first, 8);
    put(bytes, count, 8);
    put(bytes, 1, 1);
    put(bytes, mechanism_.size(), 1);
    for (const char c : mechanism_) bytes.push_back(static_cast<std::byte>(c));
    for (std::size_t i = 0; i < count; i += 8)
      put(bytes, 0xFFU >> (8 - std::min<std::size_t>(8, count - i)), 1);
    const auto envelope = Envelope::parse(bytes);
    if (!envelope) give_up(envelope.error().message);
    auto sealed = identity::seal(*envelope, {task, round_, largest}, invitation_.seal_key);
    if (!sealed) give_up(sealed.error().message);
    chunks.push_back(std::move(*sealed));
  }
  return chunks;
}

/// Requests that must not get past the gate; "honest" is one that must.
int Hostile::gate_case(const std::string& what) const {
  v2::SubmitHeader said = header();
  Contract other = contract_;
  other.chunks = kMostChunks;
  said.set_contract(other.text());
  const auto signed_now = [&] { return signed_as(said, audience(), method(), numbers_.next()); };
  v2::Signed request = signed_now();
  if (what == "replayed") {
    send(request, {});
  } else if (what == "behind") {
    // So many newer ones that the recipient no longer knows this one from others.
    for (std::size_t i = 0; i <= identity::ReplayGuard::kWindow; ++i) send(signed_now(), {});
  } else if (what == "far-ahead") {
    // As if its clock were thirty days ahead: the same member must still get in afterwards.
    request = signed_as(said, audience(), method(), numbers_.next() + 30'000'000ULL * 86'400);
  } else if (what == "beyond-all-numbers") {
    request = signed_as(said, audience(), method(), ~std::uint64_t{0});
  } else if (what == "for-another-recipient") {
    request = signed_as(said, shuffled_ ? "server" : "shuffler", method(), numbers_.next());
  } else if (what == "for-another-method") {
    request = signed_as(said, audience(), method::kDecline, numbers_.next());
  } else if (what == "in-anothers-name") {
    said.set_name("client-1");
    request = signed_now();
  } else if (what == "changed") {
    said.set_minimum(0);
    request.set_body(said.SerializeAsString());
  } else if (what == "unsigned") {
    request.clear_token();
  } else if (what != "honest") {
    return -1;
  }
  const Sent sent = send(request, {});
  print(sent.status, sent.known);
  return 0;
}

/// Reports of a member that pass the gate and must not count.
int Hostile::report_case(const std::string& what) {
  const std::string task = task_name(invitation_.recipe_hash, invitation_.run);
  Sent sent;
  if (what == "garbage") {
    sent = send(random_chunks());
  } else if (what == "of-another-round") {
    sent = send(sealed_chunks(task, round_ + 1));
  } else if (what == "of-another-training") {
    sent = send(sealed_chunks(task + "x", round_));
  } else if (what == "sealed-garbage") {
    sent = send(sealed_chunks(task, round_));
  } else if (what == "header-of-another-round") {
    ++round_;
    sent = send(random_chunks());
  } else if (what == "no-ticket") {
    ticket_.clear();
    sent = send(random_chunks());
  } else if (what == "forged-ticket") {
    ticket_ = std::string(32, 't');
    sent = send(random_chunks());
  } else if (what == "other-chunks") {
    v2::SubmitHeader said = header();
    said.set_digest(digest_of(well_formed_chunks()));
    sent = send(sign(security_, audience(), method(), name_, said, numbers_.next()),
                well_formed_chunks());
  } else if (what == "changed-byte") {
    Chunks chunks = well_formed_chunks();
    v2::SubmitHeader said = header();
    said.set_digest(digest_of(chunks));
    chunks.back().back() ^= std::byte{1};
    sent = send(sign(security_, audience(), method(), name_, said, numbers_.next()), chunks);
  } else if (what == "no-digest") {
    v2::SubmitHeader said = header();
    said.clear_digest();
    sent = send(sign(security_, audience(), method(), name_, said, numbers_.next()),
                well_formed_chunks());
  } else if (what == "twice-in-one-place") {
    const std::vector<std::uint32_t> positions(chunks_, 0);
    sent = send(well_formed_chunks(), positions);
  } else if (what == "too-short") {
    Chunks chunks = well_formed_chunks();
    v2::SubmitHeader said = header();
    said.set_digest(digest_of(chunks));
    chunks.pop_back();
    sent = send(sign(security_, audience(), method(), name_, said, numbers_.next()), chunks);
  } else if (what == "too-long") {
    Chunks chunks = well_formed_chunks();
    v2::SubmitHeader said = header();
    said.set_digest(digest_of(chunks));
    chunks.push_back(chunks.front());
    sent = send(sign(security_, audience(), method(), name_, said, numbers_.next()), chunks);
  } else {
    return -1;
  }
  print(sent.status, sent.known);
  return 0;
}

/// Opens so many calls at once, says nothing in any, and prints in the end how each fared.
int Hostile::flood(int count) const {
  struct Call {
    grpc::ClientContext context;
    v2::SubmitReply reply;
    std::unique_ptr<grpc::ClientWriter<v2::SubmitRequest>> writer;
  };
  std::vector<std::shared_ptr<grpc::Channel>> lines;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < count; ++i) {
    lines.push_back(channel(target_address_));
    auto call = std::make_unique<Call>();
    call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    call->context.set_wait_for_ready(true);
    call->writer =
        shuffled_ ? v2::Relay::NewStub(lines.back())->Submit(&call->context, &call->reply)
                  : v2::Coordinator::NewStub(lines.back())->Submit(&call->context, &call->reply);
    calls.push_back(std::move(call));
  }
  std::printf("open\n");
  std::fflush(stdout);
  std::getchar();  // until whoever started this has seen enough
  for (const auto& call : calls) {
    call->writer->WritesDone();
    print(call->writer->Finish());
  }
  return 0;
}

/// Asks for the model on so many connections, as often as each allows, and reads nothing of it.
int Hostile::unread(int count) const {
  constexpr int kCalls = 16;
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v2::PullReply>> reader;
  };
  std::vector<std::shared_ptr<grpc::Channel>> lines;
  std::vector<std::unique_ptr<Call>> calls;
  v2::PullRequest pull;
  pull.set_name(name_);
  for (int i = 0; i < count * kCalls; ++i) {
    if (i % kCalls == 0) lines.push_back(channel(server_address_));
    auto call = std::make_unique<Call>();
    call->context.set_wait_for_ready(true);
    call->reader = v2::Coordinator::NewStub(lines.back())
                       ->Pull(&call->context, sign(security_, "server", method::kPull, name_, pull,
                                                   numbers_.next()));
    calls.push_back(std::move(call));
  }
  std::printf("open\n");
  std::fflush(stdout);
  std::getchar();  // until whoever started this has seen enough
  std::_Exit(0);
}

int Hostile::work(const std::string& what, int count) {
  if (sodium_init() < 0) give_up("libsodium does not start");
  if (what == "flood") return flood(count);
  ask();
  if (what == "unread") return unread(count);
  if (!security_.plain()) {
    if (const int code = gate_case(what); code >= 0) return code;
  }
  if (const int code = report_case(what); code >= 0) return code;
  give_up("no case '" + what + "'");
}

}  // namespace
}  // namespace sotto::rpc

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "hostile_client CASE BUNDLE|NAME SERVER TARGET [COUNT]\n");
    return 2;
  }
  return sotto::rpc::Hostile(argv[2], argv[3], argv[4])
      .work(argv[1], argc > 5 ? std::stoi(argv[5]) : 1);
}
