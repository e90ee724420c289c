#include "rpc/client.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "rpc/client_link.h"
#include "rpc/report_form.h"

namespace sotto::rpc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::duration<double> kRetryPause{0.2};
constexpr std::chrono::duration<double> kLongestPause{5.0};

class Client {
 public:
  Client(ClientOptions options, const MakeFactory& make_factory)
      : options_(std::move(options)), make_factory_(make_factory), link_(options_) {}

  Result<ClientSummary> work();

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  void tell(const monitor::Event& event) const {
    if (options_.on_event) options_.on_event(event);
  }
  /// What the ledger says that this client has spent by now.
  void tell_spent(RoundId round) const;
  /// Calls again while the other side cannot be reached, as long as patience lasts, and while it is
  /// busy, however long.
  template <class Call>
  auto patiently(Call&& call) const -> decltype(call());
  Result<void> take_part();
  Result<void> join();
  Result<void> accept(const Invitation& invitation);
  Result<void> do_task(const Assignment& assignment);
  /// When each chunk goes, in seconds from now; empty: at once.
  std::vector<double> delays(std::chrono::time_point<Clock, std::chrono::duration<double>> begin,
                             std::size_t chunks) const;

  ClientOptions options_;
  const MakeFactory& make_factory_;
  ClientLink link_;
  Joined joined_;
  std::unique_ptr<Participant> participant_;
  ClientSummary summary_;
  RoundId done_round_ = 0;
  Attempt done_attempt_{};
  double latency_ = 0.0;  // seconds: the longest random delay of a chunk
};

template <class Call>
auto Client::patiently(Call&& call) const -> decltype(call()) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options_.patience_seconds));
  std::chrono::duration<double> pause = kRetryPause;
  // Each new reason is told once.
  for (std::string told;;) {
    auto result = call();
    if (result || result.error().kind != ErrorKind::kIo) return result;
    const bool busy = is_busy(result.error().message);
    if (stopped() || (!busy && Clock::now() >= end)) return result;
    if (result.error().message != told) {
      told = result.error().message;
      note(told + "; trying again");
    }
    // Many who were turned away must not come back together.
    pause = busy ? std::min(2 * pause, kLongestPause) : kRetryPause;
    std::this_thread::sleep_for(busy ? pause * (0.5 + BitSource::from_system().unit() / 2) : pause);
  }
}

/// What the client has to agree with before it reads data for this server.
Result<void> Client::accept(const Invitation& invitation) {
  SOTTO_TRY(const Recipe recipe,
            parse_recipe(invitation.recipe, "the server's recipe", invitation.settings));
  const std::string hash = recipe.fingerprint();
  if (hash != invitation.recipe_hash) {
    return fail(ErrorKind::kRefused, "the server's recipe is not the one it names: it hashes to " +
                                         hash + ", not to " + invitation.recipe_hash);
  }
  if (!options_.recipe_hash.empty() && hash != options_.recipe_hash) {
    return fail(ErrorKind::kRefused, "the server's recipe hashes to " + hash +
                                         ", and --recipe-hash allows " + options_.recipe_hash +
                                         " only");
  }
  if (invitation.shuffled != (recipe.shuffle.mode == "shuffler")) {
    return fail(ErrorKind::kRefused,
                "the server's recipe and the server differ on whether there is a shuffler");
  }
  if (invitation.shuffled && options_.shuffler.empty()) {
    return fail(ErrorKind::kUsage, "this federation has a shuffler: give --shuffler HOST:PORT");
  }
  if (invitation.shuffled) {
    SOTTO_CHECK(patiently([&] { return link_.check_shuffler(); }));
  }
  if (invitation.rehearsal != options_.participant.rehearsal) {
    return fail(ErrorKind::kRefused,
                invitation.rehearsal
                    ? "the server rehearses: noise would come from a seed that it knows; only a "
                      "client that is started with --rehearsal takes part"
                    : "--rehearsal: this server does not rehearse");
  }
  if (const Security& security = options_.security;
      !security.plain() && invitation.seal_key != security.bundle->server_key) {
    return fail(ErrorKind::kRefused,
                "the server names another key to seal for than server.pub of this bundle");
  }
  ParticipantOptions own = options_.participant;
  own.server_key = invitation.seal_key;
  own.name = options_.name;
  own.index = joined_.index;
  own.clients = invitation.clients;
  own.share = options_.share.has_value();
  own.task = task_name(hash, invitation.run);
  latency_ = recipe.shuffle.mode == "latency" ? recipe.shuffle.latency : 0.0;
  SOTTO_TRY(participant_,
            Participant::make(recipe, std::move(own), options_.ledger, make_factory_));
  if (options_.on_joined) options_.on_joined(recipe, joined_.index);
  return {};
}

Result<void> Client::join() {
  SOTTO_TRY(joined_, patiently([&] { return link_.join(); }));
  summary_.index = joined_.index;
  summary_.recipe_hash = joined_.invitation.recipe_hash;
  return accept(joined_.invitation);
}

std::vector<double> Client::delays(
    std::chrono::time_point<Clock, std::chrono::duration<double>> begin, std::size_t chunks) const {
  if (!(latency_ > 0.0)) return {};
  const std::chrono::duration<double> common = begin - Clock::now();
  BitSource bits = BitSource::from_system();
  std::vector<double> all(chunks);
  for (double& delay : all) delay = std::max(0.0, common.count()) + latency_ * bits.unit();
  return all;
}

Result<void> Client::do_task(const Assignment& assignment) {
  const TaskHeader& task = *assignment.task;
  if (task.recipe_hash != joined_.invitation.recipe_hash) {
    return fail(ErrorKind::kRefused, "the server has changed its recipe");
  }
  const auto received = Clock::now();
  if (options_.on_task) options_.on_task(task.round);
  tell({monitor::What::kRoundBegan, task.round});
  const auto report = participant_->report(task, assignment.model);
  if (!report && report.error().kind == ErrorKind::kRefused) {
    note(report.error().message);
    ++summary_.declined;
    tell({monitor::What::kRoundDeclined, task.round});
    return patiently([&] { return link_.decline(task); });
  }
  if (!report) return tl::unexpected(report.error());
  tell_spent(task.round);
  const auto begin = received + std::chrono::duration<double>(task.send_after_seconds);
  auto sent = patiently([&] {
    return link_.submit(task, joined_.invitation, *report, delays(begin, report->size()));
  });
  if (sent) {
    ++summary_.reports;
    tell({monitor::What::kReportAccepted, task.round});
    return participant_->delivered();
  }
  if (sent.error().kind != ErrorKind::kRefused) return sent;
  // The report stays bound to its charge; the round went on without it.
  note("round " + std::to_string(task.round) + ": " + sent.error().message);
  ++summary_.late;
  tell(monitor::refusal(sent.error(), task.round));
  return {};
}

void Client::tell_spent(RoundId round) const {
  const auto spent = participant_->spent();
  if (!spent) return;
  monitor::Event event{monitor::What::kBudgetSpent, round};
  event.epsilon = spent->epsilon;
  event.delta = spent->limits.renyi_order() > 0.0 ? spent->limits.delta : spent->delta_sum;
  tell(event);
}

Result<ClientSummary> Client::work() {
  const auto done = take_part();
  // Asked to stop while the other side was away: nothing has failed, and all that matters is kept.
  if (!done && !(stopped() && done.error().kind == ErrorKind::kIo)) {
    return tl::unexpected(done.error());
  }
  return summary_;
}

Result<void> Client::take_part() {
  SOTTO_CHECK(join());
  while (!stopped()) {
    SOTTO_TRY(const Assignment assignment, patiently([&] {
                return link_.pull(done_round_, done_attempt_, participant_->weights());
              }));
    if (assignment.task) {
      SOTTO_CHECK(do_task(assignment));
      done_round_ = assignment.task->round;
      done_attempt_ = assignment.task->attempt;
      continue;
    }
    if (assignment.finished) break;
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::clamp(assignment.again_ms, 10U, 10000U)));
  }
  return {};
}

}  // namespace

Result<ClientSummary> run_client(ClientOptions options, const MakeFactory& make_factory) {
  return Client(std::move(options), make_factory).work();
}

}  // namespace sotto::rpc
