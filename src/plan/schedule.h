// Schedules: which layers clients send in which round, and what share of a budget for the whole
// training the round may spend (LDP-Fed, section 4).
//
// A training of E rounds has c cycles of E / c rounds, each with 1 / c of the budget. Within a
// cycle the schedule says which layers go in which round. One schedule is one file and one line of
// schedules.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/result.h"
#include "sotto/stages.h"
#include "sotto/statistics.h"

namespace sotto {

/// What is sent in one round.
struct Slot {
  std::vector<std::size_t> layers;  // ascending
  double share = 0.0;               // of the budget, for all these layers together
  /// What is no payload has neither layers nor a share.
  Reported reported = Reported::kPayload;

  bool operator==(const Slot&) const = default;
};

/// The slots of a cycle of `rounds` rounds; `sizes` are the layers' numbers of weights, from the
/// input to the output. Shares add up to 1. An error where there are too few rounds.
using MakeCycle = Result<std::vector<Slot>> (*)(std::span<const std::size_t> sizes,
                                                std::uint64_t rounds);

struct ScheduleInfo {
  const char* name;
  const char* meaning;
  MakeCycle make_cycle;
};
std::span<const ScheduleInfo> schedules();

class Schedule {
 public:
  /// `name` must be one of schedules().
  static Result<Schedule> make(const std::string& name, std::span<const std::size_t> sizes,
                               std::uint64_t rounds, std::uint64_t cycles);

  /// Puts so many rounds in front of all others, in which clients report something else.
  void begin_with(Reported reported, std::uint64_t rounds);

  /// Different slots, in the order of their first round.
  const std::vector<Slot>& slots() const noexcept { return slots_; }
  /// Rounds are counted from 1. Whoever has a number from elsewhere asks this first.
  bool has(RoundId round) const noexcept { return round >= 1 && round <= order_.size(); }
  /// The slot of a round that it has: an index of slots(). Throws for any other.
  std::size_t slot_of(RoundId round) const;
  /// The first round that has the slot.
  RoundId first_round_of(std::size_t slot) const;
  /// In how many rounds the slot is used.
  std::uint64_t rounds_of(std::size_t slot) const;

 private:
  std::vector<Slot> slots_;
  std::vector<std::size_t> order_;
};

}  // namespace sotto
