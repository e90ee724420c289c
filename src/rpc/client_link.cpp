#include "rpc/client_link.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include "rpc/credentials.h"

namespace sotto::rpc {
namespace {

void set_deadline(grpc::ClientContext& context, double seconds) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0)));
}

constexpr double kCallSeconds = 20.0;
/// For calls that carry a model or a report.
constexpr double kTransferSeconds = 600.0;

/// Writes the header and the chunks; false where the other side has stopped listening.
template <class Writer>
void stream_report(Writer& writer, const v1::SubmitRequest& header,
                   std::span<const std::vector<std::byte>> envelopes,
                   const Invitation& invitation) {
  bool flows = writer.Write(header);
  for (std::size_t i = 0; flows && i < envelopes.size(); ++i) {
    v1::SubmitRequest request;
    request.mutable_chunk()->set_position(static_cast<std::uint32_t>(i));
    request.mutable_chunk()->set_sealed(
        to_bytes(seal(write_chunk(invitation.recipe_hash, envelopes[i]), invitation.seal_key)));
    flows = writer.Write(request);
  }
  writer.WritesDone();
}

}  // namespace

ClientLink::ClientLink(const ClientOptions& options)
    : options_(options),
      server_(v1::Coordinator::NewStub(connect(options.server, options.security))) {
  if (!options.shuffler.empty()) {
    shuffler_ = v1::Relay::NewStub(connect(options.shuffler, options.security));
  }
}

Result<Joined> ClientLink::join() const {
  grpc::ClientContext context;
  set_deadline(context, kCallSeconds);
  v1::JoinRequest request;
  request.set_name(options_.name);
  if (options_.share) request.set_wanted(*options_.share + 1);
  v1::JoinReply reply;
  const grpc::Status status = server_->Join(&context, request, &reply);
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
  const auto reader = server_->Pull(&context, request);
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
  v1::DeclineReply reply;
  const grpc::Status status = server_->Decline(&context, request, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  return {};
}

Result<void> ClientLink::submit(const TaskHeader& task, const Invitation& invitation,
                                std::span<const std::vector<std::byte>> envelopes) const {
  grpc::ClientContext context;
  set_deadline(context, kTransferSeconds);
  v1::SubmitRequest request;
  v1::SubmitHeader& header = *request.mutable_header();
  header.set_name(options_.name);
  header.set_round(task.round);
  header.set_recipe_hash(invitation.recipe_hash);
  header.set_group(static_cast<std::uint32_t>(task.group));
  header.set_chunks(static_cast<std::uint32_t>(envelopes.size()));
  header.set_run(to_bytes(invitation.run));
  v1::SubmitReply reply;
  const auto writer =
      invitation.shuffled ? shuffler_->Submit(&context, &reply) : server_->Submit(&context, &reply);
  stream_report(*writer, request, envelopes, invitation);
  const grpc::Status status = writer->Finish();
  if (status.ok()) return {};
  return tl::unexpected(
      to_error(status, invitation.shuffled ? options_.shuffler : options_.server));
}

}  // namespace sotto::rpc
