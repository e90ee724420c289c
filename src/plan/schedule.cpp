#include "plan/schedule.h"

#include <algorithm>
#include <stdexcept>

namespace sotto {

#define SOTTO_SCHEDULE(name, maker, meaning) \
  Result<std::vector<Slot>> maker(std::span<const std::size_t> sizes, std::uint64_t rounds);
#include "plan/schedules.def"
#undef SOTTO_SCHEDULE

std::span<const ScheduleInfo> schedules() {
  static constexpr ScheduleInfo kSchedules[] = {
#define SOTTO_SCHEDULE(name, maker, meaning) {name, meaning, maker},
#include "plan/schedules.def"
#undef SOTTO_SCHEDULE
  };
  return kSchedules;
}

Result<Schedule> Schedule::make(const std::string& name, std::span<const std::size_t> sizes,
                                std::uint64_t rounds, std::uint64_t cycles) {
  const auto info = std::ranges::find_if(
      schedules(), [&](const ScheduleInfo& schedule) { return schedule.name == name; });
  if (cycles > rounds) {
    return fail(ErrorKind::kUsage, "schedule.cycles = " + std::to_string(cycles) +
                                       ": there are only " + std::to_string(rounds) + " rounds");
  }
  // A list of layers for each round is made, and a recipe may be a stranger's.
  constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 24;
  if (!sizes.empty() && rounds > kMostEntries / sizes.size()) {
    return fail(ErrorKind::kUsage, "federation.rounds = " + std::to_string(rounds) +
                                       " of a network with " + std::to_string(sizes.size()) +
                                       " layers; valid: at most " +
                                       std::to_string(kMostEntries / sizes.size()));
  }
  Schedule schedule;
  std::uint64_t first = 0;
  for (std::uint64_t cycle = 1; cycle <= cycles; ++cycle) {
    // Where E / c is no whole number, cycles differ by one round at most.
    const std::uint64_t end = cycle * rounds / cycles;
    SOTTO_TRY(std::vector<Slot> slots, info->make_cycle(sizes, end - first));
    first = end;
    for (Slot& slot : slots) {
      slot.share /= static_cast<double>(cycles);
      const auto known = std::ranges::find(schedule.slots_, slot);
      schedule.order_.push_back(static_cast<std::size_t>(known - schedule.slots_.begin()));
      if (known == schedule.slots_.end()) schedule.slots_.push_back(std::move(slot));
    }
  }
  return schedule;
}

void Schedule::begin_with(Reported reported, std::uint64_t rounds) {
  if (rounds == 0) return;
  for (std::size_t& slot : order_) ++slot;
  slots_.insert(slots_.begin(), Slot{{}, 0.0, reported});
  order_.insert(order_.begin(), rounds, std::size_t{0});
}

std::size_t Schedule::slot_of(RoundId round) const {
  if (!has(round)) throw std::invalid_argument("a round that the schedule does not have");
  return order_[round - 1];
}

RoundId Schedule::first_round_of(std::size_t slot) const {
  return static_cast<RoundId>(std::ranges::find(order_, slot) - order_.begin()) + 1;
}

std::uint64_t Schedule::rounds_of(std::size_t slot) const {
  return static_cast<std::uint64_t>(std::ranges::count(order_, slot));
}

}  // namespace sotto
