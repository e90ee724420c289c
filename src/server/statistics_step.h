// What the server makes of the statistics that features are changed by: of a round's reports, which
// is post-processing of what was released, or of a public set, whose samples are nobody's secret.
#pragma once

#include "plan/feature_statistics.h"
#include "server/round.h"
#include "sotto/federation.h"

namespace sotto {

/// Moves the model's feature mean to the mean over this round's release and those of the rounds
/// before it, and its scale with it. Nothing where the round released nothing.
void apply_statistics(const RoundPlan& plan, const CollectedRound& collected,
                      std::span<const RoundMetrics> before, const Layout& layout,
                      std::span<float> model);

/// Before the first round: the same from the public set of [statistics], where it names one.
Result<void> start_statistics(const Recipe& recipe, const RunOptions& options, const Layout& layout,
                              std::span<float> model);

}  // namespace sotto
