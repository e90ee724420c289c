// The whole table of a recipe's claims, and the group of clients that it promises least.
#include <limits>

#include "plan/baselines.h"
#include "sotto/federation.h"
#include "sotto/records.h"

namespace sotto {

std::vector<Claim> recipe_claims(const Recipe& recipe, const Exposure& exposure,
                                 const TrainingFacts& facts) {
  if (learns_alone(recipe)) {
    return {{Scope{}, 0.0, 0.0, "nothing leaves a client: its model stays where it was trained"}};
  }
  if (facts.records) return claims_of(*facts.records);
  std::vector<Claim> claims = claims_of(exposure);
  for (Claim& claim : training_claims(recipe, facts)) claims.push_back(std::move(claim));
  return claims;
}

const GroupClaims& worst_group(std::span<const GroupClaims> groups) {
  const auto epsilon = [](const GroupClaims& group) {
    const Claim* const claim = client_claim(group.claims);
    return claim == nullptr ? std::numeric_limits<double>::infinity() : claim->epsilon;
  };
  const GroupClaims* worst = &groups.front();
  for (const GroupClaims& group : groups) {
    if (epsilon(group) > epsilon(*worst)) worst = &group;
  }
  return *worst;
}

}  // namespace sotto
