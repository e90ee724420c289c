// The server's loop: plan, collect, aggregate, evaluate, remember.
//
// The state between rounds is the model and the list of rounds so far. Everything random is keyed
// by (seed, purpose, round, client), so nothing else has to be saved for a killed run to go on and
// end in the same bits.
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/parallel.h"
#include "federation/round.h"
#include "federation/run_folder.h"
#include "federation/selection.h"
#include "federation/setup.h"
#include "sotto/version.h"

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
      : recipe_(recipe), options_(options), setup_(std::move(setup)), folder_(std::move(folder)) {}

  Result<RunResult> execute();

 private:
  Result<void> restore();
  Result<RoundMetrics> round(RoundId number);
  Result<void> evaluate(RoundMetrics& metrics);
  Result<void> remember();
  bool should_evaluate(RoundId number) const;
  bool out_of_patience() const;
  nlohmann::json record(const char* status) const;

  const Recipe& recipe_;
  const RunOptions& options_;
  Setup setup_;
  RunFolder folder_;
  RunResult result_;
  std::string started_ = utc_now();
};

Result<void> Run::restore() {
  SOTTO_CHECK(folder_.clear());
  result_.model =
      setup_.factory->initial_weights(static_cast<std::uint64_t>(recipe_.federation.seed));
  SOTTO_TRY(std::optional<Checkpoint> checkpoint,
            folder_.resume(recipe_, setup_.factory->layout()));
  if (checkpoint) {
    result_.model = std::move(checkpoint->weights);
    result_.rounds = std::move(checkpoint->rounds);
    if (options_.on_note) {
      options_.on_note("resuming after round " + std::to_string(result_.rounds.size()));
    }
  }
  // A killed run may have written a line for a round that its last checkpoint does not know.
  SOTTO_CHECK(folder_.write_metrics(result_.rounds));
  return folder_.write_record(record("running"));
}

Result<RoundMetrics> Run::round(RoundId number) {
  const Stopwatch whole;
  RoundPlan plan;
  plan.round = number;
  plan.mechanism = setup_.mechanism;
  plan.clients = pick_clients(static_cast<std::uint64_t>(recipe_.federation.seed), number,
                              setup_.partition->clients(), setup_.clients_per_round);

  LocalTransport& transport = *setup_.transport;
  transport.on_client = [&](std::uint64_t done, std::uint64_t total) {
    if (options_.on_client) options_.on_client(number, done, total);
  };
  SOTTO_TRY(const CollectedRound collected, collect_round(transport, plan, result_.model));
  for (std::size_t i = 0; i < result_.model.size(); ++i) {
    result_.model[i] = static_cast<float>(collected.released.values()[i]);
  }

  RoundMetrics metrics;
  metrics.round = number;
  metrics.clients = plan.clients.size();
  metrics.reports = collected.released.reports();
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
  return metrics;
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
                                  result_.rounds, result_.model}));
  }
  return folder_.write_metrics(result_.rounds);
}

nlohmann::json Run::record(const char* status) const {
  const Layout& layout = setup_.factory->layout();
  nlohmann::json json = {
      {"format", "sotto.run.v1"},
      {"name", recipe_.output.name},
      {"status", status},
      {"started", started_},
      {"recipe", recipe_.to_json()},
      {"recipe_file", recipe_.file},
      {"seed", recipe_.federation.seed},
      {"threads", setup_.transport->lanes()},
      {"versions", {{"sotto", SOTTO_VERSION}, {"trainer", setup_.factory->version()}}},
      {"model",
       {{"name", recipe_.model.file.empty() ? recipe_.model.name : recipe_.model.file},
        {"parameters", layout.parameter_count()},
        {"buffers", layout.size() - layout.parameter_count()},
        {"device", setup_.factory->device()}}},
      {"data",
       {{"name", recipe_.data.name},
        {"train", setup_.data->train.size()},
        {"test", setup_.data->test.size()},
        {"clients", setup_.partition->clients()},
        {"clients_per_round", setup_.clients_per_round},
        {"partition", recipe_.data.partition}}},
      {"privacy", privacy_record(*setup_.mechanism,
                                 result_.stopped.empty()
                                     ? static_cast<std::uint64_t>(recipe_.federation.rounds)
                                     : result_.rounds.size(),
                                 setup_.clients_per_round == setup_.partition->clients())},
      {"stopped", nullptr},
      {"final", nullptr},
      {"best", nullptr},
  };
  double train = 0.0;
  double evaluate = 0.0;
  double engine = 0.0;
  double total = 0.0;
  for (const RoundMetrics& metrics : result_.rounds) {
    train += metrics.train_seconds;
    evaluate += metrics.evaluate_seconds;
    engine += metrics.engine_cpu_seconds;
    total += metrics.round_seconds;
  }
  json["timings"] = {{"total_seconds", total},
                     {"train_seconds", train},
                     {"evaluate_seconds", evaluate},
                     {"engine_seconds", engine}};
  if (!result_.stopped.empty()) json["stopped"] = result_.stopped;
  const auto brief = [](const RoundMetrics& metrics) {
    const nlohmann::json whole = metrics.to_json();
    return nlohmann::json{
        {"round", whole["round"]}, {"accuracy", whole["accuracy"]}, {"loss", whole["loss"]}};
  };
  if (const RoundMetrics* last = result_.last_evaluated()) json["final"] = brief(*last);
  if (const RoundMetrics* best = result_.best()) json["best"] = brief(*best);
  return json;
}

Result<RunResult> Run::execute() {
  const Stopwatch whole;
  SOTTO_CHECK(restore());
  while (static_cast<std::int64_t>(result_.rounds.size()) < recipe_.federation.rounds &&
         !out_of_patience()) {
    const auto number = static_cast<RoundId>(result_.rounds.size() + 1);
    SOTTO_TRY(const RoundMetrics metrics, round(number));
    result_.rounds.push_back(metrics);
    SOTTO_CHECK(remember());
    if (options_.on_round) options_.on_round(metrics);
  }
  result_.stopped = out_of_patience() ? "patience" : "rounds";
  if (folder_.writes()) {
    SOTTO_CHECK(setup_.factory->save(result_.model, folder_.model_path()));
    SOTTO_CHECK(folder_.write_record(record("finished")));
  }
  result_.record = std::make_shared<const nlohmann::json>(record("finished"));
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
