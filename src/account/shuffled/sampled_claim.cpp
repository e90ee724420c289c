#include "account/shuffled/sampled_claim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "account/releases.h"
#include "account/shuffled/sizes.h"
#include "base/exact/exact.h"
#include "base/text.h"

namespace sotto {
namespace {

/// ln(1 + q (e^epsilon - 1)), rounded up.
double amplified(double epsilon, double q) {
  if (!std::isfinite(epsilon)) return epsilon;
  const double value = epsilon > 30.0 ? epsilon + std::log(q + (1.0 - q) * std::exp(-epsilon))
                                      : std::log1p(q * std::expm1(epsilon));
  return std::min(epsilon, value * (1.0 + 1e-12));
}

std::string assumption_of(const Exposure& exposure, bool one_round) {
  std::string text = "reports pass a module that lets each of " + with_commas(exposure.population) +
                     " clients' through with the same probability " +
                     short_number(exposure.sampling) +
                     ", tells nobody whose they are or whose were kept back, passes them on in an "
                     "order that tells "
                     "nothing, and does not work with the server, which sees how many there are";
  if (exposure.honest < 1.0) {
    text += "; " + short_number(100.0 * exposure.honest) +
            " % of the other clients do not tell the server whether they were heard";
  }
  if (!one_round) text += "; every round counts, since nobody knows in which ones a client was";
  return text;
}

/// Rounds of these turns, as many of each as is said.
class Rounds {
 public:
  explicit Rounds(const Exposure& exposure)
      : exposure_(exposure), population_(honest_members(exposure.population, exposure.honest)) {}

  void add(const RoundCost& cost, std::uint64_t count) {
    if (count == 0) return;
    parts_.push_back({&cost, count});
    count_ += static_cast<double>(count);
  }

  Claim claim(Period period) const {
    const bool one_round = period == Period::kRound;
    Claim claim{{.period = period, .view = View::kSecretSampling},
                0.0,
                0.0,
                "",
                assumption_of(exposure_, one_round)};
    // No round has more than `most` reports, but for delta in all.
    const double tail = exposure_.delta / std::max(1.0, count_) * (1.0 - 1e-12);
    const std::uint64_t most = size_not_exceeded(population_, exposure_.sampling, tail);
    const double rate =
        std::min(1.0, static_cast<double>(most) / static_cast<double>(population_) * (1.0 + 1e-15));
    claim.delta = parts_.empty() || most == population_ ? 0.0 : exposure_.delta;
    for (const auto& [cost, count] : parts_) {
      const auto times = static_cast<double>(count);
      claim.epsilon =
          exact::add_up(claim.epsilon, exact::multiply_up(amplified(cost->epsilon, rate), times));
      const double own = exact::multiply_up(exact::multiply_up(cost->delta, rate), times);
      claim.delta = std::min(1.0, exact::add_up(claim.delta, own));
    }
    claim.theorem = "sampling: ln(1 + (e^epsilon - 1) m/N) of what a round costs, with m = " +
                    with_commas(most) + " of N = " + with_commas(population_) +
                    ", the most reports of " + (one_round ? "a" : "any") +
                    " round but for probability delta" + (one_round ? "" : ", summed over rounds");
    const double composition = composed();
    if (composition < claim.epsilon) {
      claim.epsilon = composition;
      claim.delta = exposure_.delta;
      claim.theorem =
          "sampling with m/N, by the distribution of the privacy loss over the number m of reports";
      if (!one_round) claim.theorem += ", composed over all rounds";
    }
    return claim;
  }

 private:
  /// By the distribution of their summed loss; infinite where that has no answer.
  double composed() const {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    PrivacyLoss all;
    for (const auto& [cost, count] : parts_) {
      for (const ReleaseKind& kind : cost->kinds) {
        // What a sampler's arithmetic adds concerns the reports of all who may stand in for a
        // client.
        if (!std::isfinite(kind.epsilon) || kind.coupling > 0.0) return kNone;
      }
      PrivacyLoss one = loss_of(cost->kinds);
      all = all.with(loss_over_sizes(
                         population_, exposure_.sampling, [&](std::uint64_t) { return one; },
                         SizeDetail::kFine)
                         .times(count));
    }
    return all.epsilon(exposure_.delta);
  }

  const Exposure& exposure_;
  std::uint64_t population_;
  std::vector<std::pair<const RoundCost*, std::uint64_t>> parts_;
  double count_ = 0.0;
};

}  // namespace

std::vector<Claim> sampled_claims(const Exposure& exposure) {
  std::vector<RoundCost> costs;
  for (const Turn& turn : exposure.turns) costs.push_back(cost_of(turn));
  Claim one;
  Rounds all(exposure);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    Rounds single(exposure);
    single.add(costs[i], 1);
    Claim claim = single.claim(Period::kRound);
    const double delta = std::max(one.delta, claim.delta);
    if (i == 0 || claim.epsilon > one.epsilon) one = std::move(claim);
    one.delta = delta;
    all.add(costs[i], all_rounds(exposure.turns[i]));
  }
  Claim training = all.claim(Period::kTraining);
  if (costs.empty()) return {training};
  return {one, training};
}

}  // namespace sotto
