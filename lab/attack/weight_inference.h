// What averaging reveals: the weight-inference attack of SRR-FL (section 3 and appendix), on
// numbers.
//
// n clients hold values around w and report each of them in every round through the same mechanism.
// The server, which knows the mechanism, decodes the reports and averages them over clients and
// rounds. For `two-point` that average is the seed's equation 2: with p the share of upper outputs
// and E = (e^eps+1)/(e^eps-1), c + r E (2 p - 1). For every other mechanism it is the same natural
// estimator; where the mechanism is biased, the server undoes the bias, which it knows as well. The
// server's confidence is the seed's equation 10, from two random halves of its history.
//
// No mechanism escapes: for an unbiased one with variance v the average over n R reports is normal
// with variance v / (n R), so its expected error is sqrt(2 v / (pi n R)). What differs is v alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

struct WeightAttack {
  std::string mechanism;  // a value mechanism
  Parameters parameters;
  Range range{0.0, 1.0};
  std::uint64_t clients = 1000;
  std::uint64_t rounds = 50;
  std::uint64_t repetitions = 100;
  double weight = 0.2;     // what clients' values scatter around
  double deviation = 0.0;  // of clients' values; drawn once for a repetition
  /// Above 0, clients' values are drawn anew in every round, around w plus a shift that all clients
  /// of the round share: uniform between -tolerance and tolerance (the notebook of SRR-FL's code).
  double tolerance = 0.0;
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

/// A mean over repetitions and its standard error.
struct Estimate {
  double mean = 0.0;
  double standard_error = 0.0;
};

/// After so many rounds. Errors are shares of the domain's size 2r.
struct WeightFinding {
  std::uint64_t rounds = 0;
  Estimate error;            // of the average, against the mean of what clients held in all rounds
  Estimate error_to_round;   // against the mean of what they held in the last of these rounds
  Estimate error_to_weight;  // against w itself, which those means scatter around
  std::optional<Estimate> corrected;   // after undoing the bias; none where it cannot be undone
  std::optional<Estimate> confidence;  // equation 10; none in the first round
};

struct WeightTheory {
  double error = 0.0;
  double error_to_round = 0.0;
  double error_to_weight = 0.0;
  std::optional<double> confidence;
  double bias = 0.0;       // of the average, as a share of the domain
  double deviation = 0.0;  // of one report, as a share of the domain
};

struct WeightInference {
  std::vector<WeightFinding> by_round;
  WeightTheory theory;          // after the last round
  double exact_epsilon = 0.0;   // of one report
  double client_epsilon = 0.0;  // of all reports of a client together
  const WeightFinding& last() const { return by_round.back(); }
};

using AttackProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// The result does not depend on the number of threads. `progress` is called by one thread at a
/// time.
Result<WeightInference> infer_weight(const WeightAttack& attack,
                                     const AttackProgress& progress = {});

/// What the attack is expected to yield, from the mechanism's exact moments and the central limit
/// theorem.
Result<WeightTheory> weight_theory(const WeightAttack& attack);

/// Equation 10: 100 where two predictions agree, less the more they differ.
double confidence_score(double first, double second, double radius);

/// Predictions of the server from its history: one decoded mean for each round, all of the same
/// number of reports. Random halves of equal size; nothing from fewer than two rounds.
std::optional<double> history_confidence(std::span<const double> history, double radius,
                                         BitSource& bits);

}  // namespace sotto
