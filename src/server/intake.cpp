#include "server/intake.h"

namespace sotto {

Result<Intake> Intake::make(const RoundPlan& plan) {
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

Result<void> Intake::accept(const Envelope& envelope) {
  const auto it = sums.find(envelope.mechanism_id());
  if (it == sums.end()) {
    return fail(ErrorKind::kRefused, "envelope refused: mechanism '" + envelope.mechanism_id() +
                                         "' has no part in this round");
  }
  bytes += envelope.serialized_size();
  return it->second.accept(envelope);
}

Result<void> Intake::accept(const SummedEnvelope& sum) {
  const auto it = sums.find(sum.mechanism_id());
  if (it == sums.end()) {
    return fail(ErrorKind::kRefused,
                "sum refused: mechanism '" + sum.mechanism_id() + "' has no part in this round");
  }
  return it->second.accept(sum);
}

std::vector<EnvelopeSink> sinks_of(std::vector<Intake>& intakes) {
  std::vector<EnvelopeSink> sinks;
  for (Intake& intake : intakes) {
    sinks.emplace_back([&intake](const Envelope& envelope) { return intake.accept(envelope); });
  }
  return sinks;
}

Result<Intake> join_lanes(std::vector<Intake> intakes) {
  Intake all = std::move(intakes.front());
  for (std::size_t i = 1; i < intakes.size(); ++i) {
    all.bytes += intakes[i].bytes;
    for (auto& [id, sums] : all.sums) SOTTO_CHECK(sums.merge(intakes[i].sums.at(id)));
  }
  return all;
}

}  // namespace sotto
