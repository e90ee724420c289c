// Which clients take part in a round.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/recipe.h"
#include "sotto/stages.h"

namespace sotto {

/// `count` different clients of `clients`, in ascending order, every set equally likely; decided by
/// seed and round alone.
std::vector<std::uint32_t> pick_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                        std::size_t count);

/// The clients of one of `rounds` rounds, in ascending order, when every client takes part in one
/// round alone: all ways to deal them out evenly are equally likely, and decided by the seed.
std::vector<std::uint32_t> pick_once(std::uint64_t seed, RoundId round, std::size_t clients,
                                     std::size_t rounds);

/// Every client with probability `share`, independently of the others: nobody who does not see the
/// coins knows who was taken. May be empty.
std::vector<std::uint32_t> accept_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                          double share);

/// The clients of a round as the recipe selects them; `count` is what fraction or k come to.
std::vector<std::uint32_t> round_clients(const Recipe::Federation& federation, RoundId round,
                                         std::size_t clients, std::size_t count);

}  // namespace sotto
