// Statistics of clients' features: where they come from, and what clients report for them.
#pragma once

#include <string_view>

namespace sotto {

/// statistics.mean: where a statistic of the features comes from.
enum class StatisticSource {
  kNone,     // features stay as they are computed
  kPrivate,  // from reports of clients, in the first rounds
  kPublic,   // from a public set that is not the clients'
};

/// What clients report in a round.
enum class Reported {
  kPayload,      // what they learned: bound.payload
  kFeatureMean,  // the mean of their own features
};

/// As a recipe writes it: "private".
std::string_view name_of(StatisticSource source);

}  // namespace sotto
