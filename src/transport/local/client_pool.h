// Clients of a simulation: threads of this process take turns at being one client after the other.
//
// The pool knows what a simulation has to know of its clients: their samples, the seed that all
// their random bits follow from, and what they keep from round to round. What a client does is
// client/client.h.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "client/client.h"
#include "plan/budget.h"
#include "sotto/data.h"
#include "sotto/federation.h"
#include "train/trainer_pool.h"

namespace sotto {

class ClientPool final : public Transport {
 public:
  /// As many threads as there are trainers; `trainers` and `partition` outlive the pool.
  ClientPool(ClientSettings settings, const Partition& partition, std::uint64_t seed,
             std::shared_ptr<const Layout> layout, TrainerPool& trainers);

  unsigned lanes() const noexcept override { return static_cast<unsigned>(lanes_.size()); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;

  /// Where a client's envelopes go instead of the sinks, if set; called from several threads.
  std::function<Result<void>(std::uint32_t client, std::span<const Envelope>)> outbox;
  const ClientSettings& settings() const noexcept { return settings_; }
  const Partition& partition() const noexcept { return partition_; }

  /// Seconds since the last call, summed over lanes: inside Trainer::train, and around it.
  struct Times {
    double train = 0.0;
    double engine = 0.0;
    double delay = 0.0;  // simulated: the longest random delay of an envelope
  };
  Times take_times();

  /// Whether reports are hashed, for a ledger; and the hashes since the last call, by client.
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
  /// How many steps a client's optimizer, where it keeps one, has made: nothing where it keeps
  /// none.
  std::optional<float> steps_of(std::uint32_t client) const;

  /// Shown every report before it is packed; see RunOptions.
  std::shared_ptr<RunObserver> observer;
  /// Called after each client, one call at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_client;

  /// The bits of a client's part in a round, which follow from the seed and so are known to all.
  BitSource bits_for(std::string_view purpose, RoundId round, std::uint32_t client) const;

 private:
  struct Lane {
    Client client;
    Times times;
    std::vector<ReportHash> hashes;
  };
  Result<void> run_client(Lane& lane, const RoundPlan& plan, const ClientGroup& group,
                          std::uint32_t client, std::span<const float> model,
                          const EnvelopeSink& sink);
  std::vector<float> state_of(std::uint32_t client);

  ClientSettings settings_;
  const Partition& partition_;
  std::uint64_t seed_;
  std::vector<Lane> lanes_;
  std::mutex states_mutex_;
  ClientStates states_;
};

}  // namespace sotto
