#include "rpc/server.h"

#include <algorithm>
#include <chrono>

#include "rpc/credentials.h"
#include "rpc/submission.h"
#include "sotto/v1/federation.grpc.pb.h"

namespace sotto::rpc {
namespace {

constexpr std::uint32_t kAgainMs = 100;

/// So many requests a second are expected of all clients together while they wait.
constexpr std::uint32_t kRequestsPerSecond = 2000;
constexpr std::uint32_t kLongestPauseMs = 5000;

/// How long a client waits before it asks again: longer where there are many.
std::uint32_t pause_ms(std::uint32_t clients) {
  return std::clamp(static_cast<std::uint32_t>(std::uint64_t{clients} * 1000 / kRequestsPerSecond),
                    kAgainMs, kLongestPauseMs);
}

class ClientDesk final : public v1::Coordinator::Service {
 public:
  ClientDesk(Coordinator& coordinator, Gate& gate) : coordinator_(coordinator), gate_(gate) {}

  grpc::Status Join(grpc::ServerContext* context, const v1::Signed* request,
                    v1::JoinReply* reply) override {
    return answer(join(*context, *request, *reply));
  }
  grpc::Status Pull(grpc::ServerContext* context, const v1::Signed* request,
                    grpc::ServerWriter<v1::PullReply>* writer) override {
    return answer(pull(*context, *request, *writer));
  }
  grpc::Status Decline(grpc::ServerContext* context, const v1::Signed* request,
                       v1::DeclineReply*) override {
    return answer(decline(*context, *request));
  }
  grpc::Status Submit(grpc::ServerContext* context, SubmitReader* reader,
                      v1::SubmitReply* reply) override {
    return answer(submit(*context, *reader, *reply));
  }

 private:
  grpc::Status answer(const Result<void>& result) const {
    if (result) return grpc::Status::OK;
    coordinator_.tell(monitor::refusal(result.error()));
    return to_status(result.error());
  }

  Result<void> join(const grpc::ServerContext& context, const v1::Signed& given,
                    v1::JoinReply& reply) {
    SOTTO_TRY(const auto request, gate_.admit<v1::JoinRequest>(context, method::kJoin, given));
    std::optional<std::uint32_t> wanted;
    if (request.wanted() > 0) wanted = request.wanted() - 1;
    SOTTO_TRY(const Coordinator::Joined joined, coordinator_.join(request.name(), wanted));
    write_join(joined, reply);
    return {};
  }

  Result<void> pull(const grpc::ServerContext& context, const v1::Signed& given,
                    grpc::ServerWriter<v1::PullReply>& writer) {
    SOTTO_TRY(const auto request, gate_.admit<v1::PullRequest>(context, method::kPull, given));
    Attempt done{};
    if (request.done_round() > 0) {
      SOTTO_TRY(done, read_tag(request.done_attempt()));
    }
    SOTTO_TRY(const Coordinator::Pulled pulled,
              coordinator_.pull(request.name(), request.done_round(), done));
    v1::PullReply reply;
    if (!pulled.task) {
      reply.mutable_wait()->set_again_ms(pause_ms(coordinator_.settings().invitation.clients));
      reply.mutable_wait()->set_finished(pulled.finished);
      reply.mutable_wait()->set_round(pulled.round);
      writer.Write(reply);
      return {};
    }
    write_task(pulled, coordinator_.settings().invitation.recipe_hash, *reply.mutable_task());
    writer.Write(reply);
    const auto weights = std::as_bytes(std::span(*pulled.task->model));
    for (std::size_t first = 0; first < weights.size(); first += kWeightsPiece) {
      const auto piece = weights.subspan(first, std::min(kWeightsPiece, weights.size() - first));
      reply.set_weights(piece.data(), piece.size());
      if (!writer.Write(reply)) return fail(ErrorKind::kIo, "the client has gone");
    }
    return {};
  }

  Result<void> decline(const grpc::ServerContext& context, const v1::Signed& given) {
    SOTTO_TRY(const auto request,
              gate_.admit<v1::DeclineRequest>(context, method::kDecline, given));
    SOTTO_TRY(const Attempt attempt, read_tag(request.attempt()));
    return coordinator_.decline(request.name(), request.round(), attempt);
  }

  Result<void> submit(const grpc::ServerContext& context, SubmitReader& reader,
                      v1::SubmitReply& reply) {
    Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_CHECK(turn.entered());
    SOTTO_TRY(const Submission submission, read_header(reader, context, method::kSubmit, gate_));
    const Invitation& invitation = coordinator_.settings().invitation;
    if (submission.run != invitation.run || submission.recipe_hash != invitation.recipe_hash) {
      return fail(ErrorKind::kRefused, "a report of another run or recipe");
    }
    SOTTO_TRY(const auto awaited, coordinator_.awaited(submission.name, submission.round));
    if (!awaited) {
      reply.set_known(true);
      return {};
    }
    const ChunkCount count{awaited->form->chunks(), awaited->form->sealed_bytes()};
    SOTTO_CHECK(turn.admit(submission.name, count.chunks * count.bytes));
    // Opened as they come: sealed and open a report lies in memory once.
    std::vector<std::optional<Envelope>> opened(count.chunks);
    SOTTO_CHECK(read_chunks(
        reader, submission, count, invitation.latency,
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

class ShufflerDesk final : public v1::Intake::Service {
 public:
  ShufflerDesk(Coordinator& coordinator, const Gate& gate)
      : coordinator_(coordinator), gate_(gate) {}

  grpc::Status Open(grpc::ServerContext* context, const v1::OpenRequest* request,
                    v1::OpenReply* reply) override {
    if (const auto who = gate_.admit_shuffler(*context); !who) return to_status(who.error());
    if (const auto known = check_known(*request); !known) return to_status(known.error());
    write_open(coordinator_.open(), coordinator_.settings(), *reply);
    reply->set_again_ms(kAgainMs);
    return grpc::Status::OK;
  }

  grpc::Status Deliver(grpc::ServerContext* context, grpc::ServerReader<v1::DeliverRequest>* reader,
                       v1::DeliverReply*) override {
    const auto done = deliver(*context, *reader);
    if (done) return grpc::Status::OK;
    coordinator_.tell(monitor::refusal(done.error()));
    return to_status(done.error());
  }

 private:
  Result<void> deliver(const grpc::ServerContext& context,
                       grpc::ServerReader<v1::DeliverRequest>& reader) {
    SOTTO_CHECK(gate_.admit_shuffler(context));
    v1::DeliverRequest request;
    if (!reader.Read(&request) || !request.has_header()) {
      return fail(ErrorKind::kCorrupt, "a batch begins with its header");
    }
    SOTTO_CHECK(check_known(request));
    const v1::BatchHeader header = request.header();
    SOTTO_TRY(const Attempt attempt, read_tag(header.attempt()));
    SOTTO_CHECK(coordinator_.begin_batch(header.round(), attempt, header.group(), header.reports(),
                                         header.skip()));
    while (reader.Read(&request)) {
      SOTTO_CHECK(check_known(request));
      if (request.part_case() != v1::DeliverRequest::kSealed) {
        return fail(ErrorKind::kCorrupt, "a batch has one header");
      }
      SOTTO_CHECK(coordinator_.deliver(attempt, header.group(), as_span(request.sealed())));
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
  std::unique_ptr<grpc::Server> server;
};

Server::Server() = default;

Server::~Server() {
  if (parts_ && parts_->server) {
    parts_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    parts_->server->Wait();
  }
}

Result<std::unique_ptr<Server>> Server::start(const std::string& address, const Security& security,
                                              const std::filesystem::path& memory,
                                              Coordinator& coordinator) {
  SOTTO_TRY(Gate gate, Gate::open(security, memory));
  std::unique_ptr<Server> server(new Server());
  server->parts_ = std::make_unique<Parts>(std::move(gate), coordinator);
  Parts& parts = *server->parts_;
  // The shuffler's door is shut where there is none: no batch can be slipped in.
  if (coordinator.settings().invitation.shuffled) {
    SOTTO_TRY(parts.server,
              listen(address, security, {&parts.clients, &parts.shuffler}, server->address_));
  } else {
    SOTTO_TRY(parts.server, listen(address, security, {&parts.clients}, server->address_));
  }
  return server;
}

}  // namespace sotto::rpc
