#include "server/run_result.h"

namespace sotto {

bool out_of_patience(const Recipe::Federation& federation, const RunResult& result) {
  if (federation.patience == 0) return false;
  const RoundMetrics* const best = result.best();
  if (best == nullptr) return false;
  std::int64_t since = 0;
  for (const RoundMetrics& metrics : result.rounds) {
    if (metrics.round > best->round && metrics.accuracy) ++since;
  }
  return since >= federation.patience;
}

const RoundMetrics* RunResult::last_evaluated() const {
  for (auto it = rounds.rbegin(); it != rounds.rend(); ++it) {
    if (it->accuracy) return &*it;
  }
  return nullptr;
}

const RoundMetrics* RunResult::best() const {
  const RoundMetrics* best = nullptr;
  for (const RoundMetrics& metrics : rounds) {
    if (metrics.accuracy && (best == nullptr || *metrics.accuracy > *best->accuracy))
      best = &metrics;
  }
  return best;
}

}  // namespace sotto
