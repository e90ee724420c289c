// The server's loop: plan, collect, aggregate, evaluate, remember.
//
// The state between rounds is the model, the list of rounds so far and who had no budget in them.
// Everything random is keyed by (seed, purpose, round, client), so nothing else has to be saved for
// a killed run to go on and end in the same bits: a client that had paid for a round finds its
// charge, and makes the very report that the charge is bound to.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/parallel.h"
#include "federation/budget.h"
#include "federation/participation.h"
#include "federation/plan.h"
#include "federation/round.h"
#include "federation/run_folder.h"
#include "federation/run_json.h"
#include "federation/selection.h"
#include "federation/server_step.h"
#include "federation/setup.h"

namespace sotto {
namespace {

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

class Run {
 public:
  Run(const Recipe& recipe, const RunOptions& options, Setup setup, RunFolder folder)
      : recipe_(recipe),
        options_(options),
        setup_(std::move(setup)),
        folder_(std::move(folder)),
        server_(recipe),
        participation_(setup_.partition->clients()) {}

  Result<RunResult> execute();

 private:
  Result<void> restore();
  Result<void> replay();
  std::vector<std::uint32_t> picked(RoundId number) const;
  /// Nothing where no client had the budget for the round.
  Result<std::optional<RoundMetrics>> round(RoundId number);
  Result<void> evaluate(RoundMetrics& metrics);
  Result<void> remember();
  bool should_evaluate(RoundId number) const;
  bool out_of_patience() const;
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  Exposure exposure() const;
  Result<nlohmann::json> record(const char* status) const;
  Result<void> certify() const;

  const Recipe& recipe_;
  const RunOptions& options_;
  Setup setup_;
  RunFolder folder_;
  ServerStep server_;
  Budget budget_;
  Participation participation_;
  std::map<RoundId, std::vector<std::uint32_t>> refused_;
  RunResult result_;
  std::string started_ = utc_now();
};

Result<void> Run::restore() {
  SOTTO_CHECK(folder_.clear());
  if (options_.open_ledger && recipe_.ledger.keep) {
    SOTTO_TRY(std::shared_ptr<Ledger> ledger, options_.open_ledger());
    budget_ = Budget(std::move(ledger), recipe_, *setup_.mechanism);
  }
  setup_.transport->hashes_reports = budget_.keeps();
  result_.model =
      setup_.factory->initial_weights(static_cast<std::uint64_t>(recipe_.federation.seed));
  SOTTO_TRY(std::optional<Checkpoint> checkpoint,
            folder_.resume(recipe_, setup_.factory->layout()));
  if (checkpoint) {
    result_.model = std::move(checkpoint->weights);
    result_.rounds = std::move(checkpoint->rounds);
    server_.restore(std::move(checkpoint->velocity));
    refused_ = std::move(checkpoint->refused);
    SOTTO_CHECK(replay());
    note("resuming after round " + std::to_string(result_.rounds.size()));
  }
  // A killed run may have written a line for a round that its last checkpoint does not know.
  SOTTO_CHECK(folder_.write_metrics(result_.rounds));
  result_.claims = claims_of(*setup_.mechanism, exposure());
  SOTTO_TRY(const nlohmann::json json, record("running"));
  return folder_.write_record(json);
}

std::vector<std::uint32_t> Run::picked(RoundId number) const {
  return pick_clients(static_cast<std::uint64_t>(recipe_.federation.seed), number,
                      setup_.partition->clients(), setup_.clients_per_round);
}

/// Who took part in the rounds of the checkpoint. A ledger that lost some of their charges is
/// charged again; one that would refuse them was not the ledger of this run.
Result<void> Run::replay() {
  std::uint64_t lost = 0;
  for (const RoundMetrics& metrics : result_.rounds) {
    std::vector<std::uint32_t> clients = picked(metrics.round);
    if (const auto it = refused_.find(metrics.round); it != refused_.end()) {
      std::vector<std::uint32_t> left;
      std::ranges::set_difference(clients, it->second, std::back_inserter(left));
      clients = std::move(left);
    }
    if (clients.size() != metrics.reports) {
      return fail(ErrorKind::kCorrupt, "the checkpoint's round " + std::to_string(metrics.round) +
                                           " has other clients than this recipe picks");
    }
    SOTTO_TRY(const Budget::Admission admission, budget_.admit(metrics.round, clients));
    if (!admission.refused.empty()) {
      return fail(ErrorKind::kRefused, "round " + std::to_string(metrics.round) +
                                           " of this run is not in the ledger, "
                                           "and cannot be charged now: " +
                                           admission.reason);
    }
    lost += admission.fresh;
    participation_.add(clients);
  }
  if (lost > 0) {
    note(std::to_string(lost) +
         " reports of earlier rounds were missing in the ledger; they are "
         "charged now");
  }
  return {};
}

Result<std::optional<RoundMetrics>> Run::round(RoundId number) {
  const Stopwatch whole;
  const std::vector<std::uint32_t> asked = picked(number);
  SOTTO_TRY(Budget::Admission admission, budget_.admit(number, asked));
  if (admission.clients.empty()) {
    note("no client has the budget for round " + std::to_string(number) + ": " + admission.reason);
    return std::optional<RoundMetrics>();
  }
  RoundPlan plan;
  plan.round = number;
  plan.mechanism = setup_.mechanism;
  plan.split = static_cast<std::size_t>(recipe_.shuffle.split);
  plan.payload = payload_of(recipe_.bound);
  plan.clients = std::move(admission.clients);

  LocalTransport& transport = *setup_.transport;
  transport.on_client = [&](std::uint64_t done, std::uint64_t total) {
    if (options_.on_client) options_.on_client(number, done, total);
  };
  SOTTO_TRY(const CollectedRound collected,
            collect_round(transport, plan, result_.model,
                          static_cast<std::uint64_t>(recipe_.shuffle.min_batch)));
  // Before anything that the reports decided can be seen outside.
  SOTTO_CHECK(budget_.bind(transport.take_hashes()));
  if (collected.released) {
    server_.apply(number, 0, collected.released->values(), result_.model);
  } else {
    note("round " + std::to_string(number) + ": " + std::to_string(collected.reports) +
         " reports are fewer than shuffle.min_batch; nothing is released and the model stays");
  }
  participation_.add(plan.clients);
  if (!admission.refused.empty()) refused_[number] = admission.refused;

  RoundMetrics metrics;
  metrics.round = number;
  metrics.clients = asked.size();
  metrics.refused = admission.refused.size();
  metrics.reports = collected.reports;
  metrics.released = collected.released ? collected.reports : 0;
  metrics.bytes_up = collected.bytes_up;
  metrics.train_seconds = whole.seconds();
  const LocalTransport::Times times = transport.take_times();
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

/// The plan while the run goes on; once it has stopped, what happened.
Exposure Run::exposure() const {
  if (result_.stopped.empty()) {
    return planned_exposure(recipe_, setup_.partition->clients(), setup_.clients_per_round);
  }
  Exposure exposure = recipe_exposure(recipe_);
  exposure.rounds = participation_.most();
  exposure.every_round = participation_.even();
  for (const RoundMetrics& metrics : result_.rounds) {
    if (metrics.released > 0) ++exposure.batches[metrics.released];
  }
  return exposure;
}

Result<void> Run::evaluate(RoundMetrics& metrics) {
  constexpr std::size_t kChunk = 512;
  const Dataset& test = setup_.data->test;
  if (test.size() == 0) return {};
  std::vector<std::uint32_t> all(test.size());
  std::iota(all.begin(), all.end(), 0U);
  const std::size_t chunks = (test.size() + kChunk - 1) / kChunk;
  std::vector<EvaluationSums> sums(chunks);
  LocalTransport& transport = *setup_.transport;
  for (unsigned lane = 0; lane < transport.lanes(); ++lane) {
    SOTTO_CHECK(transport.trainer(lane).load(result_.model));
  }
  SOTTO_CHECK(
      parallel_for(transport.lanes(), chunks, [&](unsigned lane, std::size_t i) -> Result<void> {
        const std::size_t first = i * kChunk;
        const auto part = std::span(all).subspan(first, std::min(kChunk, all.size() - first));
        SOTTO_TRY(sums[i], transport.trainer(lane).evaluate(test, part, setup_.preprocess));
        return {};
      }));
  // Added chunk by chunk in order, so that the loss does not depend on the number of threads.
  EvaluationSums total;
  for (const EvaluationSums& part : sums) {
    total.samples += part.samples;
    total.correct += part.correct;
    total.loss += part.loss;
  }
  metrics.accuracy = static_cast<double>(total.correct) / static_cast<double>(total.samples);
  metrics.loss = total.loss / static_cast<double>(total.samples);
  return {};
}

bool Run::should_evaluate(RoundId number) const {
  return number % recipe_.federation.evaluate_every == 0 || number == recipe_.federation.rounds;
}

bool Run::out_of_patience() const {
  if (recipe_.federation.patience == 0) return false;
  const RoundMetrics* const best = result_.best();
  if (best == nullptr) return false;
  std::int64_t since = 0;
  for (const RoundMetrics& metrics : result_.rounds) {
    if (metrics.round > best->round && metrics.accuracy) ++since;
  }
  return since >= recipe_.federation.patience;
}

Result<void> Run::remember() {
  const auto done = static_cast<std::int64_t>(result_.rounds.size());
  if (folder_.writes() &&
      (done % recipe_.output.checkpoint_every == 0 || done == recipe_.federation.rounds)) {
    SOTTO_CHECK(
        folder_.write_checkpoint({recipe_.fingerprint(), setup_.factory->layout().fingerprint(),
                                  result_.rounds, refused_, result_.model, server_.velocity()}));
  }
  return folder_.write_metrics(result_.rounds);
}

Result<nlohmann::json> Run::record(const char* status) const {
  SOTTO_TRY(const std::optional<LedgerHead> ledger, budget_.head());
  return run_json({recipe_, setup_, result_, status, started_, exposure(), ledger});
}

Result<void> Run::certify() const {
  CertificateContent content;
  content.mechanism = recipe_.privacy.mechanism;
  content.parameters = recipe_.privacy.parameters;
  content.domain = recipe_domain(recipe_, setup_.factory->layout());
  content.exposure = exposure();
  content.recipe = recipe_.fingerprint();
  SOTTO_TRY(content.ledger, budget_.head());
  content.accounts = budget_.accounts();
  std::optional<SigningKey> key = options_.signing_key;
  if (!key) {
    SOTTO_TRY(key, SigningKey::generate());
  }
  return write_certificate(folder_.certificate_path(), content, *key);
}

Result<RunResult> Run::execute() {
  const Stopwatch whole;
  SOTTO_CHECK(restore());
  while (static_cast<std::int64_t>(result_.rounds.size()) < recipe_.federation.rounds &&
         !out_of_patience()) {
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
  if (result_.stopped.empty()) result_.stopped = out_of_patience() ? "patience" : "rounds";
  result_.claims = claims_of(*setup_.mechanism, exposure());
  SOTTO_TRY(const nlohmann::json json, record("finished"));
  if (folder_.writes()) {
    SOTTO_CHECK(setup_.factory->save(result_.model, folder_.model_path()));
    SOTTO_CHECK(certify());
    SOTTO_CHECK(folder_.write_record(json));
  }
  result_.record = std::make_shared<const nlohmann::json>(json);
  result_.total_seconds = whole.seconds();
  return std::move(result_);
}

}  // namespace

const RoundMetrics* RunResult::last_evaluated() const {
  for (auto it = rounds.rbegin(); it != rounds.rend(); ++it) {
    if (it->accuracy) return &*it;
  }
  return nullptr;
}

const RoundMetrics* RunResult::best() const {
  const RoundMetrics* best = nullptr;
  for (const RoundMetrics& metrics : rounds) {
    if (metrics.accuracy && (best == nullptr || *metrics.accuracy > *best->accuracy))
      best = &metrics;
  }
  return best;
}

Result<RunResult> run_recipe(const Recipe& recipe, const RunOptions& options,
                             const MakeFactory& make_factory) {
  if (recipe.ledger.limits() && !options.open_ledger) {
    return fail(ErrorKind::kUsage,
                recipe.file + ": the limits of [ledger] need a ledger, and there is none here");
  }
  SOTTO_TRY(RunFolder folder, RunFolder::open(options));
  SOTTO_TRY(Setup setup, make_setup(recipe, options, make_factory));
  const unsigned wanted = thread_count(options.threads);
  if (options.on_note && setup.transport->lanes() < wanted) {
    options.on_note("this network draws from a global generator: training on " +
                    std::to_string(setup.transport->lanes()) + " thread");
  }
  return Run(recipe, options, std::move(setup), std::move(folder)).execute();
}

}  // namespace sotto
