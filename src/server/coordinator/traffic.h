// What a round costs in chunks, bytes and seconds, before anybody is asked for it.
//
// A sealed box has a fixed cost, about a hundred bytes and a tenth of a millisecond at each end:
// a small shuffle.split hides a weight among more others, and a large model pays for it.
#pragma once

#include <cstdint>
#include <string>

#include "sotto/federation.h"

namespace sotto::rpc {

struct Traffic {
  std::uint64_t clients = 0;
  std::uint64_t chunks = 0;      // of a client's report, the largest of all groups
  std::uint64_t boxes = 0;       // of all clients: what the server opens
  std::uint64_t bytes_up = 0;    // of a client
  std::uint64_t bytes_down = 0;  // of a client
  std::uint64_t payload = 0;     // bytes of symbols in bytes_up
  double seal_seconds = 0.0;     // of a client
  double open_seconds = 0.0;     // of the server

  /// Why another split would be wiser; empty where this one costs little.
  std::string warning(std::size_t split) const;
};

/// The seconds are measured here and now, on a few boxes of the round's size.
Result<Traffic> traffic_of(const RoundPlan& plan, std::size_t weights);

}  // namespace sotto::rpc
