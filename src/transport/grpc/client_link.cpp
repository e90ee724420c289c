#include "transport/grpc/client_link.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "shuffle/report_form.h"
#include "transport/grpc/gate.h"

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
/// Processes of one identity may overtake one another this often before a call fails.
constexpr int kSignings = 4;

using Chunks = std::vector<std::vector<std::byte>>;

Result<Chunks> seal_all(std::span<const Envelope> envelopes, const Contract& contract) {
  const std::string task = task_name(contract.recipe, contract.run);
  const identity::ChunkPlan plan{task, contract.round,
                                 contract.chunk_bytes - identity::kSealOverhead};
  Chunks chunks;
  chunks.reserve(envelopes.size());
  for (const Envelope& envelope : envelopes) {
    SOTTO_TRY(std::vector<std::byte> chunk, identity::seal(envelope, plan, contract.seal_key));
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

/// Writes the header and the chunks until the other side stops listening. With `delays`, each chunk
/// goes that many seconds after the first call, whatever its position.
template <class Writer>
void stream_report(Writer& writer, const v2::SubmitRequest& header, const Chunks& chunks,
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
    v2::SubmitRequest request;
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
      server_(v2::Coordinator::NewStub(server_line_.channel())) {
  if (!options.shuffler.empty()) {
    shuffler_line_.emplace(options.shuffler, options.security, identity::Role::kShuffler);
    shuffler_ = v2::Relay::NewStub(shuffler_line_->channel());
  }
}

Result<v2::Signed> ClientLink::signed_for(const Line& line, const char* method,
                                          const google::protobuf::Message& message) const {
  SOTTO_TRY(const std::string audience, line.peer_name(kConnectSeconds));
  return sign(options_.security, audience, method, options_.name, message, line.numbers().next());
}

Result<void> ClientLink::check_shuffler() const {
  SOTTO_TRY(const std::string name, shuffler_line_->peer_name(kConnectSeconds));
  return {};
}

template <class Call>
auto ClientLink::anew(const Line& line, Call&& call) const {
  for (int signings = 1;; ++signings) {
    grpc::ClientContext context;
    auto result = call(context);
    if (result || signings == kSignings || !told_behind(context, line.numbers())) return result;
  }
}

Result<Joined> ClientLink::join() const {
  return anew(server_line_, [&](auto& context) { return join_once(context); });
}

Result<Assignment> ClientLink::pull(RoundId done_round, const Attempt& done,
                                    std::size_t weights) const {
  return anew(server_line_,
              [&](auto& context) { return pull_once(context, done_round, done, weights); });
}

Result<void> ClientLink::decline(const TaskHeader& task) const {
  v2::DeclineRequest request;
  request.set_name(options_.name);
  request.set_round(task.round);
  request.set_attempt(to_bytes(task.attempt));
  return anew(server_line_, [&](auto& context) { return decline_once(context, request); });
}

Result<void> ClientLink::leave() const {
  v2::DeclineRequest request;
  request.set_name(options_.name);
  return anew(server_line_, [&](auto& context) { return decline_once(context, request); });
}

Result<void> ClientLink::submit(const TaskHeader& task, const Handed& report,
                                std::span<const double> delays) const {
  return anew(report.contract.shuffled ? *shuffler_line_ : server_line_,
              [&](auto& context) { return submit_once(context, task, report, delays); });
}

Result<std::vector<Asked>> ClientLink::compare(const Tag& run, RoundId round) const {
  return anew(*shuffler_line_, [&](auto& context) { return compare_once(context, run, round); });
}

Result<Joined> ClientLink::join_once(grpc::ClientContext& context) const {
  set_deadline(context, kCallSeconds);
  v2::JoinRequest request;
  request.set_name(options_.name);
  if (options_.share) request.set_wanted(*options_.share + 1);
  SOTTO_TRY(const v2::Signed call, signed_for(server_line_, method::kJoin, request));
  v2::JoinReply reply;
  const grpc::Status status = server_->Join(&context, call, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  return read_join(reply);
}

Result<Assignment> ClientLink::pull_once(grpc::ClientContext& context, RoundId done_round,
                                         const Attempt& done, std::size_t weights) const {
  set_deadline(context, kTransferSeconds);
  v2::PullRequest request;
  request.set_name(options_.name);
  if (done_round > 0) {
    request.set_done_round(done_round);
    request.set_done_attempt(to_bytes(done));
  }
  SOTTO_TRY(const v2::Signed call, signed_for(server_line_, method::kPull, request));
  const auto reader = server_->Pull(&context, call);
  Assignment assignment;
  std::string bytes;
  const auto read = [&]() -> Result<void> {
    v2::PullReply reply;
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
      } else if (assignment.task && reply.part_case() == v2::PullReply::kWeights &&
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

Result<void> ClientLink::decline_once(grpc::ClientContext& context,
                                      const v2::DeclineRequest& request) const {
  set_deadline(context, kCallSeconds);
  SOTTO_TRY(const v2::Signed call, signed_for(server_line_, method::kDecline, request));
  v2::DeclineReply reply;
  const grpc::Status status = server_->Decline(&context, call, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  return {};
}

Result<void> ClientLink::submit_once(grpc::ClientContext& context, const TaskHeader& task,
                                     const Handed& report, std::span<const double> delays) const {
  const Contract& contract = report.contract;
  SOTTO_TRY(const Chunks chunks, seal_all(report.envelopes, contract));
  set_deadline(context,
               kTransferSeconds + (delays.empty() ? 0.0 : *std::ranges::max_element(delays)));
  v2::SubmitHeader header;
  header.set_name(options_.name);
  header.set_contract(contract.text());
  if (contract.shuffled) header.set_minimum(report.minimum);
  if (contract.shuffled && task.ticket) header.set_ticket(to_bytes(*task.ticket));
  if (!options_.security.plain()) header.set_digest(digest_of(chunks));
  const Line& line = contract.shuffled ? *shuffler_line_ : server_line_;
  v2::SubmitRequest request;
  SOTTO_TRY(*request.mutable_header(),
            signed_for(line, contract.shuffled ? method::kRelay : method::kSubmit, header));
  v2::SubmitReply reply;
  const auto writer =
      contract.shuffled ? shuffler_->Submit(&context, &reply) : server_->Submit(&context, &reply);
  stream_report(*writer, request, chunks, delays);
  const grpc::Status status = writer->Finish();
  if (status.ok()) return {};
  return tl::unexpected(to_error(status, line.address()));
}

Result<std::vector<Asked>> ClientLink::compare_once(grpc::ClientContext& context, const Tag& run,
                                                    RoundId round) const {
  set_deadline(context, kCallSeconds);
  v2::CompareRequest request;
  request.set_name(options_.name);
  request.set_run(to_bytes(run));
  request.set_round(round);
  SOTTO_TRY(const v2::Signed call, signed_for(*shuffler_line_, method::kCompare, request));
  v2::CompareReply reply;
  const grpc::Status status = shuffler_->Compare(&context, call, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.shuffler));
  return read_asked(reply);
}

}  // namespace sotto::rpc
