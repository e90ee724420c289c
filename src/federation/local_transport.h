// The simulation's transport: clients are threads of this process, and do exactly what a client
// process does: load, train, bound, perturb, pack.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "federation/budget.h"
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
};

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
  };
  Times take_times();

  /// Whether reports are hashed on their way, for a ledger; and the hashes since the last call.
  bool hashes_reports = false;
  std::vector<ReportHash> take_hashes();

  /// Called after each client, one call at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_client;

  /// The trainers, for evaluation between rounds.
  Trainer& trainer(unsigned lane) { return *lanes_[lane].trainer; }

 private:
  struct Lane {
    std::unique_ptr<Trainer> trainer;
    std::vector<float> weights;  // reused from client to client
    Times times;
    std::vector<ReportHash> hashes;
  };
  LocalTransport(LocalClients clients, std::shared_ptr<const TrainerFactory> factory)
      : clients_(std::move(clients)), factory_(std::move(factory)) {}
  Result<void> run_client(Lane& lane, const RoundPlan& plan, std::uint32_t client,
                          std::span<const float> model, const EnvelopeSink& sink);

  LocalClients clients_;
  std::shared_ptr<const TrainerFactory> factory_;
  std::shared_ptr<const Layout> layout_;
  std::vector<Lane> lanes_;
};

}  // namespace sotto
