// CLDP-Basic: every round sends everything, and every round has the same share of the budget.
#include <numeric>

#include "plan/schedule.h"

namespace sotto {

Result<std::vector<Slot>> cycle_of_all(std::span<const std::size_t> sizes, std::uint64_t rounds);
Result<std::vector<Slot>> cycle_of_all(std::span<const std::size_t> sizes, std::uint64_t rounds) {
  Slot slot;
  slot.layers.resize(sizes.size());
  std::iota(slot.layers.begin(), slot.layers.end(), std::size_t{0});
  slot.share = 1.0 / static_cast<double>(rounds);
  return std::vector<Slot>(rounds, slot);
}

}  // namespace sotto
