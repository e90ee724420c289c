// What clients were exposed to, round by round: all that a run's claims follow from.
//
// A client's epsilon grows with its own rounds, so rounds are counted for each client and slot of
// the schedule; the exposure of a group has, for each slot, the most of any of its clients.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan/planner.h"
#include "sotto/claims.h"
#include "sotto/federation.h"

namespace sotto {

/// Shuffler, split, sampling, honest share and delta as the recipe has them for a group of so many
/// clients; no round yet.
Exposure recipe_exposure(const Recipe& recipe, std::uint64_t clients, double sampling);

/// What the recipe would expose clients to that are picked in every round, if nobody drops out.
Result<std::vector<GroupClaims>> planned_exposures(const Recipe& recipe, const Planner& planner,
                                                   std::size_t clients, std::size_t per_round);

class ExposureLog {
 public:
  /// `hidden`: nobody sees who was picked, so rounds without a client count too.
  ExposureLog(const Planner& planner, std::size_t clients, bool hidden = false);

  /// A round of one group; `opened` is the number of well-formed reports that the server was given,
  /// whether it released anything or not, 0 where it was given nothing. The round counts for all
  /// clients that were asked: each of them may have sent.
  void add(std::size_t slot, std::size_t group, const ClientGroup& sent, std::uint64_t opened);

  /// Without claims, which take a while to derive.
  std::vector<GroupClaims> exposures(const Recipe& recipe, const Planner& planner) const;

 private:
  struct SlotLog {
    Turn turn;
    std::vector<std::string> variants;              // their ids, joined
    std::map<std::uint32_t, std::uint64_t> rounds;  // by client
  };
  struct GroupLog {
    std::uint64_t clients = 0;
    std::map<std::size_t, SlotLog> slots;
    std::vector<MechanismSpec> mechanisms;
    std::set<std::string> ids;  // of these
  };
  std::vector<GroupLog> groups_;
  bool hidden_;
};

}  // namespace sotto
