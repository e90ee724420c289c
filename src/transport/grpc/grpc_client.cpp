#include "transport/grpc/grpc_client.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/utf8.h"
#include "shuffle/report_form.h"
#include "transport/grpc/client_link.h"

namespace sotto::rpc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::duration<double> kRetryPause{0.2};
constexpr std::chrono::duration<double> kLongestPause{5.0};
/// Times as long as for one that does not answer, a side that says it is busy is waited for: a
/// message that is too long has the same code, and whoever sends one forever must not hold a client
/// forever.
constexpr double kBusyPatience = 10.0;

class ClientProcess final : RoundCalls {
 public:
  ClientProcess(ClientOptions options, const MakeFactory& make_factory)
      : options_(std::move(options)), make_factory_(make_factory) {
    link_.emplace(options_);
    round_.on_task = options_.on_task;
    round_.on_note = options_.on_note;
    round_.on_event = options_.on_event;
  }

  Result<ClientSummary> work();

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  /// Calls again while the other side cannot be reached, as long as patience lasts, and ten times
  /// as long while it is busy.
  template <class Call>
  auto patiently(Call&& call) const -> decltype(call());
  Result<void> take_part();
  Result<void> join();
  /// With the bundle as it is now: a certificate that ran out may have been renewed.
  Result<void> join_again();
  /// Whether nobody may answer because the training is over.
  bool ended(const Error& error) const;
  Result<Assignment> pull() const {
    return link_->pull(round_.done_round(), round_.done_attempt(), participant_->weights());
  }
  /// Whether a server is there and has not finished.
  bool is_open() const;
  Result<void> accept(const Invitation& invitation);
  Result<void> do_task(const Assignment& assignment);
  /// When each chunk goes, in seconds from now; empty: at once.
  std::vector<double> delays(Clock::time_point begin, std::size_t chunks) const;

  Result<void> decline(const TaskHeader& task) override {
    return patiently([&] { return link_->decline(task); });
  }
  Result<void> submit(const TaskHeader& task, const Handed& report) override;
  /// Tried once: it is asked again before the next round.
  Result<std::vector<Asked>> compare(const Tag& run, RoundId round) override {
    return link_->compare(run, round);
  }

  ClientOptions options_;
  const MakeFactory& make_factory_;
  std::optional<ClientLink> link_;
  Joined joined_;
  std::unique_ptr<Participant> participant_;
  ClientRound round_{*this};
  RoundId last_round_ = 0;  // that the recipe has
  double latency_ = 0.0;    // seconds: the longest random delay of a chunk
};

template <class Call>
auto ClientProcess::patiently(Call&& call) const -> decltype(call()) {
  const auto begin = Clock::now();
  const std::chrono::duration<double> patience(options_.patience_seconds);
  std::chrono::duration<double> pause = kRetryPause;
  // Each new reason is reported once.
  for (std::string told;;) {
    auto result = call();
    if (result || !may_pass(result.error())) return result;
    const bool busy = result.error().kind == ErrorKind::kBusy;
    if (stopped() || Clock::now() - begin >= (busy ? kBusyPatience : 1.0) * patience) return result;
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
Result<void> ClientProcess::accept(const Invitation& invitation) {
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
  if (options_.share && joined_.index != *options_.share) {
    return fail(ErrorKind::kRefused, "the server gives this client place " +
                                         std::to_string(joined_.index) + ", and it is to be " +
                                         std::to_string(*options_.share) + " (--share)");
  }
  if (invitation.shuffled != (recipe.shuffle.mode == ShuffleMode::kShuffler)) {
    return fail(ErrorKind::kRefused,
                "the server's recipe and the server differ on whether there is a shuffler");
  }
  if (invitation.shuffled && options_.shuffler.empty()) {
    return fail(ErrorKind::kUsage, "this federation has a shuffler: give --shuffler HOST:PORT");
  }
  if (invitation.shuffled) {
    SOTTO_CHECK(patiently([&] { return link_->check_shuffler(); }));
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
  // A report whose noise everybody knows must never be sent again in earnest.
  if (invitation.rehearsal) own.task += ":rehearsal";
  own.run = invitation.run;
  own.authority = authority_of(options_.security);
  own.on_note = [this](const std::string& text) { note(text); };
  last_round_ = static_cast<RoundId>(recipe.federation.rounds);
  latency_ = recipe.shuffle.mode == ShuffleMode::kLatency ? recipe.shuffle.latency : 0.0;
  SOTTO_TRY(participant_,
            Participant::make(recipe, std::move(own), options_.ledger, make_factory_));
  if (options_.on_joined) options_.on_joined(recipe, joined_.index);
  return {};
}

Result<void> ClientProcess::join() {
  const Joined before = joined_;
  SOTTO_TRY(joined_, patiently([&] { return link_->join(); }));
  // The same place in the same training: all that was agreed to stands.
  if (participant_ && joined_ == before) return {};
  auto accepted = accept(joined_.invitation);
  // Another client may have the place of one that does not take part.
  if (!accepted) (void)link_->leave();
  return accepted;
}

bool ClientProcess::is_open() const {
  const auto now = pull();
  return now && !now->finished;
}

Result<void> ClientProcess::join_again() {
  if (!options_.security.plain()) {
    SOTTO_TRY(options_.security,
              read_security(options_.security.bundle->folder, identity::Role::kClient, false));
  }
  link_.emplace(options_);
  // What was refused with the old certificate is handed in once more, if its round is still open.
  round_.forget_attempt();
  return join();
}

bool ClientProcess::ended(const Error& error) const {
  return may_pass(error) && round_.done_round() > 0 && round_.done_round() == last_round_;
}

std::vector<double> ClientProcess::delays(Clock::time_point begin, std::size_t chunks) const {
  if (!(latency_ > 0.0)) return {};
  const std::chrono::duration<double> common = begin - Clock::now();
  BitSource bits = BitSource::from_system();
  std::vector<double> all(chunks);
  for (double& delay : all) delay = std::max(0.0, common.count()) + latency_ * bits.unit();
  return all;
}

Result<void> ClientProcess::do_task(const Assignment& assignment) {
  if (assignment.task->recipe_hash != joined_.invitation.recipe_hash) {
    return fail(ErrorKind::kRefused, "the server has changed its recipe");
  }
  return round_.run(*participant_, *assignment.task, assignment.model);
}

Result<void> ClientProcess::submit(const TaskHeader& task, const Handed& report) {
  return patiently(
      [&] { return link_->submit(task, report, delays(report.begin, report.envelopes.size())); });
}

Result<ClientSummary> ClientProcess::work() {
  const auto done = take_part();
  // Asked to stop while the other side was away: nothing has failed, and all that matters is kept.
  if (!done && !(stopped() && may_pass(done.error()))) {
    Error error = done.error();
    // What is wrong with a server's recipe is said in the server's own words, but not in all of
    // them.
    constexpr std::size_t kLongest = 4000;
    error.message = shorten(one_line(error.message), kLongest);
    return tl::unexpected(std::move(error));
  }
  return ClientSummary{round_.counts(), joined_.index, joined_.invitation.recipe_hash};
}

Result<void> ClientProcess::take_part() {
  // A source that cannot be read is an error before the server hears of this client. What is wrong
  // with values of samples is reported to nobody.
  SOTTO_CHECK(check_source({.source = options_.participant.data,
                            .labels = options_.participant.labels,
                            .folder = options_.participant.data_folder}));
  SOTTO_CHECK(join());
  for (bool just_joined = true; !stopped();) {
    const auto pulled = patiently([&] { return pull(); });
    if (!pulled && ended(pulled.error())) {
      note(pulled.error().message + ": the training is over");
      break;
    }
    if (!pulled && pulled.error().kind == ErrorKind::kRefused && !just_joined) {
      note(pulled.error().message + "; joining again");
      SOTTO_CHECK(join_again());
      just_joined = true;
      continue;
    }
    SOTTO_TRY(const Assignment& assignment, pulled);
    just_joined = false;
    if (assignment.task) {
      const auto done = do_task(assignment);
      if (!done && ended(done.error()) && !is_open()) {
        note(done.error().message + ": the training is over");
        break;
      }
      SOTTO_CHECK(done);
      continue;
    }
    if (assignment.finished) {
      // Whoever came last in the last round was seen by nobody before.
      round_.compare();
      break;
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::clamp(assignment.again_ms, 10U, 10000U)));
  }
  return {};
}

}  // namespace

Result<ClientSummary> run_client(ClientOptions options, const MakeFactory& make_factory) {
  return ClientProcess(std::move(options), make_factory).work();
}

}  // namespace sotto::rpc
