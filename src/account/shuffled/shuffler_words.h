// What a claim about shuffled reports assumes, in words.
#pragma once

#include <string>

#include "sotto/claims.h"

namespace sotto {

/// The sizes of the batches: "100 clients" or "80 to 100 clients".
std::string batch_sizes(const Exposure& exposure);

/// What has to hold for a claim about these batches; `coupling` is the part of delta that the
/// sampler's arithmetic costs.
std::string shuffler_assumption(const Exposure& exposure, double coupling);

}  // namespace sotto
