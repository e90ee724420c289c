#include "federation/round.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "sotto/aggregate.h"

namespace sotto {
namespace {

/// What one lane of the transport brings: sums for each mechanism of the round, by its id.
struct Intake {
  std::map<std::string, Aggregator, std::less<>> sums;
  std::uint64_t bytes = 0;

  Result<void> accept(const Envelope& envelope) {
    const auto it = sums.find(envelope.mechanism_id());
    if (it == sums.end()) {
      return fail(ErrorKind::kRefused, "envelope refused: mechanism '" + envelope.mechanism_id() +
                                           "' has no part in this round");
    }
    bytes += envelope.serialized_size();
    return it->second.accept(envelope);
  }
  Result<void> accept(const SummedEnvelope& sum) {
    const auto it = sums.find(sum.mechanism_id());
    if (it == sums.end()) {
      return fail(ErrorKind::kRefused,
                  "sum refused: mechanism '" + sum.mechanism_id() + "' has no part in this round");
    }
    return it->second.accept(sum);
  }
};

Result<Intake> make_intake(const RoundPlan& plan) {
  Intake intake;
  for (const ClientGroup& group : plan.groups) {
    for (const Part& part : group.parts) {
      const auto [it, fresh] = intake.sums.emplace(std::string(part.mechanism->id()),
                                                   Aggregator(part.mechanism, plan.round));
      if (!fresh) {
        return fail(ErrorKind::kInternal, "two groups of a round share mechanism '" + it->first +
                                              "': they are one batch");
      }
    }
  }
  return intake;
}

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
  SOTTO_TRY(const Intake empty, make_intake(plan));
  std::vector<Intake> intakes(transport.lanes(), empty);
  std::vector<EnvelopeSink> sinks;
  for (Intake& intake : intakes) {
    sinks.emplace_back([&intake](const Envelope& envelope) { return intake.accept(envelope); });
  }
  SOTTO_TRY(const Delivery delivery, transport.collect(plan, model, sinks));

  const Stopwatch merging;
  CollectedRound collected;
  Intake& all = intakes.front();
  for (std::size_t i = 0; i < intakes.size(); ++i) {
    collected.bytes_up += intakes[i].bytes;
    if (i == 0) continue;
    for (auto& [id, sums] : all.sums) SOTTO_CHECK(sums.merge(intakes[i].sums.at(id)));
  }
  collected.bytes_up += delivery.bytes_up;
  for (const SummedEnvelope& sum : delivery.sums) SOTTO_CHECK(all.accept(sum));
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    CollectedGroup result;
    result.reports = delivery.groups[i].reports;
    result.withheld = delivery.groups[i].withheld;
    result.dropped = delivery.groups[i].dropped;
    if (result.reports == 0 && result.withheld.empty()) result.withheld = "no reports";
    if (result.withheld.empty()) SOTTO_CHECK(release_group(all, plan.groups[i], min_batch, result));
    collected.groups.push_back(std::move(result));
  }
  collected.merge_seconds = merging.seconds();
  return collected;
}

}  // namespace sotto
