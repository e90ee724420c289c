// What clients send, tensor by tensor: how often, in which range, at which epsilon, and how much
// noise that puts on a weight. Where a schedule splits a budget over layers, this is the table that
// says which layers can still learn.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sotto/claims.h"

namespace sotto::cli {

/// Rows by turn and tensor; empty where nothing is sent under a mechanism that adds noise.
std::string sent_table(const Exposure& exposure, std::size_t clients_per_round);

/// The same as an array: "tensor", "weights", "rounds", "centre", "radius", "epsilon" (of a weight;
/// of the vector for vector mechanisms), "noise" (deviation of one report of one weight),
/// "noise_of_mean" (of the round's mean).
nlohmann::json sent_json(const Exposure& exposure, std::size_t clients_per_round);

}  // namespace sotto::cli
