#include "transport/mpi/assign_clients.h"

#include <algorithm>
#include <queue>

namespace sotto {

std::vector<std::vector<std::vector<std::uint32_t>>> assign_clients(
    std::vector<WeightedClient> clients, std::size_t groups, std::span<const unsigned> speeds) {
  struct Load {
    double seconds;  // of one thread's work, as far as samples tell
    std::size_t rank;
    bool operator>(const Load& other) const {
      return seconds != other.seconds ? seconds > other.seconds : rank > other.rank;
    }
  };
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t rank = 0; rank < speeds.size(); ++rank) loads.push({0.0, rank});
  std::ranges::stable_sort(clients, std::greater<>{}, &WeightedClient::weight);
  std::vector shares(speeds.size(), std::vector<std::vector<std::uint32_t>>(groups));
  for (const WeightedClient& one : clients) {
    Load least = loads.top();
    loads.pop();
    shares[least.rank][one.group].push_back(one.client);
    least.seconds += static_cast<double>(one.weight) / speeds[least.rank];
    loads.push(least);
  }
  for (auto& share : shares) {
    for (auto& group : share) std::ranges::sort(group);
  }
  return shares;
}

}  // namespace sotto
