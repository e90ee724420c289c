// alpha-CLDP-Fed: rounds and budget in proportion to a layer's size, one round at least. The
// authors' E |layer| / |model| is seldom whole: rounds are given one by one to the layer that is
// furthest behind its due, so that they add up and every layer ends within one round of it (those
// below one round aside).
#include <algorithm>
#include <numeric>

#include "plan/schedule_layers.h"

namespace sotto {

Result<std::vector<Slot>> cycle_of_proportional(std::span<const std::size_t> sizes,
                                                std::uint64_t rounds);
Result<std::vector<Slot>> cycle_of_proportional(std::span<const std::size_t> sizes,
                                                std::uint64_t rounds) {
  SOTTO_CHECK(check_rounds(sizes.size(), rounds));
  const auto whole =
      static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  std::vector<std::uint64_t> rounds_of(sizes.size(), 1);
  const auto behind = [&](std::size_t layer) {
    return static_cast<double>(sizes[layer]) / whole * static_cast<double>(rounds) -
           static_cast<double>(rounds_of[layer]);
  };
  for (std::uint64_t given = sizes.size(); given < rounds; ++given) {
    std::size_t next = sizes.size() - 1;
    for (std::size_t layer = sizes.size(); layer-- > 0;) {
      if (behind(layer) > behind(next)) next = layer;
    }
    ++rounds_of[next];
  }
  std::vector<double> shares;
  for (std::size_t layer = 0; layer < sizes.size(); ++layer) {
    shares.push_back(static_cast<double>(sizes[layer]) / whole /
                     static_cast<double>(rounds_of[layer]));
  }
  return backwards(rounds_of, shares);
}

}  // namespace sotto
