// A run whose clients' work is spread over ranks.
//
// Rank 0 is the run: it picks clients, charges the ledger, keeps the model and all files. In every
// round it deals the clients to the ranks, itself among them, and each adds up what its clients
// sent; the sums, integers, are then added over ranks. Whatever is random in a client is keyed by
// seed, round and client, so the model is the same to the last bit for any number of ranks.
//
// The other ranks keep nothing from one round to the next: what a client keeps (statistics,
// optimizer) travels with its work. So a checkpoint of rank 0 is all that a killed job needs, and
// it may go on with another number of ranks.
//
//   helper -> leader   ready: an error, or lanes and digests of recipe, network and data
//   leader -> helper   collect: round, ranges, clients and what they keep;  model, by broadcast
//   helper -> leader   done: an error, or bytes, times, hashes, what its clients keep
//   leader -> helper   add: the groups whose sums are to be added up;  sums, by reduction
//   leader -> helper   evaluate;  model, by broadcast
//   helper -> leader   sums of its chunks of the test set
//   leader -> helper   an empty message: rank 0 has left
#pragma once

#include <memory>

#include "plan/planner.h"
#include "server/evaluate.h"
#include "server/setup.h"
#include "sotto/ranks.h"

namespace sotto {

/// An error that names what of the recipe cannot be spread over ranks.
Result<void> check_spread(const Recipe& recipe);

/// The plan of a round, without its groups: what the recipe alone decides.
RoundPlan recipe_plan(const Recipe& recipe, RoundId round);

/// Rank 0's end.
class SpreadTransport final : public Transport {
 public:
  explicit SpreadTransport(std::shared_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {}

  /// Waits for the helpers; an error where one cannot take part. All three must outlive it.
  Result<void> begin(const Recipe& recipe, const Setup& setup, const Planner& planner);

  unsigned lanes() const noexcept override { return below_->lanes(); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;
  Result<EvaluationSums> evaluate(std::span<const float> model);

 private:
  void hand_out(const RoundPlan& plan,
                const std::vector<std::vector<std::vector<std::uint32_t>>>& shares);
  Result<void> take_in(Delivery& delivery);
  /// The helpers' sums, for each of the groups.
  Result<void> add_up(const RoundPlan& plan, const RoundPlan& own, Delivery& delivery);
  void send_all(std::span<const std::byte> message);

  std::shared_ptr<Ranks> ranks_;
  const Setup* setup_ = nullptr;
  const Planner* planner_ = nullptr;
  LocalTransport* below_ = nullptr;
  std::vector<unsigned> speeds_;  // lanes of each rank
};

}  // namespace sotto
