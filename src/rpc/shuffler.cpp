#include "rpc/shuffler.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "rpc/credentials.h"
#include "rpc/spool.h"
#include "rpc/submission.h"
#include "sotto/v1/federation.grpc.pb.h"

namespace sotto::rpc {
namespace {

constexpr double kConnectSeconds = 5.0;

/// The spool behind a lock, with what the server collects now.
struct Desk {
  std::mutex mutex;
  Spool spool;
  std::optional<Opened> open;  // nothing before the server has spoken
  std::string recipe_hash;
  explicit Desk(Spool own) : spool(std::move(own)) {}
};

class ReportDesk final : public v1::Relay::Service {
 public:
  ReportDesk(Desk& desk, Gate& gate, monitor::Sink tell)
      : desk_(desk), gate_(gate), tell_(std::move(tell)) {}

  grpc::Status Submit(grpc::ServerContext* context, SubmitReader* reader,
                      v1::SubmitReply* reply) override {
    const auto fresh = submit(*context, *reader);
    if (!fresh) {
      if (tell_) tell_(monitor::refusal(fresh.error()));
      return to_status(fresh.error());
    }
    if (tell_ && *fresh) tell_({monitor::What::kReportAccepted});
    reply->set_known(!*fresh);
    return grpc::Status::OK;
  }

 private:
  /// An error unless this is the round that is collected now.
  Result<void> check(const Submission& submission) const {
    if (!desk_.open || desk_.open->open.round < submission.round ||
        desk_.open->run != submission.run) {
      return fail(ErrorKind::kIo, "the server has not announced this round yet");
    }
    if (desk_.open->open.round > submission.round) {
      return fail(ErrorKind::kRefused, "the round is over");
    }
    if (submission.recipe_hash != desk_.recipe_hash) {
      return fail(ErrorKind::kRefused, "a report of another recipe");
    }
    if (submission.group >= desk_.spool.round().groups.size()) {
      return fail(ErrorKind::kRefused, "there is no such group of clients");
    }
    return {};
  }

  Result<bool> submit(const grpc::ServerContext& context, SubmitReader& reader) {
    Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_CHECK(turn.entered());
    SOTTO_TRY(const Submission submission, read_header(reader, context, method::kRelay, gate_));
    ChunkCount count;
    {
      const std::scoped_lock lock(desk_.mutex);
      SOTTO_CHECK(check(submission));
      const SpoolRound::Group& group = desk_.spool.round().groups[submission.group];
      count = {group.chunks, group.chunk_bytes};
    }
    SOTTO_CHECK(turn.admit(submission.name, count.chunks * count.bytes));
    std::vector<std::byte> report;
    report.reserve(count.chunks * count.bytes);
    SOTTO_CHECK(read_chunks(reader, submission, count, false,
                            [&](std::size_t, std::span<const std::byte> sealed) -> Result<void> {
                              report.insert(report.end(), sealed.begin(), sealed.end());
                              return {};
                            }));
    const std::scoped_lock lock(desk_.mutex);
    SOTTO_CHECK(check(submission));
    return desk_.spool.add(submission.name, submission.group, report);
  }

  Desk& desk_;
  Gate& gate_;
  monitor::Sink tell_;
  Turnstile turnstile_;
};

/// The shuffler's side of its connection to the server.
class Forwarder {
 public:
  Forwarder(const ShufflerOptions& options, Desk& desk)
      : options_(options),
        desk_(desk),
        line_(options.server, options.security, identity::Role::kServer),
        stub_(v1::Intake::NewStub(line_.channel())) {}

  /// One turn: asks what is collected and passes on what is ready. True: all is finished.
  Result<bool> turn();
  const ShufflerSummary& summary() const { return summary_; }
  std::chrono::milliseconds pause{100};

 private:
  Result<Opened> ask();
  Result<void> forward(const Opened& opened, std::size_t group);
  Result<void> send(const Opened& opened, std::size_t group, std::uint64_t reports);

  const ShufflerOptions& options_;
  Desk& desk_;
  Line line_;
  std::unique_ptr<v1::Intake::Stub> stub_;
  ShufflerSummary summary_;
};

Result<Opened> Forwarder::ask() {
  // Says in words why a handshake was refused, and that nobody answers.
  SOTTO_TRY(const std::string server, line_.peer_name(kConnectSeconds));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1::OpenReply reply;
  const grpc::Status status = stub_->Open(&context, {}, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  SOTTO_TRY(Opened opened, read_open(reply));
  pause = std::chrono::milliseconds(std::clamp(reply.again_ms(), 10U, 10000U));
  const std::scoped_lock lock(desk_.mutex);
  if (opened.open.round > 0) {
    if (options_.on_event && opened.open.round != desk_.spool.round().round) {
      options_.on_event({monitor::What::kRoundBegan, opened.open.round});
    }
    SpoolRound round{opened.run, opened.open.round, {}};
    for (const auto& group : opened.open.groups) {
      round.groups.push_back({group.chunks, group.chunk_bytes});
    }
    SOTTO_CHECK(desk_.spool.begin(round));
    desk_.recipe_hash = reply.recipe_hash();
    desk_.open = opened;
  }
  return opened;
}

Result<bool> Forwarder::turn() {
  SOTTO_TRY(const Opened opened, ask());
  if (opened.open.finished) return true;
  for (std::size_t group = 0; group < opened.open.groups.size(); ++group) {
    SOTTO_CHECK(forward(opened, group));
  }
  return false;
}

Result<void> Forwarder::forward(const Opened& opened, std::size_t index) {
  const Coordinator::Open::Group& group = opened.open.groups[index];
  if (group.closed || group.expected == 0) return {};
  std::uint64_t reports = 0;
  {
    const std::scoped_lock lock(desk_.mutex);
    reports = desk_.spool.reports(index);
    if (!desk_.spool.closed(index)) {
      const bool all_here = reports >= group.expected;
      if (!all_here && opened.open.seconds_left > 0.0) return {};
      if (reports < std::max({1U, opened.minimum, options_.minimum})) {
        // Too few to hide among: nothing leaves, and the server need not wait.
        reports = 0;
      } else {
        SOTTO_CHECK(desk_.spool.close(index));
        reports = desk_.spool.reports(index);
      }
    }
  }
  return send(opened, index, reports);
}

Result<void> Forwarder::send(const Opened& opened, std::size_t index, std::uint64_t reports) {
  const Coordinator::Open::Group& group = opened.open.groups[index];
  grpc::ClientContext context;
  v1::DeliverReply reply;
  const auto stream = stub_->Deliver(&context, &reply);
  v1::DeliverRequest request;
  v1::BatchHeader& header = *request.mutable_header();
  header.set_round(opened.open.round);
  header.set_attempt(to_bytes(opened.open.attempt));
  header.set_group(static_cast<std::uint32_t>(index));
  header.set_reports(static_cast<std::uint32_t>(reports));
  header.set_skip(group.skip);
  bool flows = stream->Write(request);
  std::uint64_t sent = 0;
  for (std::size_t position = 0; flows && reports > 0 && position < group.chunks; ++position) {
    if ((position + 1) * reports <= group.skip) continue;
    std::vector<std::vector<std::byte>> batch;
    {
      const std::scoped_lock lock(desk_.mutex);
      SOTTO_TRY(batch, desk_.spool.batch(index, position));
    }
    for (std::size_t i = 0; flows && i < batch.size(); ++i) {
      if (position * reports + i < group.skip) continue;
      request.set_sealed(batch[i].data(), batch[i].size());
      flows = stream->Write(request);
      sent += flows ? 1 : 0;
    }
  }
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  summary_.batches += reports > 0 ? 1 : 0;
  summary_.withheld += reports > 0 ? 0 : 1;
  summary_.reports += reports;
  summary_.chunks += sent;
  if (options_.on_event) {
    monitor::Event event{reports > 0 ? monitor::What::kBatchPassed : monitor::What::kBatchWithheld,
                         opened.open.round};
    event.reports = reports;
    event.chunks = sent;
    options_.on_event(event);
  }
  return {};
}

}  // namespace

Result<ShufflerSummary> run_shuffler(const ShufflerOptions& options) {
  SOTTO_TRY(Spool spool, Spool::open(options.state));
  Desk desk(std::move(spool));
  SOTTO_TRY(Gate gate, Gate::open(options.security, options.state / "requests.sqlite"));
  ReportDesk service(desk, gate, options.on_event);
  std::string address;
  SOTTO_TRY(const std::unique_ptr<grpc::Server> server,
            listen(options.listen, options.security, {&service}, address));
  if (options.on_ready) options.on_ready(address);
  Forwarder forwarder(options, desk);
  std::string last;  // problem, so that one that lasts is told once
  Result<ShufflerSummary> outcome = ShufflerSummary{};
  while (options.stop == nullptr || !*options.stop) {
    const auto finished = forwarder.turn();
    if (finished && *finished) break;
    if (!finished && finished.error().kind != ErrorKind::kIo &&
        finished.error().kind != ErrorKind::kRefused) {
      outcome = tl::unexpected(finished.error());
      break;
    }
    const std::string problem = finished ? "" : finished.error().message;
    if (options.on_note && problem != last && !problem.empty()) options.on_note(problem);
    last = problem;
    std::this_thread::sleep_for(forwarder.pause);
  }
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  server->Wait();
  if (outcome) outcome = forwarder.summary();
  return outcome;
}

}  // namespace sotto::rpc
