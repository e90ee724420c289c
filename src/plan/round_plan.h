// What a plan and a run share: the mechanism that a recipe asks for, and what its clients are in
// for.
#pragma once

#include <memory>
#include <optional>

#include "sotto/data.h"
#include "sotto/federation.h"

namespace sotto {

/// The plan of a round, without its groups: what the recipe alone decides.
RoundPlan recipe_plan(const Recipe& recipe, RoundId round);

DataRequest data_request(const Recipe& recipe, const std::filesystem::path& folder);

/// Whether what the recipe asks of samples can be done to their features.
Result<void> check_features(const Recipe& recipe);
/// The shape that the recipe enlarges samples to, where it does.
std::optional<SampleShape> recipe_resize(const Recipe& recipe);

std::size_t clients_per_round(const Recipe::Federation& federation, std::size_t clients);

/// The probability of a client to be in a round.
double share_of_clients(std::size_t clients, std::size_t per_round);

/// An error for a recipe whose rounds are too small to release anything.
Result<void> check_batches(const Recipe& recipe, std::size_t per_round);

}  // namespace sotto
