// One round as the server sees it: collect from the plan's clients, add up, release.
//
// Batches are separate for each group of clients and each mechanism: an envelope finds the sums it
// belongs to by the mechanism's id.
//
// This is also where a simulation shuffles. All that the server makes of a batch is the sum of its
// symbols, an integer for each coordinate that is the same for every order of the envelopes: what a
// shuffler's permutation would change, nobody in this process ever looks at. A batch that is too
// small to hide a client in is dropped whole, as the shuffler would.
#pragma once

#include <vector>

#include "sotto/federation.h"

namespace sotto {

struct CollectedGroup {
  std::uint64_t reports = 0;
  std::vector<Released> released;  // one for each part; none where there were too few reports
  std::string withheld;            // the reason, then
  std::uint64_t dropped = 0;       // envelopes that were not what the round asked for
  /// The well-formed reports that the server was given, released or not: what clients are exposed
  /// in. 0 where it was given nothing.
  std::uint64_t opened = 0;
};

struct CollectedRound {
  std::vector<CollectedGroup> groups;  // as in the plan
  std::uint64_t bytes_up = 0;
  double merge_seconds = 0.0;  // joining the lanes' sums and decoding them

  std::uint64_t reports() const;
  std::uint64_t released() const;  // reports in batches that were released
};

Result<CollectedRound> collect_round(Transport& transport, const RoundPlan& plan,
                                     std::span<const float> model, std::uint64_t min_batch = 1);

}  // namespace sotto
