#include "rpc/client_link.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "rpc/gate.h"
#include "rpc/report_form.h"

namespace sotto::rpc {
namespace {

void set_deadline(grpc::ClientContext& context, double seconds) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0)));
}

constexpr double kCallSeconds = 20.0;
constexpr double kConnectSeconds = 5.0;
/// For calls that carry a model or a report.
constexpr double kTransferSeconds = 600.0;

using Chunks = std::vector<std::vector<std::byte>>;

Result<Chunks> seal_all(std::span<const Envelope> envelopes, RoundId round,
                        const Invitation& invitation) {
  const std::string task = task_name(invitation.recipe_hash, invitation.run);
  const identity::ChunkPlan plan{task, round, identity::largest_envelope(envelopes)};
  Chunks chunks;
  chunks.reserve(envelopes.size());
  for (const Envelope& envelope : envelopes) {
    SOTTO_TRY(std::vector<std::byte> chunk, identity::seal(envelope, plan, invitation.seal_key));
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

/// Writes the header and the chunks until the other side stops listening. With `delays`, each chunk
/// goes that many seconds after the first call, whatever its position.
template <class Writer>
void stream_report(Writer& writer, const v1::SubmitRequest& header, const Chunks& chunks,
                   std::span<const double> delays) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::size_t> order(chunks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!delays.empty()) std::ranges::sort(order, {}, [&](std::size_t i) { return delays[i]; });
  bool flows = writer.Write(header);
  for (std::size_t next = 0; flows && next < order.size(); ++next) {
    const std::size_t i = order[next];
    if (!delays.empty()) {
      std::this_thread::sleep_until(start + std::chrono::duration<double>(delays[i]));
    }
    v1::SubmitRequest request;
    request.mutable_chunk()->set_position(static_cast<std::uint32_t>(i));
    request.mutable_chunk()->set_sealed(to_bytes(chunks[i]));
    flows = writer.Write(request);
  }
  writer.WritesDone();
}

}  // namespace

ClientLink::ClientLink(const ClientOptions& options)
    : options_(options),
      server_line_(options.server, options.security, identity::Role::kServer),
      server_(v1::Coordinator::NewStub(server_line_.channel())) {
  if (!options.shuffler.empty()) {
    shuffler_line_.emplace(options.shuffler, options.security, identity::Role::kShuffler);
    shuffler_ = v1::Relay::NewStub(shuffler_line_->channel());
  }
}

Result<v1::Signed> ClientLink::signed_for(const Line& line, const char* method,
                                          const google::protobuf::Message& message) const {
  SOTTO_TRY(const std::string audience, line.peer_name(kConnectSeconds));
  return sign(options_.security, audience, method, options_.name, message);
}

Result<void> ClientLink::check_shuffler() const {
  SOTTO_TRY(const std::string name, shuffler_line_->peer_name(kConnectSeconds));
  return {};
}

Result<Joined> ClientLink::join() const {
  grpc::ClientContext context;
  set_deadline(context, kCallSeconds);
  v1::JoinRequest request;
  request.set_name(options_.name);
  if (options_.share) request.set_wanted(*options_.share + 1);
  SOTTO_TRY(const v1::Signed call, signed_for(server_line_, method::kJoin, request));
  v1::JoinReply reply;
  const grpc::Status status = server_->Join(&context, call, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  return read_join(reply);
}

Result<Assignment> ClientLink::pull(RoundId done_round, const Attempt& done,
                                    std::size_t weights) const {
  grpc::ClientContext context;
  set_deadline(context, kTransferSeconds);
  v1::PullRequest request;
  request.set_name(options_.name);
  if (done_round > 0) {
    request.set_done_round(done_round);
    request.set_done_attempt(to_bytes(done));
  }
  SOTTO_TRY(const v1::Signed call, signed_for(server_line_, method::kPull, request));
  const auto reader = server_->Pull(&context, call);
  Assignment assignment;
  std::string bytes;
  const auto read = [&]() -> Result<void> {
    v1::PullReply reply;
    for (bool first = true; reader->Read(&reply); first = false) {
      SOTTO_CHECK(check_known(reply));
      if (first && reply.has_wait()) {
        assignment.finished = reply.wait().finished();
        assignment.again_ms = reply.wait().again_ms();
      } else if (first && reply.has_task()) {
        SOTTO_TRY(assignment.task, read_task(reply.task()));
        if (assignment.task->weights != weights) {
          return fail(ErrorKind::kRefused, "a task for a network of another size");
        }
      } else if (assignment.task && reply.part_case() == v1::PullReply::kWeights &&
                 bytes.size() + reply.weights().size() <= weights * sizeof(float)) {
        bytes += reply.weights();
      } else {
        return fail(ErrorKind::kCorrupt, "message: not a task and its weights");
      }
    }
    return {};
  };
  if (const auto done_reading = read(); !done_reading) {
    context.TryCancel();
    reader->Finish();
    return at(options_.server, done_reading.error());
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  if (!assignment.task) return assignment;
  if (bytes.size() != weights * sizeof(float)) {
    return fail(ErrorKind::kCorrupt, options_.server + ": a task without all its weights");
  }
  assignment.model.resize(weights);
  std::memcpy(assignment.model.data(), bytes.data(), bytes.size());
  for (const float value : assignment.model) {
    if (!std::isfinite(value)) {
      return fail(ErrorKind::kCorrupt, options_.server + ": a weight that is not a number");
    }
  }
  return assignment;
}

Result<void> ClientLink::decline(const TaskHeader& task) const {
  grpc::ClientContext context;
  set_deadline(context, kCallSeconds);
  v1::DeclineRequest request;
  request.set_name(options_.name);
  request.set_round(task.round);
  request.set_attempt(to_bytes(task.attempt));
  SOTTO_TRY(const v1::Signed call, signed_for(server_line_, method::kDecline, request));
  v1::DeclineReply reply;
  const grpc::Status status = server_->Decline(&context, call, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  return {};
}

Result<void> ClientLink::submit(const TaskHeader& task, const Invitation& invitation,
                                std::span<const Envelope> envelopes,
                                std::span<const double> delays) const {
  SOTTO_TRY(const Chunks chunks, seal_all(envelopes, task.round, invitation));
  grpc::ClientContext context;
  set_deadline(context,
               kTransferSeconds + (delays.empty() ? 0.0 : *std::ranges::max_element(delays)));
  v1::SubmitHeader header;
  header.set_name(options_.name);
  header.set_round(task.round);
  header.set_recipe_hash(invitation.recipe_hash);
  header.set_group(static_cast<std::uint32_t>(task.group));
  header.set_chunks(static_cast<std::uint32_t>(chunks.size()));
  header.set_run(to_bytes(invitation.run));
  if (!options_.security.plain()) header.set_digest(digest_of(chunks));
  const Line& line = invitation.shuffled ? *shuffler_line_ : server_line_;
  v1::SubmitRequest request;
  SOTTO_TRY(*request.mutable_header(),
            signed_for(line, invitation.shuffled ? method::kRelay : method::kSubmit, header));
  v1::SubmitReply reply;
  const auto writer =
      invitation.shuffled ? shuffler_->Submit(&context, &reply) : server_->Submit(&context, &reply);
  stream_report(*writer, request, chunks, delays);
  const grpc::Status status = writer->Finish();
  if (status.ok()) return {};
  return tl::unexpected(to_error(status, line.address()));
}

}  // namespace sotto::rpc
