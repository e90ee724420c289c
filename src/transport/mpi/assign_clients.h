// Which rank does which client's work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

struct WeightedClient {
  std::size_t group = 0;
  std::uint32_t client = 0;
  std::size_t weight = 0;  // its samples
};

/// Heaviest first, each to the rank that would be done soonest: no rank is behind by more than one
/// client. `speeds` are the ranks' threads. The result has the clients of [rank][group], ascending.
std::vector<std::vector<std::vector<std::uint32_t>>> assign_clients(
    std::vector<WeightedClient> clients, std::size_t groups, std::span<const unsigned> speeds);

}  // namespace sotto
