#include "federation/round.h"

#include "base/clock.h"
#include "federation/intake.h"

namespace sotto {
std::uint64_t CollectedRound::reports() const {
  std::uint64_t sum = 0;
  for (const CollectedGroup& group : groups) sum += group.reports;
  return sum;
}

std::uint64_t CollectedRound::released() const {
  std::uint64_t sum = 0;
  for (const CollectedGroup& group : groups) sum += group.released.empty() ? 0 : group.reports;
  return sum;
}

Result<CollectedRound> collect_round(Transport& transport, const RoundPlan& plan,
                                     std::span<const float> model, std::uint64_t min_batch) {
  SOTTO_TRY(const Intake empty, Intake::make(plan));
  std::vector<Intake> intakes(transport.lanes(), empty);
  SOTTO_TRY(const Delivery delivery, transport.collect(plan, model, sinks_of(intakes)));

  const Stopwatch merging;
  CollectedRound collected;
  SOTTO_TRY(Intake all, join_lanes(std::move(intakes)));
  collected.bytes_up += all.bytes;
  collected.bytes_up += delivery.bytes_up;
  for (const SummedEnvelope& sum : delivery.sums) SOTTO_CHECK(all.accept(sum));
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    CollectedGroup result;
    result.reports = delivery.groups[i].reports;
    result.withheld = delivery.groups[i].withheld;
    if (result.reports == 0) {
      result.withheld = "no reports";
    } else if (result.withheld.empty() && result.reports < min_batch) {
      result.withheld =
          std::to_string(result.reports) + " reports are fewer than shuffle.min_batch";
    }
    if (result.withheld.empty()) {
      for (const Part& part : plan.groups[i].parts) {
        SOTTO_TRY(Released released, all.sums.find(part.mechanism->id())->second.release());
        result.reports = released.reports();
        result.released.push_back(std::move(released));
      }
    }
    collected.groups.push_back(std::move(result));
  }
  collected.merge_seconds = merging.seconds();
  return collected;
}

}  // namespace sotto
