// The audit of a randomizer of which nothing is known: it is given inputs and returns outputs.
//
// Events are learned on the first quarter of the trials (events.h) and tested on the rest. Each
// event has a share of the error of each look (looks.h): the largest of all bounds at the moment of
// stopping holds with the plan's confidence, by the union bound. That outputs of different trials
// are independent is assumed; a randomizer that repeats its own random bits is refused. Outputs may
// depend on their place in a batch: no event can use that, as every batch has its inputs in a
// random order of its own.
#pragma once

#include "audit/events.h"
#include "audit/scores.h"

namespace sotto {

class Randomizer {
 public:
  virtual ~Randomizer() = default;
  /// One row of outputs for each of the inputs, in order (true: the second one). Called by several
  /// threads at once, each time with another number of the batch.
  virtual Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t batch) = 0;
};

struct EventFinding {
  Event event;
  Guesses guesses;
  double epsilon_lower = 0.0;

  double rate_zero() const;  // how often the event happened with the first input
  double rate_one() const;
};

struct RandomizerFinding : AuditFinding {
  std::vector<EventFinding> events;  // the one with the largest bound first
  std::size_t width = 0;             // values of an output
};

/// `batch` inputs go to the randomizer at once, at most.
Result<RandomizerFinding> audit_randomizer(Randomizer& randomizer, const NumberPair& inputs,
                                           const AuditPlan& plan, std::uint64_t batch);

}  // namespace sotto
