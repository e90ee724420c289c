// How many reports the groups of a round sent and released.
//
// A simulation knows that from the recipe: who vanishes is drawn from its seed. Where clients are
// processes only the count tells, so it is kept with the run's state, and a server that starts
// again finds the rounds before as they were.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "sotto/federation.h"

namespace sotto {

struct GroupCount {
  std::uint64_t reports = 0;
  std::uint64_t released = 0;
  std::uint64_t opened = 0;  // that the server was given, released or not
};
/// By round, one for each group of the plan; empty for simulated clients.
using Attendance = std::map<RoundId, std::vector<GroupCount>>;

/// As counted, or else as the recipe decides it for the clients that were asked.
Result<std::vector<GroupCount>> counts_of(const Recipe& recipe, const Attendance& counted,
                                          RoundId round, std::span<const ClientGroup> groups);

/// An error that names the first key of the recipe that clients of their own processes cannot
/// follow, so that no claim rests on what does not happen.
Result<void> check_remote(const Recipe& recipe);

}  // namespace sotto
