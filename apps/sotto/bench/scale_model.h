// How long a round takes on R ranks, from what one rank's work and a link between two cost.
//
//   round(R)    = compute ceil(n / R) / n + exchange(R)
//   exchange(R) = (R - 1) (4 message + 4 n / R / bandwidth)            clients out, results in
//               + ceil(log2 R) (2 message + (4 w + 8 w) / bandwidth)   model out, sums in, by trees
//
// n clients a round, w weights, `compute` the round of one rank. A message costs what it takes from
// one rank's send to the other's receive, with the pauses in which a waiting rank sleeps.
#pragma once

#include <cstddef>

namespace sotto::cli {

struct Link {
  double message_seconds = 0.0;
  double bytes_per_second = 0.0;
};

struct RoundWork {
  double compute_seconds = 0.0;  // of a round on one rank
  std::size_t clients = 0;
  std::size_t weights = 0;
};

double exchange_seconds(const RoundWork& work, const Link& link, unsigned ranks);
double round_seconds(const RoundWork& work, const Link& link, unsigned ranks);
/// Speed-up over one rank, for each rank.
double efficiency(const RoundWork& work, const Link& link, unsigned ranks);

}  // namespace sotto::cli
