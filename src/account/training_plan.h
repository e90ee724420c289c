// A whole training of one-report clients behind a shuffler: which epsilon0 and cap meet a client's
// epsilon at so many rounds and messages, and what is left of the central model's signal.
//
// Signal. All n clients send a vector of length one in one direction. The mean of N shuffled
// releases (rounds times messages) has noise V / (d n N) a coordinate, V the squared error of a
// report; a trusted curator who adds Gaussian noise to the sum, at the same epsilon and delta for
// replacing one client, has 4 / (n^2 mu^2), mu the ratio of sensitivity and deviation over the
// whole training, whatever its number of rounds. The quotient is the share of the signal, squared
// signal over noise, that is left:
//
//   4 N d / (n V mu^2).
//
// V comes from the integers that the mechanism samples with, and every price is the shuffled
// accountant's. Only where the search for the cap starts is approximate: for many small reports a
// release costs 2 q r^2 / (n (1 - q r)), r the density's step over the cap of share q.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "account/plan.h"
#include "sotto/account.h"
#include "sotto/mechanism.h"

namespace sotto {

/// The mechanism at this epsilon0, with a cap of this share of the sphere or with its own.
using MakeReport =
    std::function<Result<std::unique_ptr<Mechanism>>(double epsilon0, std::optional<double> cap)>;

struct TrainingQuestion {
  double target_epsilon = 1.0;  // of a client, over the whole training
  double delta = 1e-6;
  std::uint64_t clients = 1;  // of every batch, this one included
  MakeReport make;
  double least_epsilon0 = 1e-9;
  double most_epsilon0 = 1000.0;
  /// What other rounds of the same training cost: the target is for both together.
  std::optional<PrivacyLoss> earlier;
  double earlier_coupling = 0.0;
};

struct PlannedTraining {
  std::uint64_t clients = 1;
  std::uint64_t rounds = 1;
  std::uint64_t messages = 1;  // of a client in a round, each in a batch of its own
  bool possible = false;
  double epsilon0 = 0.0;  // the largest, of five digits
  double cap = 0.0;       // share of the sphere
  double squared_error = 0.0;
  double signal = 0.0;      // share of the central model's
  std::uint64_t bytes = 0;  // of a client's reports of a round, headers aside
  Bound price;
  /// The same training held against one in which the client's reports are pure noise: for
  /// comparison with add/remove adjacency. Missing where nothing better than `price` is known.
  std::optional<double> noise_epsilon;
};

using PlanProgress = std::function<void(std::size_t done, std::size_t expected)>;

/// The cap with the least error of those that meet the target, and its epsilon0. Where none does,
/// `possible` is false and `price` what the smallest epsilon0 costs.
Result<PlannedTraining> plan_training(const TrainingQuestion& question, std::uint64_t rounds,
                                      std::uint64_t messages, const PlanProgress& progress = {});

inline constexpr std::uint64_t kMostMessages = 256;

/// The fewest rounds of `messages` messages, or messages of `rounds` rounds (the one that is 0),
/// that leave this share of the signal, to a hundredth of their number; not possible where even the
/// most leave less: the answer is then what these leave.
Result<PlannedTraining> plan_for_signal(const TrainingQuestion& question, double signal,
                                        std::uint64_t rounds, std::uint64_t messages,
                                        const PlanProgress& progress = {});

/// The ratio of sensitivity and deviation at which Gaussian noise costs (epsilon, delta).
double gaussian_ratio_of(double epsilon, double delta);
/// And the epsilon of a ratio.
double gaussian_epsilon_of(double ratio, double delta);

/// E|decoded report - input|^2 for an input of full length, in units of its square.
double squared_error_of(const Mechanism& mechanism);
/// The share of the sphere that the mechanism's cap has, from the integer that its sampler uses.
double cap_of(const Mechanism& mechanism);

}  // namespace sotto
