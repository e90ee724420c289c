// Batches of clients that an accelerator trains together: equal keys, and sizes as even as they can
// be, so that no batch leaves the device half empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace sotto {

/// Clients of equal `key` go together, at most `max` at once.
template <class Key>
std::vector<std::vector<std::uint32_t>> device_batches(std::span<const std::uint32_t> clients,
                                                       std::size_t max, const Key& key) {
  std::map<decltype(key(std::uint32_t{})), std::vector<std::uint32_t>> alike;
  for (const std::uint32_t client : clients) alike[key(client)].push_back(client);
  std::vector<std::vector<std::uint32_t>> all;
  max = std::max<std::size_t>(1, max);
  for (const auto& [common, members] : alike) {
    const std::size_t turns = (members.size() + max - 1) / max;
    const std::size_t each = (members.size() + turns - 1) / turns;
    for (std::size_t first = 0; first < members.size(); first += each) {
      const std::size_t end = std::min(first + each, members.size());
      all.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(first),
                       members.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return all;
}

}  // namespace sotto
