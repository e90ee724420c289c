#include "federation/round.h"

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
  SOTTO_CHECK(transport.collect(plan, model, sinks));

  const Stopwatch merging;
  CollectedRound collected;
  Intake& all = intakes.front();
  for (std::size_t i = 0; i < intakes.size(); ++i) {
    collected.bytes_up += intakes[i].bytes;
    if (i == 0) continue;
    for (auto& [id, sums] : all.sums) SOTTO_CHECK(sums.merge(intakes[i].sums.at(id)));
  }
  for (const ClientGroup& group : plan.groups) {
    CollectedGroup result;
    result.reports = group.clients.size();
    if (result.reports > 0 && result.reports >= min_batch) {
      for (const Part& part : group.parts) {
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
