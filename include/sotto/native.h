// Softmax regression without a tensor library, for clients by the million.
//
// A client of one sample costs one pass over the weights for its scores and one for its gradient,
// a few microseconds; a tensor library's call alone costs a thousand. Sums run in a fixed number of
// lanes, so a result depends neither on threads nor on what the compiler makes of them.
#pragma once

#include <memory>

#include "sotto/trainer.h"

namespace sotto {

/// Whether the native engine can train this network: a single layer, fully connected.
bool is_linear(const Network& network);

/// Whether it is the better engine for a request: gradients of a linear network on the cpu, for
/// which a call of a tensor library costs hundreds of times as much as the arithmetic.
bool trains_natively(const TrainerRequest& request);

/// `saver` writes models; without one save() is an error. Any network but a linear one is one too.
Result<std::shared_ptr<const TrainerFactory>> make_native_factory(
    const TrainerRequest& request, std::shared_ptr<const TrainerFactory> saver = nullptr);

}  // namespace sotto
