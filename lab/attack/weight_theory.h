// What the weight-inference attack is expected to yield, from a mechanism's exact moments.
#pragma once

#include "attack/mean_map.h"
#include "attack/weight_inference.h"

namespace sotto {

/// By the central limit theorem: reports are averaged, so their sum is taken as normal. Clients'
/// values are what `attack` says: w, scattered around it, or moved together in each round.
WeightTheory expected_findings(const WeightAttack& attack, const MeanMap& map);

}  // namespace sotto
