// What DP-SGD and secure aggregation add to the table of claims.
//
// DP-SGD protects single records: all that leaves the client is computed from noisy sums, so the
// accountant's epsilon for the steps of all rounds holds against everybody who sees the reports,
// and the server, and the final model. Of the client with all its records it says nothing.
//
// Hybrid (Truex et al. 2019) has each of t honest clients add 1 / sqrt(t) of the deviation and
// hides single reports by secure aggregation. The sum then has the whole noise if what a client
// sends is linear in its noise: one step a round of plain SGD. With more steps a client's later
// gradients depend on its own earlier noise and not on the sum's alone, and no proof is known to
// us; the authors' claim is then listed as theirs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "account/coupling.h"
#include "base/text.h"
#include "plan/baselines.h"

namespace sotto {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Scope kRecord{.unit = Unit::kRecord};

void assume(Claim& claim, const std::string& text) {
  claim.assumption += (claim.assumption.empty() ? "" : "; ") + text;
}

/// The worst over the clients' numbers of samples; `noise` is the multiplier that an adversary
/// meets. `rounded`: whether doubles are hidden by the lattice and counted.
Claim record_claim(const TrainOptions& options, const TrainingFacts& facts, double noise,
                   bool rounded) {
  if (facts.samples.empty()) {
    // A server has nothing but its own guess, and nothing that is claimed may rest on it.
    return {kRecord, kInfinite, facts.delta,
            "depends on how many records a client has, which only that client knows"};
  }
  Claim worst{kRecord, 0.0, facts.delta, "no step was taken"};
  for (const std::size_t samples : facts.samples) {
    const Lots lots = lots_of(options, samples);
    const std::uint64_t steps = lots.steps * facts.rounds;
    if (steps == 0) continue;
    const double tau = rounded ? step_coupling(facts.parameters, lots, noise) : 0.0;
    Claim claim = worst;
    claim.epsilon = coupled_epsilon(
                        [&](double delta) {
                          const Claim at = dpsgd_claim(noise, lots.sampling(), steps, delta);
                          claim.theorem = at.theorem;
                          return at.epsilon;
                        },
                        facts.delta, tau * static_cast<double>(steps) * (1.0 + 1e-9))
                        .value_or(kInfinite);
    if (claim.epsilon >= worst.epsilon) worst = claim;
  }
  worst.assumption =
      "one record of a client more or less; how many records clients have is public, and who is "
      "in a lot is not; it says nothing of a client with all its records";
  return worst;
}

/// Whether what a client sends is linear in its noise.
bool one_plain_step(const Recipe& recipe, const TrainOptions& options, const TrainingFacts& facts) {
  if (recipe.train.optimizer != Optimizer::kSgd || recipe.train.momentum != 0.0) return false;
  return std::ranges::all_of(
      facts.samples, [&](std::size_t samples) { return lots_of(options, samples).steps <= 1; });
}

}  // namespace

std::set<std::size_t> sample_counts(const Partition& partition) {
  std::set<std::size_t> counts;
  std::size_t last = 0;
  for (std::size_t client = 0; client < partition.clients(); ++client) {
    // Neighbours mostly have as many as each other: a million need not all be looked up.
    const std::size_t size = partition.client(client).size();
    if (size != last) counts.insert(size);
    last = size;
  }
  return counts;
}

TrainingFacts training_facts(const Layout& layout, const Exposure& exposure) {
  TrainingFacts facts;
  facts.parameters = layout.parameter_count();
  for (const Turn& turn : exposure.turns) facts.rounds += turn.rounds;
  facts.delta = exposure.delta;
  return facts;
}

std::vector<Claim> training_claims(const Recipe& recipe, const TrainingFacts& facts) {
  std::vector<Claim> claims;
  TrainOptions options;
  options.batch_size = static_cast<std::uint32_t>(recipe.train.batch_size);
  options.epochs = static_cast<std::uint32_t>(recipe.train.epochs);
  set_private(recipe, options);
  if (trains_privately(recipe)) {
    if (options.noise == 0.0) {
      claims.push_back({kRecord, kInfinite, 0.0, "gradients are clipped but no noise is added"});
    } else {
      claims.push_back(record_claim(options, facts, options.noise, options.rounds_noise));
    }
  }
  if (!recipe.aggregate.secure) return claims;
  const std::string threshold = "the round's threshold (" +
                                short_number(100.0 * recipe.aggregate.threshold) +
                                " % of its clients)";
  if (is_hybrid(recipe)) {
    const std::string honest = std::to_string(recipe.aggregate.honest);
    Claim& local = claims.back();
    local.theorem += ", with a client's own part of the noise";
    assume(local, "the client's arithmetic is that of real numbers");
    Claim sum = record_claim(options, facts, recipe.train.noise, false);
    sum.scope.view = View::kSum;
    assume(sum, "at least " + honest +
                    " honest clients in every sum, a server that follows the protocol, fewer "
                    "colluding clients than " +
                    threshold + "; the clients' arithmetic is that of real numbers");
    if (one_plain_step(recipe, options, facts)) {
      sum.theorem += ", with the noise of " + honest + " clients";
    } else {
      sum.theorem = "the claim of its authors; not proven for more than one plain SGD step a round";
      sum.status = Status::kPublished;
      sum.authors = "Truex et al. 2019";
    }
    claims.push_back(std::move(sum));
  }
  claims.push_back(
      {{.period = Period::kRound, .view = View::kSum},
       kInfinite,
       0.0,
       "the server sees the sum of a round's reports and nothing else of them, which is no epsilon "
       "(Bonawitz et al. 2017)",
       "a server that follows the protocol; fewer colluding clients than " + threshold});
  return claims;
}

}  // namespace sotto
