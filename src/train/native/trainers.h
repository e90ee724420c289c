// The trainers of the native engine; make_native_factory chooses between them.
#pragma once

#include <memory>

#include "sotto/trainer.h"

namespace sotto::native {

/// For a network that is_linear(), by plain SGD.
std::unique_ptr<Trainer> make_linear_trainer(const Network& network);
/// For any list of layers that can_chain() accepts.
std::unique_ptr<Trainer> make_sequential_trainer(const Network& network);

}  // namespace sotto::native
