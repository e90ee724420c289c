// The cap of `privunit` for the guarantee that counts: `sotto account plan --choose-cap`.
//
// At a given local epsilon one cap has the least squared error, and `privunit` takes it. Behind a
// shuffler the local epsilon is only a means: of all pairs (cap, epsilon0) that cost a client the
// same over the whole training, the best one has a smaller cap and a larger epsilon0, because
// reports in a small cap stand out less among those of others than the local epsilon says.
#pragma once

#include "account/plan.h"
#include "account_report.h"

namespace sotto::cli {

struct CapChoice {
  double cap = 0.0;
  double epsilon0 = 0.0;
  double squared_error = 0.0;  // of a report of a unit vector
  Plan plan;
};

struct CapPlan {
  CapChoice best;
  CapChoice by_default;  // with the cap that the mechanism takes by itself
};

/// Every choice meets `target`; an error where the mechanism has no cap, or one is given.
Result<CapPlan> choose_cap(const ReportOptions& report, const Training& training, double target,
                           const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace sotto::cli
