#include "federation/round.h"

#include "base/clock.h"
#include "sotto/aggregate.h"

namespace sotto {

Result<CollectedRound> collect_round(Transport& transport, const RoundPlan& plan,
                                     std::span<const float> model, std::uint64_t min_batch) {
  struct Intake {
    Aggregator aggregator;
    std::uint64_t bytes = 0;
  };
  std::vector<Intake> intakes(transport.lanes(), Intake{Aggregator(plan.mechanism, plan.round)});
  std::vector<EnvelopeSink> sinks;
  for (Intake& intake : intakes) {
    sinks.emplace_back([&intake](const Envelope& envelope) {
      intake.bytes += envelope.serialized_size();
      return intake.aggregator.accept(envelope);
    });
  }
  SOTTO_TRY(const Delivery delivery, transport.collect(plan, model, sinks));

  const Stopwatch merging;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < intakes.size(); ++i) {
    bytes += intakes[i].bytes;
    if (i > 0) SOTTO_CHECK(intakes[0].aggregator.merge(intakes[i].aggregator));
  }
  for (const SummedEnvelope& sum : delivery.sums) {
    SOTTO_CHECK(intakes[0].aggregator.accept(sum));
  }
  CollectedRound collected;
  collected.reports = delivery.reports;
  collected.bytes_up = bytes + delivery.bytes_up;
  collected.withheld = delivery.withheld;
  if (collected.reports < min_batch && collected.withheld.empty()) {
    collected.withheld =
        std::to_string(collected.reports) + " reports are fewer than shuffle.min_batch";
  }
  if (collected.withheld.empty()) {
    SOTTO_TRY(Released released, intakes[0].aggregator.release());
    collected.reports = released.reports();
    collected.released = std::move(released);
  }
  collected.merge_seconds = merging.seconds();
  return collected;
}

}  // namespace sotto
