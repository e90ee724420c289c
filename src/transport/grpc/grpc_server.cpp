#include "transport/grpc/grpc_server.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "sotto/v2/federation.grpc.pb.h"
#include "transport/grpc/credentials.h"
#include "transport/grpc/submission.h"

namespace sotto::rpc {
namespace {

using PullStream = grpc::ServerSplitStreamer<v2::Signed, v2::PullReply>;

constexpr std::uint32_t kAgainMs = 100;

/// For reports whose chunks wait for random times; which, the recipe says, and few wait for longer.
constexpr std::chrono::seconds kLongestDelay{600};

/// So many requests a second are expected of all clients together while they wait.
constexpr std::uint32_t kRequestsPerSecond = 2000;
constexpr std::uint32_t kLongestPauseMs = 5000;

/// How long a client waits before it asks again: longer where there are many.
std::uint32_t pause_ms(std::uint32_t clients) {
  return std::clamp(static_cast<std::uint32_t>(std::uint64_t{clients} * 1000 / kRequestsPerSecond),
                    kAgainMs, kLongestPauseMs);
}

/// Every method reads its own request, so that nothing of it lies in memory before its sender has a
/// place and was looked at.
class ClientDesk final : public v2::Coordinator::StreamedService {
 public:
  ClientDesk(Coordinator& coordinator, Gate& gate) : coordinator_(coordinator), gate_(gate) {}

  grpc::Status StreamedJoin(grpc::ServerContext* context,
                            grpc::ServerUnaryStreamer<v2::Signed, v2::JoinReply>* stream) override {
    return answer(join(*context, *stream));
  }
  grpc::Status StreamedPull(grpc::ServerContext* context, PullStream* stream) override {
    return answer(pull(*context, *stream));
  }
  grpc::Status StreamedDecline(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v2::Signed, v2::DeclineReply>* stream) override {
    return answer(decline(*context, *stream));
  }
  grpc::Status Submit(grpc::ServerContext* context, SubmitReader* reader,
                      v2::SubmitReply* reply) override {
    return answer(submit(*context, *reader, *reply));
  }

 private:
  grpc::Status answer(const Result<void>& result) const {
    if (result) return grpc::Status::OK;
    coordinator_.tell(monitor::refusal(result.error()));
    return to_status(result.error());
  }

  /// The request, once its sender has a place; `method` and `Message` are what it must be.
  template <class Message, class Stream>
  Result<Message> read(grpc::ServerContext& context, const Turnstile::Turn& turn,
                       const char* method, Stream& stream) {
    SOTTO_CHECK(turn.entered());
    SOTTO_CHECK(gate_.check_member(context, identity::Role::kClient));
    v2::Signed given;
    if (!stream.Read(&given)) return fail(ErrorKind::kCorrupt, "a call without its request");
    return gate_.admit<Message>(context, method, given);
  }

  template <class Stream>
  Result<void> join(grpc::ServerContext& context, Stream& stream) {
    const Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_TRY(const auto request, read<v2::JoinRequest>(context, turn, method::kJoin, stream));
    std::optional<std::uint32_t> wanted;
    if (request.wanted() > 0) wanted = request.wanted() - 1;
    SOTTO_TRY(const Coordinator::Joined joined, coordinator_.join(request.name(), wanted));
    v2::JoinReply reply;
    write_join(joined, reply);
    stream.Write(reply);
    return {};
  }

  Result<void> pull(grpc::ServerContext& context, PullStream& stream) {
    Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_TRY(const auto request, read<v2::PullRequest>(context, turn, method::kPull, stream));
    SOTTO_CHECK(turn.answer(request.name()));
    Attempt done{};
    if (request.done_round() > 0) {
      SOTTO_TRY(done, read_tag(request.done_attempt()));
    }
    SOTTO_TRY(const Coordinator::Pulled pulled,
              coordinator_.pull(request.name(), request.done_round(), done));
    v2::PullReply reply;
    if (!pulled.task) {
      reply.mutable_wait()->set_again_ms(pause_ms(coordinator_.settings().invitation.clients));
      reply.mutable_wait()->set_finished(pulled.finished);
      reply.mutable_wait()->set_round(pulled.round);
      stream.Write(reply);
      return {};
    }
    write_task(pulled, coordinator_.settings().invitation.recipe_hash, *reply.mutable_task());
    stream.Write(reply);
    const auto weights = std::as_bytes(std::span(*pulled.task->model));
    for (std::size_t first = 0; first < weights.size(); first += kWeightsPiece) {
      const auto piece = weights.subspan(first, std::min(kWeightsPiece, weights.size() - first));
      reply.set_weights(piece.data(), piece.size());
      SOTTO_CHECK(turn.answer(request.name()));
      if (!stream.Write(reply)) return fail(ErrorKind::kIo, "the client has gone");
    }
    return {};
  }

  template <class Stream>
  Result<void> decline(grpc::ServerContext& context, Stream& stream) {
    const Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_TRY(const auto request,
              read<v2::DeclineRequest>(context, turn, method::kDecline, stream));
    if (request.round() == 0) {
      SOTTO_CHECK(coordinator_.leave(request.name()));
      stream.Write(v2::DeclineReply());
      return {};
    }
    SOTTO_TRY(const Attempt attempt, read_tag(request.attempt()));
    SOTTO_CHECK(coordinator_.decline(request.name(), request.round(), attempt));
    stream.Write(v2::DeclineReply());
    return {};
  }

  Result<void> submit(grpc::ServerContext& context, SubmitReader& reader, v2::SubmitReply& reply) {
    Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_CHECK(turn.entered());
    SOTTO_TRY(const Submission submission, read_header(reader, context, method::kSubmit, gate_));
    const Invitation& invitation = coordinator_.settings().invitation;
    const Contract& contract = submission.contract;
    if (contract.run != invitation.run || contract.recipe != invitation.recipe_hash) {
      return fail(ErrorKind::kRefused, "a report of another run or recipe");
    }
    SOTTO_TRY(const auto awaited, coordinator_.awaited(submission.name, contract.round));
    if (!awaited) {
      reply.set_known(true);
      return {};
    }
    if (contract.digest() != awaited->contract) {
      return fail(ErrorKind::kRefused, "report: of another contract than the server collects");
    }
    const ChunkCount count{awaited->form->chunks(), awaited->form->sealed_bytes()};
    const auto delays = invitation.latency ? kLongestDelay : std::chrono::seconds(0);
    SOTTO_CHECK(turn.admit(submission.name, {count.chunks * count.bytes, count.chunks, delays}));
    // Opened as they come: sealed and open a report lies in memory once.
    std::vector<std::optional<Envelope>> opened(count.chunks);
    SOTTO_CHECK(read_chunks(
        reader, turn, submission, count, invitation.latency,
        [&](std::size_t position, std::span<const std::byte> sealed) -> Result<void> {
          SOTTO_TRY(opened[position], coordinator_.open_report(*awaited, position, sealed));
          return {};
        }));
    SOTTO_TRY(const bool fresh, coordinator_.submit(submission.name, *awaited, opened));
    reply.set_known(!fresh);
    return {};
  }

  Coordinator& coordinator_;
  Gate& gate_;
  Turnstile turnstile_;
};

class ShufflerDesk final : public v2::Intake::StreamedService {
 public:
  ShufflerDesk(Coordinator& coordinator, const Gate& gate)
      : coordinator_(coordinator), gate_(gate) {}

  grpc::Status StreamedOpen(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v2::OpenRequest, v2::OpenReply>* stream) override {
    if (const auto who = gate_.check_member(*context, identity::Role::kShuffler); !who) {
      return to_status(who.error());
    }
    v2::OpenRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    if (const auto known = check_known(request); !known) return to_status(known.error());
    coordinator_.held(request.round(), std::accumulate(request.held().begin(), request.held().end(),
                                                       std::uint64_t{0}));
    v2::OpenReply reply;
    write_open(coordinator_.open(), coordinator_.settings(), reply);
    reply.set_again_ms(kAgainMs);
    stream->Write(reply);
    return grpc::Status::OK;
  }

  grpc::Status Deliver(grpc::ServerContext* context, grpc::ServerReader<v2::DeliverRequest>* reader,
                       v2::DeliverReply*) override {
    const auto done = deliver(*context, *reader);
    if (done) return grpc::Status::OK;
    coordinator_.tell(monitor::refusal(done.error()));
    return to_status(done.error());
  }

 private:
  Result<void> deliver(const grpc::ServerContext& context,
                       grpc::ServerReader<v2::DeliverRequest>& reader) {
    SOTTO_CHECK(gate_.check_member(context, identity::Role::kShuffler));
    v2::DeliverRequest request;
    if (!reader.Read(&request) || !request.has_header()) {
      return fail(ErrorKind::kCorrupt, "a batch begins with its header");
    }
    SOTTO_CHECK(check_known(request));
    const v2::BatchHeader header = request.header();
    SOTTO_TRY(const Attempt attempt, read_tag(header.attempt()));
    SOTTO_TRY(const std::uint64_t stream,
              coordinator_.begin_batch(header.round(), attempt, header.group(), header.reports(),
                                       header.skip()));
    while (reader.Read(&request)) {
      SOTTO_CHECK(check_known(request));
      if (request.part_case() != v2::DeliverRequest::kSealed) {
        return fail(ErrorKind::kCorrupt, "a batch has one header");
      }
      SOTTO_CHECK(coordinator_.deliver(attempt, header.group(), stream, as_span(request.sealed())));
    }
    return {};
  }

  Coordinator& coordinator_;
  const Gate& gate_;
};

}  // namespace

struct Server::Parts {
  Parts(Gate own, Coordinator& coordinator)
      : gate(std::move(own)), clients(coordinator, gate), shuffler(coordinator, gate) {}
  Gate gate;
  ClientDesk clients;
  ShufflerDesk shuffler;
  std::unique_ptr<Listener> listener;
};

Server::Server() = default;

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const std::string& address, const Security& security,
                                              const std::filesystem::path& memory,
                                              Coordinator& coordinator) {
  const auto connections = std::make_shared<Connections>(Connections::Limits::of_process());
  SOTTO_TRY(Gate gate, Gate::open(security, memory, connections));
  std::unique_ptr<Server> server(new Server());
  server->parts_ = std::make_unique<Parts>(std::move(gate), coordinator);
  Parts& parts = *server->parts_;
  // The shuffler's door is shut where there is none: no batch can be slipped in.
  if (coordinator.settings().invitation.shuffled) {
    SOTTO_TRY(parts.listener,
              Listener::start(address, security, {&parts.clients, &parts.shuffler}, connections));
  } else {
    SOTTO_TRY(parts.listener, Listener::start(address, security, {&parts.clients}, connections));
  }
  server->address_ = parts.listener->address();
  return server;
}

}  // namespace sotto::rpc
