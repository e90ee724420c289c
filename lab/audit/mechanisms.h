// The audit of a registered mechanism: two inputs as far apart as it allows, and the log-likelihood
// ratio of the report as the score.
//
// The pair is the one that `sotto verify` names: where the largest log-ratio is attained, from the
// integers of the sampler. Value mechanisms treat every weight alone, so one report of many equal
// weights is as many trials; a bit or vector mechanism's report is one.
#pragma once

#include <memory>
#include <vector>

#include "audit/scores.h"
#include "sotto/claims.h"

namespace sotto {

/// Two inputs of a mechanism; both have been bounded.
struct InputPair {
  std::vector<float> zero;
  std::vector<float> one;
};

/// The worst pair, of the first tensor where weights of several differ in their ranges. Input 1 is
/// the likelier one at the worst output. For a vector mechanism: +x and -x, x of the full norm
/// along the first coordinate (no distribution depends on the direction).
InputPair worst_pair(const Mechanism& mechanism);

/// Scores by ln P(report | one) / P(report | zero). The mechanism must outlive it.
std::unique_ptr<ScoreSource> likelihood_scores(const Mechanism& mechanism, InputPair pair);

/// Weights of a value mechanism that is made for an audit: trials of one report.
inline constexpr std::size_t kAuditWeights = 4096;

/// Against the mechanism's own claim for one unit where the plan has none, at its delta.
Result<AuditFinding> audit_mechanism(const Mechanism& mechanism, AuditPlan plan);

/// For the table of claims: audits every mechanism of the exposure and notes the largest bound. It
/// holds for the whole training of a client whose reports the server sees one by one, as all of
/// them tell no less than one does; behind a shuffler nothing is noted, nor where a report may fail
/// with some delta.
Result<void> audit_exposure(Exposure& exposure, const AuditPlan& plan);

}  // namespace sotto
