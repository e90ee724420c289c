// What the schedules that send one layer a round have in common: the number of rounds of each
// layer, and the walk from the output layer backwards.
#pragma once

#include "plan/schedule.h"

namespace sotto {

/// `rounds_of[l]` rounds for layer l, each with the share `shares[l]`.
inline std::vector<Slot> backwards(std::span<const std::uint64_t> rounds_of,
                                   std::span<const double> shares) {
  std::vector<Slot> slots;
  for (std::size_t layer = rounds_of.size(); layer-- > 0;) {
    slots.insert(slots.end(), rounds_of[layer], Slot{{layer}, shares[layer]});
  }
  return slots;
}

inline Result<void> check_rounds(std::size_t layers, std::uint64_t rounds) {
  if (rounds >= layers) return {};
  return fail(ErrorKind::kUsage,
              "a cycle of " + std::to_string(rounds) + " rounds cannot give each of " +
                  std::to_string(layers) +
                  " layers one; fewer schedule.cycles or more federation.rounds");
}

}  // namespace sotto
