// SGD, Adam and RMSprop over one flat tensor, by PyTorch's formulas and defaults.
#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "sotto/trainer.h"

namespace sotto {

class FlatOptimizer {
 public:
  FlatOptimizer(const TrainOptions& options, torch::Tensor parameters, torch::Tensor gradients);
  /// One step along the gradients that stand in the flat tensor, which it then sets to zero.
  void step();

  /// Steps so far and both moments, one after the other, so that another optimizer of the same
  /// options can go on from here. It takes nothing but a state of the right length.
  std::vector<float> state() const;
  void restore(std::span<const float> state);

 private:
  TrainOptions options_;
  torch::Tensor parameters_;
  torch::Tensor gradients_;
  torch::Tensor first_;   // momentum, or Adam's first moment
  torch::Tensor second_;  // Adam's and RMSprop's second moment
  std::int64_t steps_ = 0;
};

}  // namespace sotto
