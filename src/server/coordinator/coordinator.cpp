#include "server/coordinator/coordinator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "plan/budget.h"

namespace sotto::rpc {
namespace {

Collection::Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Collection::Clock::duration>(
      std::chrono::duration<double>(count));
}

double to_seconds(Collection::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// With what a report of the round costs in the group that pays most.
monitor::Event begun(const RoundPlan& plan) {
  monitor::Event event{monitor::What::kRoundBegan, plan.round, plan.clients()};
  event.epsilon = 0.0;
  event.delta = 0.0;
  for (const ClientGroup& group : plan.groups) {
    const Cost cost = charge_of(group.parts).cost;
    event.epsilon = std::max(*event.epsilon, cost.epsilon);
    event.delta = std::max(*event.delta, cost.delta);
  }
  return event;
}

}  // namespace

Coordinator::Coordinator(Settings settings, const identity::SealKey& key, Roster roster)
    : settings_(std::move(settings)),
      key_(key),
      task_(task_name(settings_.invitation.recipe_hash, settings_.invitation.run)),
      roster_(std::move(roster)) {
  settings_.invitation.seal_key = key_.public_key;
  // They may have been asked in the first round already, by the server before this one.
  for (const auto& [name, place] : roster_.places()) tasked_.insert(name);
}

identity::ChunkPlan Coordinator::chunk_plan(RoundId round, const ReportForm& form) const {
  return {task_, round, form.largest_envelope()};
}

Result<Delivery> Coordinator::collect(const RoundPlan& plan, std::span<const float> model,
                                      std::span<const EnvelopeSink> sinks) {
  const bool shuffled = settings_.invitation.shuffled;
  Collection::Times times{seconds(settings_.wait_seconds), seconds(settings_.round_seconds), {}};
  // After the deadline a shuffler has as long again to hand over the batch that it then closes.
  if (shuffled) times.grace = times.round;
  SOTTO_TRY(Collection collection,
            Collection::begin(plan, model, settings_.invitation.terms(),
                              make_ticket_key(key_, settings_.invitation.run, plan.round), times));
  if (on_begin) on_begin(plan, model.size());
  tell(begun(plan));
  std::unique_lock lock(mutex_);
  round_.emplace(std::move(collection));
  if (std::exchange(begun_before_, true)) tasked_.clear();
  closed_places_.clear();
  sinks_ = sinks;
  last_round_ = plan.round;
  held_ = 0;
  const auto goes_on = [&] {
    const RoundState state = round_->state();
    return !interrupted_ && (state == RoundState::kWaiting || state == RoundState::kRunning);
  };
  while (goes_on()) changed_.wait_until(lock, round_->end());
  const bool abandoned = round_->state() == RoundState::kAbandoned;
  Delivery delivery;
  delivery.groups = round_->outcome(shuffler_here_ ? "the shuffler has handed over no batch"
                                                   : "no shuffler has come");
  for (std::size_t group = 0; opened_rounds && group < delivery.groups.size(); ++group) {
    // What was opened before a restart counts as seen, also if nothing comes of it now.
    std::optional<std::uint64_t>& seen = delivery.groups[group].opened;
    if (opened_rounds->has(plan.round, group)) seen = std::max<std::uint64_t>(seen.value_or(0), 1);
  }
  count_missed();
  round_.reset();
  sinks_ = {};
  if (interrupted_) return fail(ErrorKind::kIo, "stopped before the end of the round");
  if (abandoned) {
    return fail(ErrorKind::kIo, "round " + std::to_string(plan.round) + ": no client came within " +
                                    short_number(settings_.wait_seconds) +
                                    " s (--wait-seconds); the same command goes on from here");
  }
  return delivery;
}

void Coordinator::finish(double linger_seconds) {
  std::unique_lock lock(mutex_);
  finished_ = true;
  changed_.wait_for(lock, seconds(linger_seconds), [&] {
    const bool shuffler = !shuffler_here_ || shuffler_told_;
    return interrupted_ || (shuffler && told_.size() >= roster_.size());
  });
}

void Coordinator::interrupt() {
  const std::scoped_lock lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

bool Coordinator::interrupted() const {
  const std::scoped_lock lock(mutex_);
  return interrupted_;
}

Result<Coordinator::Pulled> Coordinator::pull(const std::string& name, RoundId done_round,
                                              const Attempt& done_attempt) {
  const std::scoped_lock lock(mutex_);
  SOTTO_TRY(const std::uint32_t place, place_of(name));
  Pulled pulled;
  pulled.finished = finished_;
  pulled.round = last_round_;
  if (finished_) {
    told_.insert(name);
    changed_.notify_all();
  }
  if (!round_) return pulled;
  const auto group = round_->group_of(place);
  if (!group || !asks(place)) return pulled;
  if (done_round == last_round_ && done_attempt == round_->attempt()) return pulled;
  if (round_->start_clock()) {
    monitor::Event clock{monitor::What::kClockStarted, last_round_};
    clock.seconds = settings_.round_seconds;
    tell(clock);
  }
  tasked_.insert(name);
  changed_.notify_all();
  pulled.task = {round_->attempt(),
                 *group,
                 round_->plan().groups[*group].parts,
                 round_->model(),
                 to_seconds(round_->left()),
                 0.0,
                 std::nullopt};
  const double spare = settings_.round_seconds - settings_.work_seconds;
  pulled.task->send_after_seconds = std::max(0.0, pulled.task->deadline_seconds - spare);
  if (settings_.invitation.shuffled) pulled.task->ticket = round_->ticket(*group, name);
  return pulled;
}

Result<void> Coordinator::decline(const std::string& name, RoundId round, const Attempt& attempt) {
  const std::scoped_lock lock(mutex_);
  SOTTO_TRY(const std::uint32_t place, place_of(name));
  if (!is_open(round) || round_->attempt() != attempt) return {};
  // Once: a client that says it again and again would drown all other events.
  if (!round_->decline(place, name)) return {};
  declined_[name] = round;
  tell({monitor::What::kRoundDeclined, round});
  changed_.notify_all();
  return {};
}

Result<std::optional<Coordinator::Awaited>> Coordinator::awaited(const std::string& name,
                                                                 RoundId round) {
  const std::scoped_lock lock(mutex_);
  SOTTO_TRY(const std::uint32_t place, place_of(name));
  if (settings_.invitation.shuffled) {
    return fail(ErrorKind::kRefused, "reports of this federation go to its shuffler");
  }
  if (!is_open(round)) {
    return fail(ErrorKind::kRefused, "round " + std::to_string(round) + " is not open");
  }
  const auto group = round_->group_of(place);
  if (!group || !asks(place)) {
    return fail(ErrorKind::kRefused, "this client was not asked in this round");
  }
  const Collection::Group& wanted = round_->groups()[*group];
  if (wanted.arrived.contains(place)) return std::optional<Awaited>();
  SOTTO_CHECK(remember_opened(round, *group));
  return std::optional<Awaited>(Awaited{round, *group, wanted.form, wanted.contract});
}

Result<Envelope> Coordinator::open_report(const Awaited& report, std::size_t position,
                                          std::span<const std::byte> sealed) const {
  const ReportForm& form = *report.form;
  return open_chunk(sealed, chunk_plan(report.round, form), form.chunk(position), key_);
}

Result<bool> Coordinator::submit(const std::string& name, const Awaited& report,
                                 std::span<const std::optional<Envelope>> opened) {
  if (opened.size() != report.form->chunks() ||
      !std::ranges::all_of(opened, [](const auto& chunk) { return chunk.has_value(); })) {
    return fail(ErrorKind::kRefused,
                "a report without all of its " + std::to_string(report.form->chunks()) + " chunks");
  }
  const std::scoped_lock lock(mutex_);
  SOTTO_TRY(const std::uint32_t place, place_of(name));
  if (!is_open(report.round)) {
    return fail(ErrorKind::kRefused,
                "round " + std::to_string(report.round) + " is not open any more");
  }
  if (round_->group_of(place) != report.group || !asks(place)) {
    return fail(ErrorKind::kRefused, "this client has declined the round");
  }
  if (round_->groups()[report.group].arrived.contains(place)) return false;
  // All of them were checked, so none is refused now and the report counts whole.
  for (const auto& envelope : opened) SOTTO_CHECK(sinks_.front()(*envelope));
  round_->arrived(place, report.group);
  tell({monitor::What::kReportAccepted, report.round});
  show_progress();
  // Nobody waits for a single report: waking the run for each costs more than adding it.
  if (round_->complete()) changed_.notify_all();
  return true;
}

Coordinator::Open Coordinator::open() {
  const std::scoped_lock lock(mutex_);
  Open open;
  open.finished = finished_;
  shuffler_here_ = true;
  if (finished_) {
    shuffler_told_ = true;
    changed_.notify_all();
  }
  if (!round_) return open;
  open.round = round_->plan().round;
  open.attempt = round_->attempt();
  open.ticket_key = round_->ticket_key();
  open.seconds_left = round_->deadline() ? to_seconds(round_->left()) : settings_.round_seconds;
  for (const Collection::Group& group : round_->groups()) {
    open.groups.push_back(
        {group.asked.size(), group.contract, group.taken, group.closed(), group.declined});
  }
  return open;
}

Result<void> Coordinator::remember_opened(RoundId round, std::size_t group) {
  return opened_rounds ? opened_rounds->add(round, group) : Result<void>();
}

void Coordinator::held(RoundId round, std::uint64_t reports) {
  const std::scoped_lock lock(mutex_);
  if (!is_open(round)) return;
  reports = std::min<std::uint64_t>(reports, round_->plan().clients());
  if (reports == held_) return;
  held_ = reports;
  monitor::Event event{monitor::What::kReportsHeld, round};
  event.reports = reports;
  tell(event);
}

Result<std::uint64_t> Coordinator::begin_batch(RoundId round, const Attempt& attempt,
                                               std::size_t group, std::uint64_t reports,
                                               std::uint64_t skip) {
  const std::scoped_lock lock(mutex_);
  if (!is_open(round) || round_->attempt() != attempt) {
    return fail(ErrorKind::kRefused, "batch refused: its round is not open");
  }
  SOTTO_CHECK(round_->begin_batch(group, reports, skip));
  if (reports > 0) SOTTO_CHECK(remember_opened(round, group));
  if (reports == 0) tell({monitor::What::kBatchWithheld, round});
  show_progress();
  changed_.notify_all();
  return round_->groups()[group].stream;
}

Result<void> Coordinator::deliver(const Attempt& attempt, std::size_t group, std::uint64_t stream,
                                  std::span<const std::byte> sealed) {
  std::shared_ptr<const ReportForm> form;
  std::size_t place = 0;
  RoundId round = 0;
  std::uint64_t number = 0;
  // What an older connection still held may arrive after its shuffler has begun anew.
  const auto is_late = [&] { return round_->groups()[group].stream != stream; };
  const auto late = [] {
    return fail(ErrorKind::kRefused, "chunk refused: another stream delivers this batch");
  };
  {
    const std::scoped_lock lock(mutex_);
    if (!round_ || round_->attempt() != attempt) {
      return fail(ErrorKind::kRefused, "chunk refused: its round is not open");
    }
    if (is_late()) return late();
    SOTTO_TRY(place, round_->next_chunk(group));
    form = round_->groups()[group].form;
    round = round_->plan().round;
    number = round_->groups()[group].taken;
  }
  // Opening takes most of the time and needs no lock.
  const auto envelope = open_chunk(sealed, chunk_plan(round, *form), form->chunk(place), key_);
  const std::scoped_lock lock(mutex_);
  if (!round_ || round_->attempt() != attempt || is_late() ||
      round_->groups()[group].taken != number) {
    return late();
  }
  const bool counted = !round_->repeated(group, sealed) && envelope && sinks_.front()(*envelope);
  round_->took_chunk(group, counted);
  if (round_->groups()[group].closed()) {
    tell_batch(round, round_->groups()[group]);
    changed_.notify_all();
  }
  return {};
}

void Coordinator::tell_batch(RoundId round, const Collection::Group& group) const {
  monitor::Event event{monitor::What::kBatchPassed, round};
  event.reports = *group.batch;
  event.chunks = group.taken;
  tell(event);
}

void Coordinator::show_progress() {
  if (!on_report || !round_) return;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  for (const Collection::Group& group : round_->groups()) {
    done += settings_.invitation.shuffled ? group.batch.value_or(0) : group.arrived.size();
    total += group.asked.size();
  }
  on_report(round_->plan().round, done, total);
}

}  // namespace sotto::rpc
