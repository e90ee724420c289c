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

#include "sotto/certificate.h"
#include "sotto/choices.h"
#include "sotto/claims.h"
#include "sotto/ledger.h"
#include "sotto/mechanism.h"
#include "sotto/ranks.h"
#include "sotto/recipe.h"
#include "sotto/records.h"
#include "sotto/stages.h"
#include "sotto/trainer.h"

namespace sotto {

/// One mechanism and the tensors that it protects.
struct Part {
  std::shared_ptr<const Mechanism> mechanism;  // its domain's layout: these tensors, in this order
  std::vector<std::size_t> tensors;            // of the model's layout, ascending
  MechanismSpec spec;                          // what the mechanism was made from
};

/// Clients that send the same kinds of reports: only these are added to one another.
struct ClientGroup {
  std::vector<std::uint32_t> clients;  // ascending
  std::vector<Part> parts;             // a report for each; messages of one part in a row
};

/// What the server asks for in one round.
struct RoundPlan {
  RoundId round = 0;  // from 1
  std::vector<ClientGroup> groups;
  std::size_t split = 0;  // symbols in an envelope; 0: the whole report
  Reported reported = Reported::kPayload;
  Payload payload = Payload::kWeights;
  bool fills_ball = false;  // whether payloads are made as long as the ball's norm
  double fill_floor = 0.0;  // but for those that are shorter than this
  /// The longest random delay of an envelope, in seconds; 0: none.
  double latency = 0.0;

  std::size_t clients() const noexcept {
    std::size_t sum = 0;
    for (const ClientGroup& group : groups) sum += group.clients.size();
    return sum;
  }
};

/// Takes a round's envelopes; called by one thread at a time.
using EnvelopeSink = std::function<Result<void>(const Envelope&)>;

/// What came of asking a round's clients, besides the envelopes that went to the sinks.
struct Delivery {
  struct Group {
    std::uint64_t reports = 0;  // that were sent
    std::string withheld;       // why nothing may be released; empty where something may
    std::uint64_t dropped = 0;  // envelopes that did not arrive as what the round asked for
    /// Where the server itself opens what arrives: the reports that it was given well-formed,
    /// counted at the position that has the fewest, and at least 1 if it was given anything. They
    /// are seen, whatever is released. Empty: the server is given what is released and no more.
    std::optional<std::uint64_t> opened;
  };
  std::vector<Group> groups;  // as in the plan
  /// Of secure aggregation: what the reports add up to, and bytes that are no envelope's.
  std::vector<SummedEnvelope> sums;
  std::uint64_t bytes_up = 0;
};

/// Brings the envelopes of a round's clients to the server. Only envelopes fit through it.
class Transport {
 public:
  virtual ~Transport() = default;
  /// How many sinks can be filled side by side.
  virtual unsigned lanes() const noexcept = 0;
  /// Asks the plan's clients to train on `model` and hands every envelope to one of `sinks`.
  virtual Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                                   std::span<const EnvelopeSink> sinks) = 0;
  /// Whether one client has been two of the plan's numbers: a number's rounds are then fewer than
  /// that client's.
  virtual bool clients_moved() const { return false; }
};

struct RoundMetrics {
  RoundId round = 0;
  std::uint64_t clients = 0;   // that were picked
  std::uint64_t refused = 0;   // of these, without budget: they read no data and sent nothing
  std::uint64_t reports = 0;   // that were sent
  std::uint64_t released = 0;  // that the server was given; 0 where they were too few
  std::uint64_t bytes_up = 0;
  std::optional<double> accuracy;  // on the public test set, where evaluated
  std::optional<double> loss;
  /// Of clients that learn alone, whose mean is `accuracy`.
  std::optional<double> lowest_accuracy;
  std::optional<double> highest_accuracy;
  double delay_seconds = 0.0;  // simulated: by which random delays made the round longer
  double round_seconds = 0.0;
  double train_seconds = 0.0;  // collecting: local training and what surrounds it
  double evaluate_seconds = 0.0;
  /// Summed over threads: inside Trainer::train, and everything else a client or server does
  /// (weights in and out, bounding, perturbing, packing, adding).
  double train_cpu_seconds = 0.0;
  double engine_cpu_seconds = 0.0;

  nlohmann::json to_json() const;
};

/// Watches a simulated run, for attacks: what the server sees and, so that an attack can be held
/// against the truth, what clients held. It changes nothing. Only the transport whose clients are
/// threads of this process calls it; a client of its own process has nothing of the kind.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// A round begins; `model` is what its clients are given.
  virtual void on_plan(const RoundPlan& plan, std::span<const float> model) {
    (void)plan, (void)model;
  }
  /// One part of a client's report, and what it was made from. From several threads at once.
  virtual void on_report(const RoundPlan& plan, std::uint32_t client, const Part& part,
                         std::span<const float> bounded, const Report& report) {
    (void)plan, (void)client, (void)part, (void)bounded, (void)report;
  }
  /// What was released for a group of the plan, one for each of its parts; none: it was withheld.
  virtual void on_release(const RoundPlan& plan, std::size_t group,
                          std::span<const Released> released) {
    (void)plan, (void)group, (void)released;
  }
};

/// The ledger of a run lies in its folder, under this name, and goes with it when it is replaced.
inline constexpr const char* kLedgerName = "ledger.sqlite";

struct RunOptions {
  std::filesystem::path out;  // where files go; empty: none are written
  unsigned threads = 0;       // 0: as many as the machine has
  std::filesystem::path data_folder;
  bool resume = false;
  bool replace = false;     // overwrite a run that `out` already holds
  bool out_locked = false;  // the caller keeps other processes out of `out`
  /// Opens the ledger that clients charge before they read data; called once, when everything else
  /// is ready and an earlier run's files are gone. Empty: none is kept, which a recipe with limits
  /// refuses.
  std::function<Result<std::shared_ptr<Ledger>>()> open_ledger;
  /// Signs the certificate; without one, a fresh key of the run's own ties its parts together.
  std::optional<SigningKey> signing_key;
  /// Stands for the set that the recipe names: for runs on a part of it.
  std::shared_ptr<const DataSplit> data;
  /// What training starts from; empty: the weights that the recipe's seed gives.
  std::vector<float> initial_weights;
  std::shared_ptr<RunObserver> observer;
  /// Brings the envelopes of clients that are processes of their own; empty: clients are threads of
  /// this one. Such clients keep their own ledgers.
  std::shared_ptr<Transport> transport;
  /// Whose random bits reports are made with; the certificate says it.
  Coins coins = Coins::kSimulation;
  /// Other processes that share the work of the clients; empty: this one does it all. This one is
  /// rank 0, and the others are in run_mpi_worker.
  std::shared_ptr<Ranks> ranks;
  /// A client of a round is done: called from worker threads, one at a time.
  std::function<void(RoundId round, std::uint64_t done, std::uint64_t total)> on_client;
  std::function<void(const RoundMetrics&)> on_round;
  /// Before the first round: so much of what a stage has to do is done. From worker threads, one
  /// call at a time.
  std::function<void(const char* stage, std::uint64_t done, std::uint64_t total)> on_prepare;
  std::function<void(const std::string&)> on_note;
};

/// Clients with the same budget: what they were exposed to and may be told.
struct GroupClaims {
  std::string name;  // "all clients", "clients with budget 3 a weight"
  std::uint64_t clients = 0;
  Exposure exposure;
  std::vector<MechanismSpec> mechanisms;  // of the exposure, each once
  std::vector<Claim> claims;
};
/// The group whose clients are promised least; `groups` has one at least.
const GroupClaims& worst_group(std::span<const GroupClaims> groups);

struct RunResult {
  std::vector<RoundMetrics> rounds;
  /// Of the network and, behind it, the statistics that features are changed by, if any: see
  /// network_weights().
  std::vector<float> model;
  std::string stopped;  // "rounds", "patience", or "budget": no client of a round had any left
  std::vector<GroupClaims> groups;
  std::vector<Claim> claims;  // of the worst group
  double total_seconds = 0.0;
  std::shared_ptr<const nlohmann::json> record;  // what run.json says

  const RoundMetrics* last_evaluated() const;
  const RoundMetrics* best() const;
};

/// The weights of the network alone, for features as they are computed: centring is folded into its
/// first layer. `model` is that of a run, `network` the layout without statistics.
std::vector<float> network_weights(const Layout& network, std::span<const float> model);

/// Where trainers come from: make_torch_factory, or another engine.
using MakeFactory =
    std::function<Result<std::shared_ptr<const TrainerFactory>>(const TrainerRequest&)>;

/// Reads the data, trains, writes run.json, metrics.jsonl, checkpoint.sotto, model.pt and
/// certificate.json.
Result<RunResult> run_recipe(const Recipe& recipe, const RunOptions& options,
                             const MakeFactory& make_factory);

/// The part of the ranks above 0 in run_recipe of rank 0, until it ends. They write nothing. An
/// error here is sent to rank 0, which ends the run with it.
Result<void> run_mpi_worker(const Result<Recipe>& recipe, const RunOptions& options,
                            const MakeFactory& make_factory);

/// What a recipe promises its clients, known before any training.
struct PrivacyPlan {
  std::size_t clients = 0;
  std::size_t clients_per_round = 0;
  std::vector<GroupClaims> groups;       // with all that the recipe promises them
  std::optional<RecordPrivacy> records;  // where records are randomized before the rounds
};

/// Reads data only where it must: to learn the shape of a set that is not a known one, or how many
/// records clients have where DP-SGD protects them.
/// `make_factory` is needed for model.file alone and may be empty.
Result<PrivacyPlan> plan_privacy(const Recipe& recipe, const std::filesystem::path& data_folder,
                                 const MakeFactory& make_factory);

/// "scope", "epsilon" (null: infinite), "delta", "theorem", "assumption", "source", "vacuous", and
/// what it says as types: "unit", "period", "view", "colluders", "status".
nlohmann::json to_json(const Claim& claim);
/// Mechanisms, what they were or will be exposed to, and the claims, as run.json and --json show
/// them: those of the worst group, and all groups under "groups".
nlohmann::json privacy_record(std::span<const GroupClaims> groups, bool planned);

}  // namespace sotto
