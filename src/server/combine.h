// From what a round released to one mean for each tensor.
//
// Reports of different mechanisms or budgets are never added to one another. Their means are: with
// weights n / v, where n is a group's number of reports and v the variance of one report's noise,
// so that the noise of the result is as small as a weighted mean's can be. v is the variance at the
// centre of a tensor's range, which is public.
#pragma once

#include <vector>

#include "server/round.h"
#include "sotto/federation.h"

namespace sotto {

struct TensorMean {
  std::size_t tensor = 0;  // of the model's layout
  std::vector<double> values;
  double noise_variance = 0.0;  // of one value, by the mechanism alone
};

/// Tensors of which something was released, ascending. The noise is returned where it is asked for;
/// it takes a while for some mechanisms, and one group alone does not need it.
std::vector<TensorMean> combine(const RoundPlan& plan, const CollectedRound& collected,
                                bool tell_noise);

}  // namespace sotto
