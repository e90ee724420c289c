// A federated run: rounds of plan, collect, aggregate, evaluate. Knows nothing of networks on
// wires; a Transport brings the envelopes, from threads in a simulation or from processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/mechanism.h"
#include "sotto/recipe.h"
#include "sotto/stages.h"
#include "sotto/trainer.h"

namespace sotto {

/// What the server asks for in one round.
struct RoundPlan {
  RoundId round = 0;  // from 1
  std::vector<std::uint32_t> clients;
  std::shared_ptr<const Mechanism> mechanism;
};

/// Takes a round's envelopes; called by one thread at a time.
using EnvelopeSink = std::function<Result<void>(const Envelope&)>;

/// Brings the envelopes of a round's clients to the server. Only envelopes fit through it.
class Transport {
 public:
  virtual ~Transport() = default;
  /// How many sinks can be filled side by side.
  virtual unsigned lanes() const noexcept = 0;
  /// Asks the plan's clients to train on `model` and hands every envelope to one of `sinks`.
  virtual Result<void> collect(const RoundPlan& plan, std::span<const float> model,
                               std::span<const EnvelopeSink> sinks) = 0;
};

struct RoundMetrics {
  RoundId round = 0;
  std::uint64_t clients = 0;
  std::uint64_t reports = 0;
  std::uint64_t bytes_up = 0;
  std::optional<double> accuracy;  // on the public test set, where evaluated
  std::optional<double> loss;
  double round_seconds = 0.0;
  double train_seconds = 0.0;  // collecting: local training and what surrounds it
  double evaluate_seconds = 0.0;
  /// Summed over threads: inside Trainer::train, and everything else a client or server does
  /// (weights in and out, bounding, perturbing, packing, adding).
  double train_cpu_seconds = 0.0;
  double engine_cpu_seconds = 0.0;

  nlohmann::json to_json() const;
};

struct RunOptions {
  std::filesystem::path out;  // where files go; empty: none are written
  unsigned threads = 0;       // 0: as many as the machine has
  std::filesystem::path data_folder;
  bool resume = false;
  bool replace = false;  // overwrite a run that `out` already holds
  /// A client of a round is done: called from worker threads, one at a time.
  std::function<void(RoundId round, std::uint64_t done, std::uint64_t total)> on_client;
  std::function<void(const RoundMetrics&)> on_round;
  std::function<void(const std::string&)> on_note;
};

struct RunResult {
  std::vector<RoundMetrics> rounds;
  std::vector<float> model;
  std::string stopped;  // "rounds" or "patience"
  double total_seconds = 0.0;
  std::shared_ptr<const nlohmann::json> record;  // what run.json says

  const RoundMetrics* last_evaluated() const;
  const RoundMetrics* best() const;
};

/// Where trainers come from: make_torch_factory, or another engine.
using MakeFactory =
    std::function<Result<std::shared_ptr<const TrainerFactory>>(const TrainerRequest&)>;

/// Reads the data, trains, writes run.json, metrics.jsonl, checkpoint.sotto and model.pt.
Result<RunResult> run_recipe(const Recipe& recipe, const RunOptions& options,
                             const MakeFactory& make_factory);

/// The mechanism and its claims after so many rounds, as run.json and --json show them: for one
/// weight, for one client's report, and for a client over the whole training, each with what it
/// rests on. `all_clients` tells whether every client takes part in every round.
nlohmann::json privacy_record(const Mechanism& mechanism, std::uint64_t rounds, bool all_clients);

}  // namespace sotto
