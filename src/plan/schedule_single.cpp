// CLDP-Single Layer: the same number of rounds for each layer, the same share for each round.
// Rounds that do not divide go to the layers that come first, those at the output.
#include "plan/schedule_layers.h"

namespace sotto {

Result<std::vector<Slot>> cycle_of_single(std::span<const std::size_t> sizes, std::uint64_t rounds);
Result<std::vector<Slot>> cycle_of_single(std::span<const std::size_t> sizes,
                                          std::uint64_t rounds) {
  SOTTO_CHECK(check_rounds(sizes.size(), rounds));
  const std::uint64_t layers = sizes.size();
  std::vector<std::uint64_t> rounds_of(layers, rounds / layers);
  for (std::uint64_t extra = 0; extra < rounds % layers; ++extra) ++rounds_of[layers - 1 - extra];
  const std::vector<double> shares(layers, 1.0 / static_cast<double>(rounds));
  return backwards(rounds_of, shares);
}

}  // namespace sotto
