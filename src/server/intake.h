// What one lane of a transport brings in a round: sums for each mechanism, by its id.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sotto/aggregate.h"
#include "sotto/federation.h"

namespace sotto {

struct Intake {
  std::map<std::string, Aggregator, std::less<>> sums;
  std::uint64_t bytes = 0;

  /// With nothing in it yet.
  static Result<Intake> make(const RoundPlan& plan);

  Result<void> accept(const Envelope& envelope);
  Result<void> accept(const SummedEnvelope& sum);
};

/// One for each lane; they must not outlive the intakes.
std::vector<EnvelopeSink> sinks_of(std::vector<Intake>& intakes);
Result<Intake> join_lanes(std::vector<Intake> intakes);

}  // namespace sotto
