// Accuracy and loss of a model on the public test set, on all lanes of the transport.
#pragma once

#include <span>

#include "federation/local_transport.h"
#include "sotto/trainer.h"

namespace sotto {

/// The same sums for any number of lanes. `test` has one sample at least.
Result<EvaluationSums> evaluate_model(LocalTransport& transport, const Dataset& test,
                                      const Preprocess& preprocess, std::span<const float> model);

}  // namespace sotto
