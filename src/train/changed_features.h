// A trainer of a network on features that statistics have changed: (x - mean) * scale, with mean
// and scale from the model itself (plan/feature_statistics.h). Whatever trains below it sees
// samples as any others.
#pragma once

#include <memory>

#include "sotto/trainer.h"

namespace sotto {

/// `layout` is the network's with the two tensors behind its own. A saved model is that of the
/// network alone, for features as they are computed: the change is folded into its first layer,
/// which must be linear.
std::shared_ptr<const TrainerFactory> change_features(std::shared_ptr<const TrainerFactory> below,
                                                      Layout layout);

}  // namespace sotto
