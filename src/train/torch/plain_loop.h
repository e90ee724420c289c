// The loop that anyone would write first with LibTorch: nn::Sequential, optim::SGD, one thread, the
// whole data set normalised beforehand. `sotto bench train` measures the federation against it.
#pragma once

#include "sotto/network.h"
#include "sotto/trainer.h"

namespace sotto {

class PlainLoop {
 public:
  virtual ~PlainLoop() = default;
  /// Trains on the samples in this order, batch after batch. Returns the seconds it took.
  virtual Result<double> run(std::span<const std::uint32_t> order) = 0;
};

Result<std::unique_ptr<PlainLoop>> make_plain_loop(const Network& network, const Dataset& data,
                                                   const Preprocess& preprocess,
                                                   const TrainOptions& options);

}  // namespace sotto
