// What counted guesses say of a vector mechanism: the paper's averages over measurements, and one
// bound from all trials together, which is the one that holds at the confidence and is judged.
#pragma once

#include "adversary/vector_trials.h"

namespace sotto {

/// Means over measurements, as the paper reports them. A mean of bounds has no confidence of its
/// own.
struct MeanBounds {
  double raw = 0.0;  // eq. 3; infinite where one measurement's is
  double raw_deviation = 0.0;
  double two_sided = 0.0;
  double pooled = 0.0;
  double best = 0.0;
  double accuracy = 0.0;
};

struct VectorFinding {
  Distinguisher distinguisher = Distinguisher::kLikelihood;
  MeanBounds mean;
  LowerBounds all;  // of all trials
  Guesses guesses;
  double claim = 0.0;
  double exact = 0.0;  // epsilon, where there is one: the claim's unit is the whole vector
  double delta = 0.0;
  Verdict verdict = Verdict::kConsistent;
};

/// Of the mechanism at `kind` of the plan's list. Bounds of single measurements are taken at
/// `confidence`, the one of all trials at `confidence_of_all` (a look of a sequential test has a
/// larger one).
VectorFinding finding_of(const Mechanism& mechanism, const TrialCounts& counts, std::size_t kind,
                         Distinguisher distinguisher, double confidence, double confidence_of_all);

}  // namespace sotto
