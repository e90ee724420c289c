// The average of all decoded reports is m + noise: m is the mean of the mechanism's output at what
// clients hold, and the noise has the variance of one report over clients times rounds. Each error
// is the mean magnitude of a normal distribution around the gap between m and what it is held
// against. Clients' values are integrated over twice: over the shift that a round's clients share
// (uniform), and over each client's own deviation (normal).
#include "attack/weight_theory.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sotto {
namespace {

constexpr double kReach = 8.0;   // deviations that integrals over a normal distribution span
constexpr int kSteps = 800;      // of Simpson's rule
constexpr int kShiftSteps = 40;  // over the shifts of a round

/// E |X| for a normal X.
double folded_mean(double mean, double deviation) {
  if (deviation <= 0.0) return std::abs(mean);
  const double ratio = mean / deviation;
  return deviation * std::sqrt(2.0 / std::numbers::pi) * std::exp(-ratio * ratio / 2.0) +
         mean * std::erf(ratio / std::numbers::sqrt2);
}

double simpson(int i, int steps) { return i == 0 || i == steps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0; }

/// Calls use(z, weight) at points of a standard normal distribution whose weights sum to 1.
template <class Use>
void over_normal(Use&& use) {
  double total = 0.0;
  const auto weight_at = [](int i) {
    const double z = kReach * (2.0 * i - kSteps) / kSteps;
    return simpson(i, kSteps) * std::exp(-z * z / 2.0);
  };
  for (int i = 0; i <= kSteps; ++i) total += weight_at(i);
  for (int i = 0; i <= kSteps; ++i) {
    use(kReach * (2.0 * i - kSteps) / kSteps, weight_at(i) / total);
  }
}

/// Calls use(shift, weight) at points between -tolerance and tolerance whose weights sum to 1.
template <class Use>
void over_shifts(double tolerance, Use&& use) {
  if (tolerance <= 0.0) return use(0.0, 1.0);
  for (int i = 0; i <= kShiftSteps; ++i) {
    use(tolerance * (2.0 * i - kShiftSteps) / kShiftSteps,
        simpson(i, kShiftSteps) / (3.0 * kShiftSteps));
  }
}

/// Mean and variance of a number that takes values with weights.
struct Spread {
  double mean = 0.0;
  double square = 0.0;
  void add(double value, double weight) {
    mean += weight * value;
    square += weight * value * value;
  }
  double variance() const { return std::max(0.0, square - mean * mean); }
};

/// One client in a round whose values lie around one centre.
struct Client {
  Spread output;          // the mean of its report, over what it holds
  Spread held;            // what it holds
  Spread gap;             // the one less the other
  Spread late;            // the report's share in the average of all rounds, less what is held
  double variance = 0.0;  // of its report
};

Client client_around(double centre, const WeightAttack& attack, const MeanMap& map) {
  Client client;
  const Range& range = map.range();
  const auto add = [&](double value, double weight) {
    const double clipped =
        std::clamp(value, range.centre - range.radius, range.centre + range.radius);
    const Moments moments = map.moments(clipped);
    client.output.add(moments.mean, weight);
    client.held.add(clipped, weight);
    client.gap.add(moments.mean - clipped, weight);
    client.late.add(moments.mean / static_cast<double>(attack.rounds) - clipped, weight);
    client.variance += weight * moments.variance;
  };
  if (attack.deviation > 0.0) {
    over_normal([&](double z, double weight) { add(centre + attack.deviation * z, weight); });
  } else {
    add(centre, 1.0);
  }
  return client;
}

}  // namespace

WeightTheory expected_findings(const WeightAttack& attack, const MeanMap& map) {
  Spread output;  // means over clients, by the round's shift
  Spread gap;
  double output_spread = 0.0;  // of one client's around them
  double gap_spread = 0.0;
  double variance = 0.0;
  over_shifts(attack.tolerance, [&](double shift, double weight) {
    const Client client = client_around(attack.weight + shift, attack, map);
    output.add(client.output.mean, weight);
    gap.add(client.gap.mean, weight);
    output_spread += weight * client.output.variance();
    gap_spread += weight * client.gap.variance();
    variance += weight * client.variance;
  });
  const auto n = static_cast<double>(attack.clients);
  const auto rounds = static_cast<double>(attack.rounds);
  // Values that are drawn anew in every round average out over rounds; those drawn once do not.
  const double draws = attack.tolerance > 0.0 ? rounds : 1.0;
  const double domain = 2.0 * attack.range.radius;
  const double noise = variance / (n * rounds);
  WeightTheory theory;
  theory.bias = gap.mean / domain;
  theory.deviation = std::sqrt(variance) / domain;
  theory.error =
      folded_mean(gap.mean, std::sqrt(noise + gap_spread / (n * draws) + gap.variance() / draws)) /
      domain;
  theory.error_to_weight =
      folded_mean(output.mean - attack.weight,
                  std::sqrt(noise + output_spread / (n * draws) + output.variance() / draws)) /
      domain;
  theory.error_to_round = theory.error;
  if (attack.tolerance > 0.0) {
    // The last round's shift is in its reports and, undivided, in what they are held against; the
    // shifts of the rounds before it are in the reports alone.
    const double before = (rounds - 1.0) / rounds;
    const double others = before / rounds * (output.variance() + output_spread / n);
    theory.error_to_round = 0.0;
    over_shifts(attack.tolerance, [&](double shift, double weight) {
      const Client last = client_around(attack.weight + shift, attack, map);
      theory.error_to_round += weight *
                               folded_mean(before * output.mean + last.late.mean,
                                           std::sqrt(noise + others + last.late.variance() / n)) /
                               domain;
    });
  }
  if (attack.rounds >= 2) {
    // What clients hold is the same in both halves, or moves from round to round.
    const std::uint64_t half_rounds = attack.rounds / 2;
    const auto half = static_cast<double>(half_rounds);
    double one_round = variance / n;
    if (attack.tolerance > 0.0) one_round += output.variance() + output_spread / n;
    const double spread = std::sqrt(2.0 * one_round / half);
    double score = 0.0;
    over_normal([&](double z, double weight) {
      score += weight * confidence_score(0.0, spread * z, attack.range.radius);
    });
    theory.confidence = score;
  }
  return theory;
}

}  // namespace sotto
