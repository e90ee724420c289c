// Events that may tell two inputs apart, learned from outputs of a randomizer.
//
// One half of the learning trials proposes (thresholds of every feature; sets of bins and of exact
// values that were likelier under one input; values that were never seen under one), the other half
// says how often each proposal happens. The few that promise most are tested on trials that had no
// part in this, each with a share of the error (weighted Bonferroni), so that all their bounds hold
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "audit/output_features.h"

namespace sotto {

/// "Guess the second input where ...": a set of values of one feature.
struct Event {
  std::size_t feature = 0;
  std::string text;
  double share = 0.0;  // of the error

  // Above the threshold; in one of the marked bins, where there are edges; or among the values.
  double threshold = 0.0;
  std::vector<double> edges;  // ascending; bin i lies between edges i-1 and i
  std::vector<char> marked;   // one more than edges
  std::shared_ptr<const std::unordered_set<double>> values;
  bool complement = false;  // the event is that none of this is so

  bool contains(double value) const;
};

/// Outputs with input 0 and with input 1 that events are learned from.
struct LearningSample {
  Outputs zero;
  Outputs one;
};

struct LearningPlan {
  std::uint64_t tested = 0;  // trials of either input that will test the events
  double error = 0.05;
  double delta = 0.0;
};

/// At most kMostEvents, the most promising first; shares add up to 1. Empty only without outputs.
std::vector<Event> learn_events(const std::vector<Feature>& features, const LearningSample& sample,
                                const LearningPlan& plan);
inline constexpr std::size_t kMostEvents = 16;

}  // namespace sotto
