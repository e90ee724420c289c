// Who is in which run of a membership game: the population, and the halves that runs are trained
// on.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/data.h"

namespace sotto {

/// So many training samples, drawn without replacement. Where the target is a given model, the
/// first `known_members` are training samples, which it knows, and the others test samples.
Dataset draw_population(const DataSplit& data, std::size_t size, std::size_t known_members,
                        std::uint64_t seed);

/// Samples of a population of `size` that run `run` is trained on, ascending: a random half for an
/// even run, its complement for the next.
std::vector<std::uint32_t> members_of(std::size_t size, std::size_t run, std::uint64_t seed);

}  // namespace sotto
