// SGD, Adam and RMSprop over one flat tensor, by PyTorch's formulas and defaults.
#pragma once

#include <torch/torch.h>

#include "sotto/trainer.h"

namespace sotto {

class FlatOptimizer {
 public:
  FlatOptimizer(const TrainOptions& options, torch::Tensor parameters, torch::Tensor gradients);
  /// One step along the gradients that stand in the flat tensor, which it then sets to zero.
  void step();

 private:
  TrainOptions options_;
  torch::Tensor parameters_;
  torch::Tensor gradients_;
  torch::Tensor first_;   // momentum, or Adam's first moment
  torch::Tensor second_;  // Adam's and RMSprop's second moment
  std::int64_t steps_ = 0;
};

}  // namespace sotto
