// The simulation's transport: clients are threads of this process, and do exactly what a client
// process does: load, train, bound, perturb, pack.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/sha256.h"
#include "plan/budget.h"
#include "sotto/data.h"
#include "sotto/federation.h"
#include "sotto/trainer.h"

namespace sotto {

struct LocalClients {
  const Dataset* data = nullptr;
  const Partition* partition = nullptr;
  Preprocess preprocess;
  TrainOptions options;
  std::uint64_t seed = 0;
  bool keep_buffers = false;    // each client's statistics of batch norm stay with it
  bool keep_optimizer = false;  // and so does its optimizer's state
};

/// What a client keeps from one of its rounds to the next: buffers, then the optimizer's state.
using ClientStates = std::map<std::uint32_t, std::vector<float>>;

class LocalTransport final : public Transport {
 public:
  static Result<std::unique_ptr<LocalTransport>> make(LocalClients clients,
                                                      std::shared_ptr<const TrainerFactory> factory,
                                                      unsigned threads);

  unsigned lanes() const noexcept override { return static_cast<unsigned>(lanes_.size()); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;

  /// Where a client's envelopes go instead of the sinks, if set; called from several threads.
  std::function<Result<void>(std::uint32_t client, std::span<const Envelope>)> outbox;
  const LocalClients& clients() const { return clients_; }

  /// Seconds since the last call, summed over lanes: inside Trainer::train, and around it.
  struct Times {
    double train = 0.0;
    double engine = 0.0;
    double delay = 0.0;  // simulated: the longest random delay of an envelope
  };
  Times take_times();

  /// Whether reports are hashed on their way, for a ledger; and the hashes since the last call.
  bool hashes_reports = false;
  std::vector<ReportHash> take_hashes();

  /// What clients of this round that worked elsewhere left behind: as if they had worked here.
  void absorb(std::vector<ReportHash> hashes, const Times& times, ClientStates states);

  /// Packs a client's reports, which were made elsewhere, and hashes them where that is wanted.
  Result<void> send_reports(unsigned lane, const RoundPlan& plan, std::uint32_t client,
                            std::vector<Report> reports, const EnvelopeSink& sink);

  /// What clients keep; part of a run's state between rounds.
  const ClientStates& states() const noexcept { return states_; }
  /// Refuses what clients of this network cannot have kept.
  Result<void> restore(ClientStates states);

  /// Bits from the operating system, for a client of its own process. A simulation's come from the
  /// seed, which everybody knows.
  bool system_bits = false;

  /// Set for a client of its own process, whose absence from a round would tell of its data: where
  /// training fails, the error goes here and the client sends what it would without any samples.
  std::function<void(const Error&)> on_training_error;

  /// Shown every report before it is packed; see RunOptions.
  std::shared_ptr<RunObserver> observer;

  /// Called after each client, one call at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_client;

  /// What decides a client's part in a round: "train" its samples' order, "perturb" its symbols.
  BitSource bits_for(std::string_view purpose, RoundId round, std::uint32_t client) const;
  /// How many steps a client's optimizer, where it keeps one, has made:
  /// nothing where it keeps none.
  std::optional<float> steps_of(std::uint32_t client) const;

  /// The trainers, for evaluation between rounds.
  Trainer& trainer(unsigned lane) { return *lanes_[lane].trainer; }

 private:
  struct Lane {
    std::unique_ptr<Trainer> trainer;
    std::vector<float> weights;  // reused from client to client
    std::vector<float> slice;    // of the tensors of one part
    Times times;
    std::vector<ReportHash> hashes;
  };
  LocalTransport(LocalClients clients, std::shared_ptr<const TrainerFactory> factory)
      : clients_(std::move(clients)), factory_(std::move(factory)) {}
  Result<void> run_client(Lane& lane, const RoundPlan& plan, const ClientGroup& group,
                          std::uint32_t client, std::span<const float> model,
                          const EnvelopeSink& sink);
  /// What a client without samples has learned: nothing.
  void keep_still(Lane& lane, const RoundPlan& plan, std::span<const float> model) const;
  /// Fills lane.weights with the client's payload; returns the seconds that training took.
  Result<double> train_client(Lane& lane, const RoundPlan& plan, std::uint32_t client,
                              std::span<const float> model);
  Result<void> send_client(Lane& lane, const RoundPlan& plan, const ClientGroup& group,
                           std::uint32_t client, const EnvelopeSink& sink);
  /// Cuts a report into envelopes, which are hashed where that is wanted.
  Result<void> send(Report report, const RoundPlan& plan, Sha256& hash,
                    const EnvelopeSink& sink) const;
  Result<void> load_client(Lane& lane, std::uint32_t client, std::span<const float> model);
  void keep_client(Lane& lane, std::uint32_t client);

  LocalClients clients_;
  std::shared_ptr<const TrainerFactory> factory_;
  std::shared_ptr<const Layout> layout_;
  std::vector<std::size_t> buffers_;  // tensors of the layout
  std::size_t buffer_values_ = 0;     // in them, where clients keep theirs
  std::vector<Lane> lanes_;
  std::mutex states_mutex_;
  ClientStates states_;
};

}  // namespace sotto
