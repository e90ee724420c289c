#include "server/round.h"

#include <algorithm>

#include "base/clock.h"
#include "server/intake.h"

namespace sotto {
namespace {

/// Publishes a group's means, or says why not. Where envelopes were dropped, all of the group
/// counts as so many reports as its poorest coordinate has.
Result<void> release_group(const Intake& all, const ClientGroup& group, std::uint64_t min_batch,
                           CollectedGroup& result) {
  std::vector<Released> released;
  for (const Part& part : group.parts) {
    const Aggregator& sums = all.sums.find(part.mechanism->id())->second;
    auto mean = result.dropped == 0 ? sums.release() : sums.release_with_gaps();
    if (!mean && result.dropped == 0) return tl::unexpected(mean.error());
    const std::uint64_t reports = mean ? mean->reports() : 0;
    result.reports = released.empty() ? reports : std::min(result.reports, reports);
    if (mean) released.push_back(std::move(*mean));
  }
  if (result.reports < std::max<std::uint64_t>(1, min_batch)) {
    result.withheld = std::to_string(result.reports) + " reports are fewer than shuffle.min_batch";
    return {};
  }
  result.released = std::move(released);
  return {};
}

}  // namespace

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
  std::vector<Intake> intakes;
  for (unsigned lane = 0; lane < transport.lanes(); ++lane) {
    SOTTO_TRY(Intake empty, Intake::make(plan));
    intakes.push_back(std::move(empty));
  }
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
    result.dropped = delivery.groups[i].dropped;
    if (result.reports == 0 && result.withheld.empty()) result.withheld = "no reports";
    if (result.withheld.empty()) SOTTO_CHECK(release_group(all, plan.groups[i], min_batch, result));
    result.opened =
        delivery.groups[i].opened.value_or(result.released.empty() ? 0 : result.reports);
    if (result.opened > 0 && result.released.empty()) {
      result.withheld += "; what was opened counts as seen";
    }
    collected.groups.push_back(std::move(result));
  }
  collected.merge_seconds = merging.seconds();
  return collected;
}

}  // namespace sotto
