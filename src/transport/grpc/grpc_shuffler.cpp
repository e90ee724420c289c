#include "transport/grpc/grpc_shuffler.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "shuffle/spool.h"
#include "shuffle/ticket.h"
#include "sotto/v2/federation.grpc.pb.h"
#include "transport/grpc/credentials.h"
#include "transport/grpc/submission.h"

namespace sotto::rpc {
namespace {

constexpr double kConnectSeconds = 5.0;
/// After the end clients compare once more what they were asked for: so long they are waited for.
constexpr double kLastCompareSeconds = 5.0;
/// What the spool writes behind a report, most often: it is then not copied for it.
constexpr std::size_t kFactsBytes = 4096;

using CompareStream = grpc::ServerUnaryStreamer<v2::Signed, v2::CompareReply>;

/// The spool behind a lock, with what the server collects now.
struct Desk {
  std::mutex mutex;
  Spool spool;
  std::optional<Opened> open;           // nothing before the server has spoken
  std::optional<std::size_t> expected;  // at the end: who reported in the last round
  std::set<std::string> compared;       // of these, since the end
  explicit Desk(Spool own) : spool(std::move(own)) {}
};

class ReportDesk final : public v2::Relay::StreamedService {
 public:
  ReportDesk(Desk& desk, Gate& gate, monitor::Sink tell)
      : desk_(desk), gate_(gate), tell_(std::move(tell)) {}

  grpc::Status Submit(grpc::ServerContext* context, SubmitReader* reader,
                      v2::SubmitReply* reply) override {
    const auto fresh = submit(*context, *reader);
    if (!fresh) {
      if (tell_) tell_(monitor::refusal(fresh.error()));
      return to_status(fresh.error());
    }
    if (tell_ && *fresh) tell_({monitor::What::kReportAccepted});
    reply->set_known(!*fresh);
    return grpc::Status::OK;
  }

  grpc::Status StreamedCompare(grpc::ServerContext* context, CompareStream* stream) override {
    const auto asked = compare(*context, *stream);
    if (!asked) return to_status(asked.error());
    v2::CompareReply reply;
    write_asked(*asked, reply);
    stream->Write(reply);
    return grpc::Status::OK;
  }

 private:
  /// Whether the report is one to keep; false: it is kept already. An error for a round that is not
  /// collected now, a sender that was not asked and a contract that the server does not collect.
  Result<bool> check(const Submission& submission) {
    const Contract& contract = submission.contract;
    if (desk_.spool.over(contract.run, contract.round)) {
      return fail(ErrorKind::kRefused, "the round is over");
    }
    if (!desk_.open || desk_.open->run != contract.run || desk_.open->open.round < contract.round) {
      return fail(ErrorKind::kIo, "the server has not announced this round yet");
    }
    const Coordinator::Open& open = desk_.open->open;
    if (open.round > contract.round) return fail(ErrorKind::kRefused, "the round is over");
    const std::string sender = sender_of(submission.name);
    if (desk_.spool.holds(sender)) return false;
    const Ticket own =
        make_ticket(open.ticket_key, contract.run, contract.round, contract.group, sender);
    if (!submission.ticket || !same_ticket(*submission.ticket, own)) {
      return fail(ErrorKind::kRefused, "report: its sender was not asked for one in this round");
    }
    if (contract.group >= open.groups.size()) {
      return fail(ErrorKind::kRefused, "there is no such group of clients");
    }
    const Coordinator::Open::Group& group = open.groups[contract.group];
    if (std::ranges::find(group.declined, own) != group.declined.end()) {
      return fail(ErrorKind::kRefused, "report: its sender has declined the round");
    }
    if (!contract.shuffled || contract.digest() != group.contract) {
      SOTTO_CHECK(desk_.spool.note_other(sender, contract));
      return fail(ErrorKind::kRefused,
                  "report: of another contract than the server collects: it asked this client for "
                  "something else than others");
    }
    return true;
  }

  Result<bool> submit(grpc::ServerContext& context, SubmitReader& reader) {
    Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_CHECK(turn.entered());
    SOTTO_TRY(const Submission submission, read_header(reader, context, method::kRelay, gate_));
    {
      const std::scoped_lock lock(desk_.mutex);
      SOTTO_TRY(const bool fresh, check(submission));
      if (!fresh) return false;
    }
    // By the contract that its client signed, which is the one that the server named.
    const ChunkCount count{submission.contract.chunks, submission.contract.chunk_bytes};
    SOTTO_CHECK(turn.admit(submission.name, {count.chunks * count.bytes, count.chunks, {}}));
    std::vector<std::byte> report;
    report.reserve(count.chunks * count.bytes + kFactsBytes);
    SOTTO_CHECK(read_chunks(reader, turn, submission, count, false,
                            [&](std::size_t, std::span<const std::byte> sealed) -> Result<void> {
                              report.insert(report.end(), sealed.begin(), sealed.end());
                              return {};
                            }));
    const std::scoped_lock lock(desk_.mutex);
    SOTTO_TRY(const bool fresh, check(submission));
    if (!fresh) return false;
    return desk_.spool.add(sender_of(submission.name), submission.contract, submission.minimum,
                           std::move(report));
  }

  Result<std::vector<Asked>> compare(grpc::ServerContext& context, CompareStream& stream) {
    const Turnstile::Turn turn = turn_of(turnstile_, context);
    SOTTO_CHECK(turn.entered());
    SOTTO_CHECK(gate_.check_member(context, identity::Role::kClient));
    v2::Signed request;
    if (!stream.Read(&request)) return fail(ErrorKind::kCorrupt, "a call without its request");
    SOTTO_TRY(const auto message,
              gate_.admit<v2::CompareRequest>(context, method::kCompare, request));
    SOTTO_TRY(const Comparison comparison, read_compare(message));
    const std::scoped_lock lock(desk_.mutex);
    if (desk_.expected) desk_.compared.insert(message.name());
    return desk_.spool.asked(comparison.run, comparison.round);
  }

  Desk& desk_;
  Gate& gate_;
  monitor::Sink tell_;
  Turnstile turnstile_;
};

/// Whether other clients have declined than before, of groups that are the same.
bool declined_differ(const Opened& before, const Opened& now) {
  return !std::ranges::equal(before.open.groups, now.open.groups, {},
                             &Coordinator::Open::Group::declined,
                             &Coordinator::Open::Group::declined);
}

/// The shuffler's side of its connection to the server.
class Forwarder {
 public:
  Forwarder(const ShufflerOptions& options, Desk& desk)
      : options_(options),
        desk_(desk),
        line_(options.server, options.security, identity::Role::kServer),
        stub_(v2::Intake::NewStub(line_.channel())) {}

  /// One turn: asks what is collected and passes on what is ready. True: all is finished.
  Result<bool> turn();
  const ShufflerSummary& summary() const { return summary_; }
  std::chrono::milliseconds pause{100};

 private:
  Result<Opened> ask();
  Result<void> forward(const Opened& opened, std::size_t group);
  /// `chunks` of each report.
  Result<void> send(const Opened& opened, std::size_t group, std::uint64_t reports,
                    std::uint64_t chunks);
  /// Reports of clients that have declined are not in the batch. The lock is held.
  void leave_out(const Opened& opened);
  void note(const std::string& text);

  const ShufflerOptions& options_;
  Desk& desk_;
  Line line_;
  std::unique_ptr<v2::Intake::Stub> stub_;
  ShufflerSummary summary_;
  bool over_ = false;  // what the server announces was collected before
  std::string noted_;  // so that what lasts is reported once
};

Result<Opened> Forwarder::ask() {
  // Says in words why a handshake was refused, and that nobody answers.
  SOTTO_TRY(const std::string server, line_.peer_name(kConnectSeconds));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v2::OpenRequest request;
  {
    const std::scoped_lock lock(desk_.mutex);
    if (desk_.open) {
      request.set_round(desk_.open->open.round);
      for (std::size_t group = 0; group < desk_.open->open.groups.size(); ++group) {
        request.add_held(static_cast<std::uint32_t>(desk_.spool.reports(group)));
      }
    }
  }
  v2::OpenReply reply;
  const grpc::Status status = stub_->Open(&context, request, &reply);
  if (!status.ok()) return tl::unexpected(to_error(status, options_.server));
  SOTTO_TRY(Opened opened, read_open(reply));
  pause = std::chrono::milliseconds(std::clamp(reply.again_ms(), 10U, 10000U));
  const std::scoped_lock lock(desk_.mutex);
  if (opened.open.finished) {
    // The server needs nothing more: what was passed on is deleted.
    if (!desk_.expected) {
      const SpoolRound& last = desk_.spool.round();
      desk_.expected = 0;
      for (const Asked& asked : desk_.spool.asked(last.run, last.round)) {
        *desk_.expected += asked.reports;
      }
    }
    SOTTO_CHECK(desk_.spool.finish());
    desk_.open.reset();
    return opened;
  }
  if (opened.open.round == 0) return opened;
  const bool fresh =
      opened.open.round != desk_.spool.round().round || opened.run != desk_.spool.round().run;
  SpoolRound round{opened.run, opened.open.round, {}};
  for (const auto& group : opened.open.groups) round.contracts.push_back(group.contract);
  const auto begun = desk_.spool.begin(round);
  if (!begun && begun.error().kind == ErrorKind::kRefused) {
    over_ = true;
    note(begun.error().message);
    return opened;
  }
  if (!begun) return tl::unexpected(begun.error());
  over_ = false;
  if (options_.on_event && fresh) {
    options_.on_event({monitor::What::kRoundBegan, opened.open.round});
  }
  const bool declined = fresh || !desk_.open || declined_differ(*desk_.open, opened);
  desk_.open = opened;
  // From here on a report of whoever has declined is refused, so each list is gone through once.
  if (declined) leave_out(opened);
  return opened;
}

void Forwarder::leave_out(const Opened& opened) {
  const Coordinator::Open& open = opened.open;
  for (std::size_t group = 0; group < open.groups.size(); ++group) {
    if (open.groups[group].declined.empty()) continue;
    for (const std::string& sender : desk_.spool.senders(group)) {
      const Ticket ticket = make_ticket(open.ticket_key, opened.run, open.round, group, sender);
      if (std::ranges::find(open.groups[group].declined, ticket) !=
          open.groups[group].declined.end()) {
        desk_.spool.leave_out(group, sender);
      }
    }
  }
}

void Forwarder::note(const std::string& text) {
  if (options_.on_note && text != noted_) options_.on_note(text);
  noted_ = text;
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
  // A round that is over gets nothing, and its server need not wait for it.
  if (over_) return send(opened, index, 0, 0);
  std::uint64_t reports = 0;
  std::uint64_t chunks = 0;
  std::vector<std::string> notes;
  {
    const std::scoped_lock lock(desk_.mutex);
    Spool& spool = desk_.spool;
    const BatchState state = spool.state(index);
    const bool open = state == BatchState::kNone || state == BatchState::kCollecting;
    const bool all_here = spool.reports(index) >= group.expected;
    if (open && !all_here && opened.open.seconds_left > 0.0) return {};
    // 0: too few to hide among; nothing leaves, and the server need not wait.
    SOTTO_TRY(reports, spool.close(index, std::max({1U, opened.minimum, options_.minimum})));
    if (reports > 0) chunks = spool.contract(index)->chunks;
    notes = spool.take_notes();
  }
  for (const std::string& text : notes) note(text);
  return send(opened, index, reports, chunks);
}

Result<void> Forwarder::send(const Opened& opened, std::size_t index, std::uint64_t reports,
                             std::uint64_t chunks) {
  const Coordinator::Open::Group& group = opened.open.groups[index];
  grpc::ClientContext context;
  v2::DeliverReply reply;
  const auto stream = stub_->Deliver(&context, &reply);
  v2::DeliverRequest request;
  v2::BatchHeader& header = *request.mutable_header();
  header.set_round(opened.open.round);
  header.set_attempt(to_bytes(opened.open.attempt));
  header.set_group(static_cast<std::uint32_t>(index));
  header.set_reports(static_cast<std::uint32_t>(reports));
  header.set_skip(group.skip);
  bool flows = stream->Write(request);
  std::uint64_t sent = 0;
  for (std::size_t position = 0; flows && reports > 0 && position < chunks; ++position) {
    if ((position + 1) * reports <= group.skip) continue;
    std::vector<std::vector<std::byte>> batch;
    {
      const std::scoped_lock lock(desk_.mutex);
      auto next = desk_.spool.batch(index, position);
      if (!next) {
        context.TryCancel();
        stream->Finish();
        return tl::unexpected(next.error());
      }
      batch = std::move(*next);
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
  const auto connections = std::make_shared<Connections>(Connections::Limits::of_process());
  SOTTO_TRY(Gate gate,
            Gate::open(options.security, options.state / "requests.sqlite", connections));
  ReportDesk service(desk, gate, options.on_event);
  SOTTO_TRY(std::unique_ptr<Listener> listener,
            Listener::start(options.listen, options.security, {&service}, connections));
  if (options.on_ready) options.on_ready(listener->address());
  Forwarder forwarder(options, desk);
  std::string last;  // problem, so that one that lasts is reported once
  Result<ShufflerSummary> outcome = ShufflerSummary{};
  while (options.stop == nullptr || !*options.stop) {
    const auto finished = forwarder.turn();
    if (finished && *finished) break;
    if (!finished && !may_pass(finished.error()) && finished.error().kind != ErrorKind::kRefused) {
      outcome = tl::unexpected(finished.error());
      break;
    }
    const std::string problem = finished ? "" : finished.error().message;
    if (options.on_note && problem != last && !problem.empty()) options.on_note(problem);
    last = problem;
    std::this_thread::sleep_for(forwarder.pause);
  }
  const Stopwatch ended;
  const auto all_compared = [&] {
    const std::scoped_lock lock(desk.mutex);
    return !desk.expected || desk.compared.size() >= *desk.expected;
  };
  while (outcome && ended.seconds() < kLastCompareSeconds && !all_compared() &&
         (options.stop == nullptr || !*options.stop)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  listener.reset();
  if (outcome) outcome = forwarder.summary();
  return outcome;
}

}  // namespace sotto::rpc
