// Experiments that infer weights, for `sotto reproduce`.
#pragma once

#include "reproduction.h"

namespace sotto::cli {

Result<Reproduced> reproduce_attack(const Experiment& experiment, const ReproduceOptions& options);

}  // namespace sotto::cli
