// The server's loop: plan, collect, aggregate, evaluate, remember.
//
// The state between rounds is the model, the list of rounds so far and who had no budget in them.
// Everything random is keyed by (seed, purpose, round, client), so nothing else has to be saved for
// a killed run to go on and end in the same bits: a client that had paid for a round finds its
// charge, and makes the very report that the charge is bound to.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/parallel.h"
#include "client/recipe_training.h"
#include "plan/baselines.h"
#include "plan/budget.h"
#include "plan/planner.h"
#include "plan/ranges.h"
#include "plan/round_plan.h"
#include "plan/selection.h"
#include "record/run_folder.h"
#include "record/run_json.h"
#include "server/attendance.h"
#include "server/combine.h"
#include "server/exposure_log.h"
#include "server/local_learning.h"
#include "server/round.h"
#include "server/run_claims.h"
#include "server/run_result.h"
#include "server/server_step.h"
#include "server/setup.h"
#include "server/statistics_step.h"
#include "transport/mpi/mpi_transport.h"

namespace sotto {
namespace {

class Run {
 public:
  Run(const Recipe& recipe, const RunOptions& options, Setup setup, RunFolder folder,
      Planner planner, std::shared_ptr<MpiTransport> ranks)
      : recipe_(recipe),
        options_(options),
        setup_(std::move(setup)),
        folder_(std::move(folder)),
        planner_(std::move(planner)),
        ranks_(std::move(ranks)),
        selection_(recipe.federation, setup_.clients, setup_.clients_per_round),
        server_(recipe),
        log_(planner_, setup_.clients, is_anonymous(recipe.federation)) {}

  Result<RunResult> execute();

 private:
  Result<void> restore();
  Result<void> replay();
  Result<void> check_coins(const Checkpoint& checkpoint) const;
  Result<std::vector<ClientGroup>> groups_of(RoundId number,
                                             std::span<const std::uint32_t> clients) const;
  void step(RoundId number, const RoundPlan& plan, const CollectedRound& collected);
  /// Nothing where no client had the budget for the round.
  Result<std::optional<RoundMetrics>> round(RoundId number);
  Result<void> evaluate(RoundMetrics& metrics);
  Result<void> remember();
  bool should_evaluate(RoundId number) const;
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  Result<void> claim();
  Result<nlohmann::json> record(RunStatus status) const;

  /// The simulated clients; null where clients are processes.
  ClientPool* pool() { return setup_.simulated ? setup_.simulated->pool.get() : nullptr; }

  const Recipe& recipe_;
  const RunOptions& options_;
  Setup setup_;
  RunFolder folder_;
  Planner planner_;
  std::shared_ptr<MpiTransport> ranks_;  // where other ranks share the work
  Selection selection_;
  ServerStep server_;
  Budget budget_;
  ExposureLog log_;
  std::map<RoundId, std::vector<Range>> ranges_;  // from which round on they hold
  bool told_of_kept_ranges_ = false;
  std::map<RoundId, std::vector<std::uint32_t>> refused_;
  Attendance attendance_;  // of clients that are processes
  RunResult result_;
  std::string started_ = utc_now();
};

Result<void> Run::restore() {
  SOTTO_CHECK(folder_.clear());
  if (options_.open_ledger && recipe_.ledger.keep) {
    SOTTO_TRY(std::shared_ptr<Ledger> ledger, options_.open_ledger());
    budget_ = Budget(std::move(ledger), recipe_);
  }
  if (ClientPool* const pool = this->pool()) pool->hashes_reports = budget_.keeps();
  SOTTO_TRY(result_.model, starting_weights(recipe_, options_, *setup_.factory));
  SOTTO_TRY(std::optional<Checkpoint> checkpoint,
            folder_.resume(recipe_, setup_.factory->layout()));
  if (checkpoint) {
    SOTTO_CHECK(check_coins(*checkpoint));
    result_.model = std::move(checkpoint->weights);
    result_.rounds = std::move(checkpoint->rounds);
    server_.restore(std::move(checkpoint->velocity));
    if (ClientPool* const pool = this->pool()) {
      SOTTO_CHECK(pool->restore(std::move(checkpoint->states)));
    }
    ranges_ = std::move(checkpoint->ranges);
    refused_ = std::move(checkpoint->refused);
    attendance_ = std::move(checkpoint->attendance);
    SOTTO_CHECK(replay());
    note("resuming after round " + std::to_string(result_.rounds.size()));
  } else {
    SOTTO_CHECK(start_statistics(recipe_, options_, setup_.factory->layout(), result_.model));
  }
  // A killed run may have written a line for a round that its last checkpoint does not know.
  SOTTO_CHECK(folder_.write_metrics(result_.rounds));
  SOTTO_CHECK(claim());
  SOTTO_TRY(const nlohmann::json json, record(RunStatus::kRunning));
  return folder_.write_record(json);
}

/// A certificate speaks of all rounds: those that were done with other coins are another training.
Result<void> Run::check_coins(const Checkpoint& checkpoint) const {
  const std::string_view own = name_of(options_.coins);
  // A file of before does not say; what real clients are promised must not rest on it.
  if (checkpoint.rounds.empty() || checkpoint.coins == own ||
      (checkpoint.coins.empty() && !protects(options_.coins))) {
    return {};
  }
  return fail(ErrorKind::kUsage,
              options_.out.string() + ": its " + std::to_string(checkpoint.rounds.size()) +
                  " rounds were made with other coins (" +
                  (checkpoint.coins.empty() ? "not said" : checkpoint.coins) + ") than these (" +
                  std::string(own) + "); take another --out, or --replace to start over");
}

/// The clients by budget, each group with what it sends in this round.
Result<std::vector<ClientGroup>> Run::groups_of(RoundId number,
                                                std::span<const std::uint32_t> clients) const {
  std::vector<ClientGroup> groups(planner_.groups());
  for (const std::uint32_t client : clients) {
    groups[planner_.group_of(client)].clients.push_back(client);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    SOTTO_TRY(groups[group].parts, planner_.parts(number, group));
  }
  return groups;
}

/// Who took part in the rounds of the checkpoint. A ledger that lost some of their charges is
/// charged again; one that would refuse them was not the ledger of this run.
Result<void> Run::replay() {
  std::uint64_t lost = 0;
  for (const RoundMetrics& metrics : result_.rounds) {
    std::vector<std::uint32_t> clients = selection_.round(metrics.round);
    if (const auto it = refused_.find(metrics.round); it != refused_.end()) {
      std::vector<std::uint32_t> left;
      std::ranges::set_difference(clients, it->second, std::back_inserter(left));
      clients = std::move(left);
    }
    if (const auto it = ranges_.find(metrics.round); it != ranges_.end()) {
      SOTTO_CHECK(planner_.restore_ranges(it->second));
    }
    SOTTO_TRY(std::vector<ClientGroup> groups, groups_of(metrics.round, clients));
    SOTTO_TRY(const std::vector<GroupCount> counts,
              counts_of(recipe_, attendance_, metrics.round, groups));
    std::uint64_t sent = 0;
    for (const GroupCount& count : counts) sent += count.reports;
    if (sent != metrics.reports) {
      return fail(ErrorKind::kCorrupt, "the checkpoint's round " + std::to_string(metrics.round) +
                                           " has other clients than this recipe picks");
    }
    SOTTO_TRY(const Budget::Admission admission, budget_.admit(metrics.round, groups));
    if (!admission.refused.empty()) {
      return fail(ErrorKind::kRefused, "round " + std::to_string(metrics.round) +
                                           " of this run is not in the ledger, "
                                           "and cannot be charged now: " +
                                           admission.reason);
    }
    // Who vanished has paid and bound no report to it.
    lost += admission.fresh - std::min(admission.fresh, clients.size() - sent);
    for (std::size_t group = 0; group < groups.size(); ++group) {
      log_.add(planner_.slot_of(metrics.round), group, groups[group], counts[group].opened);
    }
  }
  if (!ranges_.empty()) SOTTO_CHECK(planner_.restore_ranges(ranges_.rbegin()->second));
  if (lost > 0) {
    note(std::to_string(lost) +
         " reports of earlier rounds were missing in the ledger; they are "
         "charged now");
  }
  return {};
}

Result<std::optional<RoundMetrics>> Run::round(RoundId number) {
  const Stopwatch whole;
  const std::vector<std::uint32_t> asked = selection_.round(number);
  RoundPlan plan = recipe_plan(recipe_, number);
  SOTTO_TRY(plan.groups, groups_of(number, asked));
  SOTTO_TRY(const Budget::Admission admission, budget_.admit(number, plan.groups));
  if (plan.clients() == 0 && !asked.empty()) {
    note("no client has the budget for round " + std::to_string(number) + ": " + admission.reason);
    return std::optional<RoundMetrics>();
  }

  ClientPool* const pool = this->pool();
  if (pool != nullptr) {
    pool->on_client = [&](std::uint64_t done, std::uint64_t total) {
      if (options_.on_client) options_.on_client(number, done, total);
    };
    pool->observer = options_.observer;
  }
  if (options_.observer) options_.observer->on_plan(plan, result_.model);
  SOTTO_TRY(const CollectedRound collected,
            collect_round(*setup_.transport, plan, result_.model,
                          static_cast<std::uint64_t>(recipe_.shuffle.min_batch)));
  // Before anything that the reports decided can be seen outside.
  if (pool != nullptr) SOTTO_CHECK(budget_.bind(pool->take_hashes()));
  step(number, plan, collected);
  if (!admission.refused.empty()) refused_[number] = admission.refused;

  RoundMetrics metrics;
  metrics.round = number;
  metrics.clients = asked.size();
  metrics.refused = admission.refused.size();
  metrics.reports = collected.reports();
  metrics.released = collected.released();
  metrics.bytes_up = collected.bytes_up;
  metrics.train_seconds = whole.seconds();
  const ClientPool::Times times = pool != nullptr ? pool->take_times() : ClientPool::Times();
  metrics.delay_seconds = times.delay;
  metrics.train_cpu_seconds = times.train;
  metrics.engine_cpu_seconds = times.engine + collected.merge_seconds;

  if (should_evaluate(number)) {
    const Stopwatch evaluating;
    SOTTO_CHECK(evaluate(metrics));
    metrics.evaluate_seconds = evaluating.seconds();
  }
  metrics.round_seconds = whole.seconds();
  return std::optional(metrics);
}

/// Moves the model by what the round released, and the ranges where they adapt.
void Run::step(RoundId number, const RoundPlan& plan, const CollectedRound& collected) {
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const CollectedGroup& came = collected.groups[group];
    const std::uint64_t released = came.released.empty() ? 0 : came.reports;
    log_.add(planner_.slot_of(number), group, plan.groups[group], came.opened);
    if (options_.transport) attendance_[number].push_back({came.reports, released, came.opened});
    if (options_.observer) options_.observer->on_release(plan, group, came.released);
    if (came.dropped > 0) {
      note("round " + std::to_string(number) + ": " + std::to_string(came.dropped) +
           " chunks did not open or are not what the round asked for; they are left out");
    }
    if (released == 0)
      note("round " + std::to_string(number) + ": " + came.withheld + "; nothing is released");
  }
  const Layout& layout = setup_.factory->layout();
  if (plan.reported != Reported::kPayload) {
    return apply_statistics(plan, collected, result_.rounds, layout, result_.model);
  }
  std::vector<Range> ranges = planner_.ranges();
  for (const TensorMean& mean : combine(plan, collected, planner_.adapts())) {
    server_.apply(number, layout.tensors()[mean.tensor].offset, mean.values, result_.model);
    if (planner_.adapts()) {
      ranges[mean.tensor] = adapted_range(mean.values, mean.noise_variance, recipe_.bound.margin,
                                          ranges[mean.tensor]);
    }
  }
  if (!planner_.adapts()) return;
  const std::size_t kept = planner_.set_ranges(ranges);
  if (kept > 0 && !std::exchange(told_of_kept_ranges_, true)) {
    note("round " + std::to_string(number) + ": the ranges of " + std::to_string(kept) + " of " +
         std::to_string(ranges.size()) +
         " tensors stay: the mechanism cannot be made for those that would follow from what was "
         "released (said once)");
  }
  ranges_[number + 1] = planner_.ranges();
}

/// From the plan while the run goes on; once it has stopped, from what happened.
Result<void> Run::claim() {
  if (result_.stopped.empty()) {
    SOTTO_TRY(result_.groups,
              planned_exposures(recipe_, planner_, setup_.clients, setup_.clients_per_round));
  } else {
    result_.groups = log_.exposures(recipe_, planner_);
    if (options_.transport && options_.transport->clients_moved()) {
      // One client may have been in every round, as one number or as another.
      for (GroupClaims& group : result_.groups) {
        for (Turn& turn : group.exposure.turns) turn.rounds = std::max(turn.rounds, turn.held);
      }
    }
  }
  claim_groups(recipe_, setup_, result_.groups);
  result_.claims = worst_group(result_.groups).claims;
  return {};
}

Result<void> Run::evaluate(RoundMetrics& metrics) {
  if (setup_.data->test.size() == 0) return {};
  SOTTO_TRY(const EvaluationSums sums,
            ranks_ ? ranks_->evaluate(result_.model) : setup_.evaluator->evaluate(result_.model));
  metrics.accuracy = static_cast<double>(sums.correct) / static_cast<double>(sums.samples);
  metrics.loss = sums.loss / static_cast<double>(sums.samples);
  return {};
}

bool Run::should_evaluate(RoundId number) const {
  return number > statistics_rounds(recipe_) &&
         (number % recipe_.federation.evaluate_every == 0 || number == recipe_.federation.rounds);
}

Result<void> Run::remember() {
  const auto done = static_cast<std::int64_t>(result_.rounds.size());
  ClientPool* const pool = this->pool();
  if (folder_.writes() &&
      (done % recipe_.output.checkpoint_every == 0 || done == recipe_.federation.rounds)) {
    SOTTO_CHECK(folder_.write_checkpoint(
        {recipe_.fingerprint(), setup_.factory->layout().fingerprint(), result_.rounds, refused_,
         attendance_, ranges_, result_.model, server_.velocity(),
         pool != nullptr ? pool->states() : ClientStates(), std::string(name_of(options_.coins))}));
  }
  return folder_.write_metrics(result_.rounds);
}

Result<nlohmann::json> Run::record(RunStatus status) const {
  SOTTO_TRY(const std::optional<LedgerHead> ledger, budget_.head());
  return run_json({recipe_, setup_, result_, status, started_, ledger,
                   options_.ranks ? options_.ranks->size() : 1, options_.coins});
}

Result<RunResult> Run::execute() {
  const Stopwatch whole;
  if (ranks_) {
    SOTTO_CHECK(ranks_->begin(recipe_, setup_, planner_));
    setup_.transport = ranks_;
  }
  SOTTO_CHECK(restore());
  while (static_cast<std::int64_t>(result_.rounds.size()) < recipe_.federation.rounds &&
         !out_of_patience(recipe_.federation, result_)) {
    const auto number = static_cast<RoundId>(result_.rounds.size() + 1);
    SOTTO_TRY(const std::optional<RoundMetrics> metrics, round(number));
    if (!metrics) {
      result_.stopped = "budget";
      break;
    }
    result_.rounds.push_back(*metrics);
    SOTTO_CHECK(remember());
    if (options_.on_round) options_.on_round(*metrics);
  }
  if (result_.stopped.empty())
    result_.stopped = out_of_patience(recipe_.federation, result_) ? "patience" : "rounds";
  SOTTO_CHECK(claim());
  SOTTO_TRY(const nlohmann::json json, record(RunStatus::kFinished));
  if (folder_.writes()) {
    SOTTO_CHECK(setup_.factory->save(result_.model, folder_.model_path()));
    SOTTO_CHECK(certify_run(folder_, recipe_, options_, worst_group(result_.groups), budget_));
    SOTTO_CHECK(folder_.write_record(json));
  }
  result_.record = std::make_shared<const nlohmann::json>(json);
  result_.total_seconds = whole.seconds();
  return std::move(result_);
}

}  // namespace

Result<RunResult> run_recipe(const Recipe& recipe, const RunOptions& options,
                             const MakeFactory& make_factory) {
  if (recipe.ledger.limits() && !options.open_ledger) {
    return fail(ErrorKind::kUsage,
                recipe.file + ": the limits of [ledger] need a ledger, and there is none here");
  }
  std::shared_ptr<MpiTransport> ranks;
  if (options.ranks) {
    ranks = std::make_shared<MpiTransport>(options.ranks);
    SOTTO_CHECK(check_mpi(recipe));
  }
  SOTTO_TRY(RunFolder folder, RunFolder::open(options));
  SOTTO_TRY(Setup setup, make_setup(recipe, options, make_factory));
  const unsigned wanted = thread_count(options.threads);
  if (options.on_note && setup.trainers->size() < wanted) {
    options.on_note("this network draws from a global generator: training on " +
                    std::to_string(setup.trainers->size()) + " thread");
  }
  if (learns_alone(recipe)) return learn_alone(recipe, options, setup, folder, utc_now());
  SOTTO_TRY(const std::vector<float> initial, starting_weights(recipe, options, *setup.factory));
  SOTTO_TRY(Planner planner,
            Planner::make(recipe, setup.factory->layout(), initial,
                          share_of_clients(setup.clients, setup.clients_per_round)));
  return Run(recipe, options, std::move(setup), std::move(folder), std::move(planner),
             std::move(ranks))
      .execute();
}

}  // namespace sotto
