#include "server/local_learning.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/parallel.h"
#include "plan/baselines.h"
#include "record/run_json.h"

namespace sotto {
namespace {

class LocalLearning {
 public:
  LocalLearning(const Recipe& recipe, const RunOptions& options, const Setup& setup,
                const RunFolder& folder, std::string started)
      : recipe_(recipe),
        options_(options),
        setup_(setup),
        folder_(folder),
        started_(std::move(started)),
        clients_(setup.clients),
        size_(setup.factory->layout().size()) {}

  Result<RunResult> execute();

 private:
  Result<void> restore();
  Result<RoundMetrics> round(RoundId number);
  Result<void> train(RoundId number, bool evaluates, std::vector<EvaluationSums>& sums,
                     std::vector<double>& train_seconds);
  void summarize(const std::vector<EvaluationSums>& sums, RoundMetrics& metrics) const;
  Result<void> remember();
  nlohmann::json record(RunStatus status) const {
    return run_json({recipe_, setup_, result_, status, started_, std::nullopt});
  }
  std::span<float> weights_of(std::size_t client) {
    return std::span(weights_).subspan(client * size_, size_);
  }

  const Recipe& recipe_;
  const RunOptions& options_;
  const Setup& setup_;
  const RunFolder& folder_;
  std::string started_;
  std::size_t clients_;
  std::size_t size_;
  std::vector<float> weights_;  // of all clients, one after the other
  RunResult result_;
};

Result<void> LocalLearning::restore() {
  SOTTO_CHECK(folder_.clear());
  const std::vector<float> start =
      setup_.factory->initial_weights(static_cast<std::uint64_t>(recipe_.federation.seed));
  weights_.reserve(clients_ * size_);
  for (std::size_t i = 0; i < clients_; ++i) {
    weights_.insert(weights_.end(), start.begin(), start.end());
  }
  SOTTO_TRY(std::optional<Checkpoint> checkpoint,
            folder_.resume(recipe_, setup_.factory->layout(), clients_));
  if (checkpoint) {
    weights_ = std::move(checkpoint->weights);
    result_.rounds = std::move(checkpoint->rounds);
    if (options_.on_note) {
      options_.on_note("resuming after round " + std::to_string(result_.rounds.size()));
    }
  }
  SOTTO_CHECK(folder_.write_metrics(result_.rounds));
  result_.claims = recipe_claims(recipe_, Exposure{}, TrainingFacts{});
  GroupClaims all;
  all.name = "all clients";
  all.clients = clients_;
  all.claims = result_.claims;
  result_.groups = {all};
  return folder_.write_record(record(RunStatus::kRunning));
}

Result<void> LocalLearning::train(RoundId number, bool evaluates, std::vector<EvaluationSums>& sums,
                                  std::vector<double>& train_seconds) {
  constexpr std::size_t kChunk = 512;
  const ClientSettings& local = setup_.simulated->pool->settings();
  const auto seed = static_cast<std::uint64_t>(recipe_.federation.seed);
  const Dataset& test = setup_.data->test;
  std::vector<std::uint32_t> all(evaluates ? test.size() : 0);
  std::iota(all.begin(), all.end(), 0U);
  std::mutex mutex;
  std::uint64_t done = 0;
  return parallel_for(
      setup_.trainers->size(), clients_, [&](unsigned lane, std::size_t i) -> Result<void> {
        const auto client = static_cast<std::uint32_t>(i);
        Trainer& trainer = (*setup_.trainers)[lane];
        const Stopwatch training;
        SOTTO_CHECK(trainer.load(weights_of(i)));
        SOTTO_CHECK(trainer.train(*local.data, setup_.simulated->partition->client(client),
                                  local.preprocess, local.options,
                                  BitSource::from_seed(seed, "train", {number, client})));
        SOTTO_CHECK(trainer.store(weights_of(i)));
        train_seconds[lane] += training.seconds();
        for (std::size_t first = 0; first < all.size(); first += kChunk) {
          const auto part = std::span(all).subspan(first, std::min(kChunk, all.size() - first));
          SOTTO_TRY(const EvaluationSums some, trainer.evaluate(test, part, local.preprocess));
          sums[i].add(some);
        }
        const std::scoped_lock lock(mutex);
        ++done;
        if (options_.on_client) options_.on_client(number, done, clients_);
        return {};
      });
}

void LocalLearning::summarize(const std::vector<EvaluationSums>& sums,
                              RoundMetrics& metrics) const {
  double accuracy = 0.0;
  double loss = 0.0;
  double lowest = 1.0;
  double highest = 0.0;
  for (const EvaluationSums& one : sums) {
    const auto samples = static_cast<double>(one.samples);
    const double share = static_cast<double>(one.correct) / samples;
    accuracy += share;
    loss += one.loss / samples;
    lowest = std::min(lowest, share);
    highest = std::max(highest, share);
  }
  metrics.accuracy = accuracy / static_cast<double>(clients_);
  metrics.loss = loss / static_cast<double>(clients_);
  metrics.lowest_accuracy = lowest;
  metrics.highest_accuracy = highest;
}

Result<RoundMetrics> LocalLearning::round(RoundId number) {
  const Stopwatch whole;
  const bool evaluates =
      setup_.data->test.size() > 0 &&
      (number % recipe_.federation.evaluate_every == 0 || number == recipe_.federation.rounds);
  std::vector<EvaluationSums> sums(clients_);
  std::vector<double> train_seconds(setup_.trainers->size(), 0.0);
  SOTTO_CHECK(train(number, evaluates, sums, train_seconds));
  RoundMetrics metrics;
  metrics.round = number;
  metrics.clients = clients_;
  if (evaluates) summarize(sums, metrics);
  metrics.train_cpu_seconds = std::accumulate(train_seconds.begin(), train_seconds.end(), 0.0);
  metrics.round_seconds = whole.seconds();
  metrics.train_seconds = metrics.round_seconds;
  return metrics;
}

Result<void> LocalLearning::remember() {
  const auto done = static_cast<std::int64_t>(result_.rounds.size());
  if (folder_.writes() &&
      (done % recipe_.output.checkpoint_every == 0 || done == recipe_.federation.rounds)) {
    Checkpoint checkpoint;
    checkpoint.recipe = recipe_.fingerprint();
    checkpoint.layout = setup_.factory->layout().fingerprint();
    checkpoint.rounds = result_.rounds;
    checkpoint.weights = weights_;
    SOTTO_CHECK(folder_.write_checkpoint(checkpoint));
  }
  return folder_.write_metrics(result_.rounds);
}

Result<RunResult> LocalLearning::execute() {
  const Stopwatch whole;
  SOTTO_CHECK(restore());
  while (static_cast<std::int64_t>(result_.rounds.size()) < recipe_.federation.rounds) {
    SOTTO_TRY(const RoundMetrics metrics, round(static_cast<RoundId>(result_.rounds.size() + 1)));
    result_.rounds.push_back(metrics);
    SOTTO_CHECK(remember());
    if (options_.on_round) options_.on_round(metrics);
  }
  result_.stopped = "rounds";
  const nlohmann::json json = record(RunStatus::kFinished);
  SOTTO_CHECK(folder_.write_record(json));
  result_.record = std::make_shared<const nlohmann::json>(json);
  result_.total_seconds = whole.seconds();
  return std::move(result_);
}

}  // namespace

Result<RunResult> learn_alone(const Recipe& recipe, const RunOptions& options, const Setup& setup,
                              const RunFolder& folder, const std::string& started) {
  return LocalLearning(recipe, options, setup, folder, started).execute();
}

}  // namespace sotto
