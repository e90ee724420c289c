#include "account/sampled_claim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "account/releases.h"
#include "base/exact.h"
#include "base/text.h"

namespace sotto {
namespace {

constexpr const char* kSecret = ", if nobody sees who was picked";

/// ln(1 + q (e^epsilon - 1)), rounded up.
double amplified(double epsilon, double q) {
  if (!std::isfinite(epsilon)) return epsilon;
  const double value = epsilon > 30.0 ? epsilon + std::log(q + (1.0 - q) * std::exp(-epsilon))
                                      : std::log1p(q * std::expm1(epsilon));
  return std::min(epsilon, value * (1.0 + 1e-12));
}

std::string assumption_of(const Exposure& exposure, bool one_round) {
  std::string text =
      "reports pass a module that lets each through with the same probability " +
      short_number(exposure.sampling) +
      ", tells nobody whose they are or whose were kept back, and does not work with the server";
  if (!one_round) text += "; every round counts, since nobody knows in which ones a client was";
  return text;
}

/// All rounds by the law of their summed loss; infinite where that has no answer.
double composed(const Exposure& exposure, const std::vector<RoundCost>& costs) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  PrivacyLoss all;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    for (const ReleaseKind& kind : costs[i].kinds) {
      // What a sampler's arithmetic adds concerns the reports of all who may stand in for a client.
      if (!std::isfinite(kind.epsilon) || kind.coupling > 0.0) return kNone;
    }
    const std::uint64_t rounds = all_rounds(exposure.turns[i]);
    if (rounds == 0) continue;
    all = all.with(loss_of(costs[i].kinds).sampled(exposure.sampling).times(rounds));
  }
  return all.epsilon(exposure.delta);
}

}  // namespace

std::vector<Claim> sampled_claims(const Exposure& exposure, const Claim& round) {
  const double q = exposure.sampling;
  Claim one = round;
  one.scope += kSecret;
  one.epsilon = amplified(round.epsilon, q);
  one.delta = std::min(1.0, exact::multiply_up(round.delta, q));
  one.theorem = "sampling: ln(1 + q (e^epsilon - 1)) of what a round costs";
  one.assumption = assumption_of(exposure, true);

  Claim training{"client, whole training" + std::string(kSecret),
                 0.0,
                 0.0,
                 "sum over all rounds of ln(1 + q (e^epsilon - 1)) of what a round costs",
                 assumption_of(exposure, false),
                 "sotto"};
  std::vector<RoundCost> costs;
  for (const Turn& turn : exposure.turns) {
    costs.push_back(cost_of(turn));
    if (all_rounds(turn) == 0) continue;
    const auto rounds = static_cast<double>(all_rounds(turn));
    const double epsilon = amplified(costs.back().epsilon, q);
    training.epsilon = exact::add_up(training.epsilon, exact::multiply_up(epsilon, rounds));
    const double delta = exact::multiply_up(costs.back().delta, exact::multiply_up(q, rounds));
    training.delta = std::min(1.0, exact::add_up(training.delta, delta));
  }
  const double composition = composed(exposure, costs);
  if (composition < training.epsilon) {
    training.epsilon = composition;
    training.delta = exposure.delta;
    training.theorem = "composition of all rounds by their privacy loss under sampling";
  }
  return {one, training};
}

}  // namespace sotto
