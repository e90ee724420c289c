// The baselines that LDP-Fed compares itself with: DP-SGD at each participant, secure aggregation
// (SMC), both together (Hybrid), and learning alone. What they ask of a recipe, and what they
// promise beyond the mechanism.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sotto/data.h"
#include "sotto/federation.h"
#include "sotto/recipe.h"
#include "sotto/trainer.h"

namespace sotto {

/// Keys that contradict each other, or do nothing. `given` has the keys that the recipe names, with
/// their places.
Result<void> check_baselines(const std::map<std::string, std::string>& given, const Recipe& recipe);

inline bool learns_alone(const Recipe& recipe) {
  return recipe.federation.mode == FederationMode::kLocal;
}
inline bool trains_privately(const Recipe& recipe) { return recipe.train.clip > 0.0; }
/// Noise that is enough only when the reports of several clients are added.
inline bool is_hybrid(const Recipe& recipe) { return recipe.aggregate.honest > 0; }

/// The part of the options that DP-SGD decides: of Hybrid, a client's share of the noise.
void set_private(const Recipe& recipe, TrainOptions& options);
/// An error where the recipe asks for DP-SGD and network or trainer cannot give it.
Result<void> check_trainer(const Recipe& recipe, const Layout& layout);
Result<void> check_trainer(const Recipe& recipe, const TrainerFactory& factory);

/// Reports that a round of so many clients must have before their sum is unmasked.
std::uint32_t unmasking_threshold(const Recipe& recipe, std::size_t clients);
/// An error where no round of so many clients could ever be unmasked.
Result<void> check_secure(const Recipe& recipe, std::size_t per_round);

/// Of the round's clients, those that vanish after they have shared their keys: a simulation's
/// choice, by seed, round and client alone.
std::vector<std::uint32_t> vanishing(const Recipe& recipe, RoundId round,
                                     std::span<const std::uint32_t> clients);

/// All that the further claims depend on besides the recipe.
struct TrainingFacts {
  std::set<std::size_t> samples;  // numbers of samples that clients have; empty: not known here
  std::size_t parameters = 0;
  std::uint64_t rounds = 0;  // the most that a client took part in
  double delta = 1e-6;
  std::optional<RecordPrivacy> records = {};  // where records were randomized before the rounds
};
/// All but `samples` and `records`, which are the clients' own.
TrainingFacts training_facts(const Layout& layout, const Exposure& exposure);
std::set<std::size_t> sample_counts(const Partition& partition);

/// Rows of the table of claims beyond the mechanism's: about a record, and what the server sees.
std::vector<Claim> training_claims(const Recipe& recipe, const TrainingFacts& facts);
/// The whole table of a recipe: the mechanism's claims and these; of local learning, that nothing
/// leaves; of records that were randomized beforehand, theirs.
std::vector<Claim> recipe_claims(const Recipe& recipe, const Exposure& exposure,
                                 const TrainingFacts& facts);

}  // namespace sotto
