// A run whose clients' work is shared by the ranks of an MPI job.
//
// Rank 0 is the run: it picks clients, charges the ledger, keeps the model and all files. In every
// round it assigns the clients to the ranks, itself among them, and each adds up what its clients
// sent; the sums, integers, are then added over ranks. Whatever is random in a client is keyed by
// seed, round and client, so the model is the same to the last bit for any number of ranks.
//
// The other ranks keep nothing from one round to the next: what a client keeps (statistics,
// optimizer) travels with its work. So a checkpoint of rank 0 is all that a killed job needs, and
// it may go on with another number of ranks.
//
//   worker -> rank 0   ready: an error, or lanes and digests of recipe, network and data
//   rank 0 -> worker   collect: round, ranges, clients and what they keep;  model, by broadcast
//   worker -> rank 0   done: an error, or bytes, times, hashes, what its clients keep
//   rank 0 -> worker   add: the groups whose sums are to be added up;  sums, by reduction
//   rank 0 -> worker   evaluate;  model, by broadcast
//   worker -> rank 0   sums of its chunks of the test set
//   rank 0 -> worker   an empty message: rank 0 has left
#pragma once

#include <memory>

#include "plan/planner.h"
#include "server/setup.h"
#include "sotto/ranks.h"

namespace sotto {

/// An error that names what of the recipe does not run over ranks.
Result<void> check_mpi(const Recipe& recipe);

/// Rank 0's end.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(std::shared_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {}

  /// Waits for the workers; an error where one cannot take part. All three must outlive it.
  Result<void> begin(const Recipe& recipe, const Setup& setup, const Planner& planner);

  unsigned lanes() const noexcept override { return below_->lanes(); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;
  Result<EvaluationSums> evaluate(std::span<const float> model);

 private:
  void hand_out(const RoundPlan& plan,
                const std::vector<std::vector<std::vector<std::uint32_t>>>& shares);
  Result<void> take_in(Delivery& delivery);
  /// The workers' sums, for each of the groups.
  Result<void> add_up(const RoundPlan& plan, const RoundPlan& own, Delivery& delivery);
  void send_all(std::span<const std::byte> message);

  std::shared_ptr<Ranks> ranks_;
  const Setup* setup_ = nullptr;
  const Planner* planner_ = nullptr;
  ClientPool* below_ = nullptr;
  std::vector<unsigned> speeds_;  // lanes of each rank
};

}  // namespace sotto
