// Which clients take part in a round.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/stages.h"

namespace sotto {

/// `count` different clients of `clients`, in ascending order, every set equally likely; decided by
/// seed and round alone.
std::vector<std::uint32_t> pick_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                        std::size_t count);

/// Every client with probability `share`, independently of the others: nobody who does not see the
/// coins knows who was taken. May be empty.
std::vector<std::uint32_t> accept_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                          double share);

}  // namespace sotto
