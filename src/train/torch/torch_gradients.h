// Gradients of a linear model for many clients at once: at the model, the mean over a client's
// samples and their views of (P(class) - [class is the label]) x, as one batch of products. Where
// statistics change features, x is (x - mean) * scale, computed as the processor does it and before
// any product: a mean can be most of x, so a product of each would cancel.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <span>

#include "sotto/network.h"
#include "train/torch/torch_samples.h"

namespace sotto {

class LinearGradients {
 public:
  /// Whether the network is one linear layer, as its clients' gradients here need it.
  static bool takes(const Network& network);

  /// `samples` outlives it and holds its values.
  LinearGradients(const Network& network, const TorchSamples& samples, const torch::Device& device);

  /// Of `clients` clients, `each` samples of every client, client after client. `model` is the
  /// network's weights and, behind them, mean and scale of the features, if any: these have no
  /// gradient.
  void compute(std::span<const float> model, std::span<const std::uint32_t> samples,
               std::int64_t clients, std::int64_t each);
  /// The gradients of a tensor of the layout, a row for each client.
  const torch::Tensor& rows(std::size_t tensor) const { return tensor == 0 ? weights_ : biases_; }

 private:
  const TorchSamples& samples_;
  torch::Device device_;
  std::int64_t inputs_;
  std::int64_t classes_;
  torch::Tensor weights_;
  torch::Tensor biases_;
};

}  // namespace sotto
