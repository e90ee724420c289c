// Who goes to an accelerator together: clients that are alike, in turns as even as they can be, so
// that none leaves the device half empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace sotto {

/// `likeness` of a client: those of equal ones go together, at most `most` at once.
template <class Likeness>
std::vector<std::vector<std::uint32_t>> companies(std::span<const std::uint32_t> clients,
                                                  std::size_t most, const Likeness& likeness) {
  std::map<decltype(likeness(std::uint32_t{})), std::vector<std::uint32_t>> alike;
  for (const std::uint32_t client : clients) alike[likeness(client)].push_back(client);
  std::vector<std::vector<std::uint32_t>> all;
  most = std::max<std::size_t>(1, most);
  for (const auto& [key, members] : alike) {
    const std::size_t turns = (members.size() + most - 1) / most;
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
