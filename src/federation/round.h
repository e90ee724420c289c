// One round as the server sees it: collect from the plan's clients, add up, release.
#pragma once

#include "sotto/federation.h"

namespace sotto {

struct CollectedRound {
  Released released;
  std::uint64_t bytes_up = 0;
  double merge_seconds = 0.0;  // joining the lanes' sums and decoding them
};

Result<CollectedRound> collect_round(Transport& transport, const RoundPlan& plan,
                                     std::span<const float> model);

}  // namespace sotto
