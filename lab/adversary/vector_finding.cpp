#include "adversary/vector_finding.h"

#include <cmath>

namespace sotto {

VectorFinding finding_of(const Mechanism& mechanism, const TrialCounts& counts, std::size_t kind,
                         Distinguisher distinguisher, double confidence, double confidence_of_all) {
  const Guarantee guarantee = mechanism.guarantee();
  VectorFinding finding;
  finding.distinguisher = distinguisher;
  finding.claim = guarantee.claimed_epsilon;
  finding.exact = guarantee.unit_epsilon;
  finding.delta = guarantee.delta;
  const std::vector<Tally>& measured = counts.measured[kind];
  const auto number = static_cast<double>(measured.size());
  std::vector<double> raws;
  for (const Tally& tally : measured) {
    const LowerBounds bounds = lower_bounds(tally.of(distinguisher), confidence, guarantee.delta);
    raws.push_back(bounds.raw);
    finding.mean.raw += bounds.raw / number;
    finding.mean.two_sided += bounds.two_sided / number;
    finding.mean.pooled += bounds.pooled / number;
    finding.mean.best += bounds.best / number;
    finding.mean.accuracy += bounds.accuracy / number;
  }
  if (std::isfinite(finding.mean.raw) && raws.size() > 1) {
    double squares = 0.0;
    for (const double raw : raws) squares += std::pow(raw - finding.mean.raw, 2);
    finding.mean.raw_deviation = std::sqrt(squares / (number - 1.0));
  }
  finding.guesses = counts.total[kind].of(distinguisher);
  finding.all = lower_bounds(finding.guesses, confidence_of_all, guarantee.delta);
  finding.verdict = judge(finding.all.best, finding.claim);
  return finding;
}

}  // namespace sotto
