// Experiments without training for `sotto reproduce`: shuffled batches, and the refutations.
#pragma once

#include "reproduction.h"

namespace sotto::cli {

Result<Reproduced> reproduce_shuffled(const Experiment& experiment,
                                      const ReproduceOptions& options);
/// A claim that is not refuted, or a remedy that is, counts as a failure.
Result<Reproduced> reproduce_refutations(const Experiment& experiment,
                                         const ReproduceOptions& options);

}  // namespace sotto::cli
