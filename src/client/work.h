// What a recipe asks of a client's machine, from its text alone: no weight is made for it and no
// sample is read, so that a client can refuse a training that it could not even hold.
#pragma once

#include "sotto/network.h"
#include "sotto/policy.h"
#include "sotto/recipe.h"

namespace sotto::rpc {

/// Of samples of this shape alone, whatever the network.
identity::Work work_of(const Recipe& recipe, SampleShape input);
/// Of the network too: its weights, gradients and optimizer, and what a batch leaves in its layers.
identity::Work work_of(const Recipe& recipe, const Network& network);
/// With the weights of a network from a file.
identity::Work work_of(const Recipe& recipe, SampleShape input, std::uint64_t weights);

}  // namespace sotto::rpc
