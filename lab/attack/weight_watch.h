// The weight-inference attack inside a federated run: some weights of one tensor, as the server
// sees them round by round, beside what the clients really held.
//
// The server needs nothing but what every round releases to it, the decoded mean of the reports; a
// shuffler or secure aggregation hides neither. The truth is taken from the simulated clients,
// after clipping, and never reaches a report. Unlike on numbers, the weights move while the model
// learns: the average over rounds tells the average of what clients held, and `drift` how far that
// is from the last round's.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "attack/weight_inference.h"
#include "sotto/federation.h"

namespace sotto {

/// Means over the watched weights; errors are shares of the domain's size 2r.
struct WatchedRound {
  RoundId round = 0;
  std::uint64_t reports = 0;
  double error_now = 0.0;  // of this round's mean against what this round's clients held
  double error = 0.0;      // of the history's average against the average of what was held
  /// What the mechanism's variance makes of the latter, were it normal. Where noise drives weights
  /// to the ends of the range, later noise is smaller: mean squares agree, magnitudes are 1 to 2 %
  /// larger.
  double error_theory = 0.0;
  double error_latest = 0.0;  // of the history's average against what was held in this round
  double drift = 0.0;         // of what was held: this round's against the history's average
  std::optional<double> confidence;
};

class WeightWatch final : public RunObserver {
 public:
  /// The weights at these places of the tensor with this index in the network's layout.
  WeightWatch(std::size_t tensor, std::vector<std::size_t> places, std::uint64_t seed)
      : tensor_(tensor), places_(std::move(places)), seed_(seed) {}

  void on_plan(const RoundPlan& plan, std::span<const float> model) override;
  void on_report(const RoundPlan& plan, std::uint32_t client, const Part& part,
                 std::span<const float> bounded, const Report& report) override;
  void on_release(const RoundPlan& plan, std::size_t group,
                  std::span<const Released> released) override;

  /// Of the rounds that released the tensor.
  std::vector<WatchedRound> rounds() const;

 private:
  struct Seen {
    RoundId round = 0;
    Range range;
    std::uint64_t reports = 0;
    std::vector<double> released;    // means, weight by weight
    std::vector<std::int64_t> held;  // sums in units of radius * 2^-40: the order does not matter
    std::uint64_t held_count = 0;
    std::vector<double> variance;  // of one report, summed over clients
  };
  double held_mean(const Seen& seen, std::size_t weight) const;

  std::size_t tensor_;
  std::vector<std::size_t> places_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
};

struct WeightRun {
  Recipe recipe;
  RunOptions options;
  std::string tensor;  // empty: the network's first
  std::size_t weights = 100;
  std::uint64_t seed = 1;  // of the splits of the history
};

struct WatchedWeights {
  std::string tensor;
  std::size_t weights = 0;
  std::optional<double> accuracy;
  std::vector<WatchedRound> rounds;
};

/// Runs the recipe and attacks what its rounds release. The model is that of the run alone.
Result<WatchedWeights> infer_weights_of_run(const WeightRun& run, const MakeFactory& make_factory);

}  // namespace sotto
