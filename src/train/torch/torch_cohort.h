// Several clients trained side by side as one batch: the weights of all of them lie on the device
// at once, a convolution or a linear layer is one batch of products, and an optimizer steps over
// all of them with one call. The loss is a sum over clients, so that no client's gradient knows of
// another's.
//
// All clients have equally many samples, hence equally many steps. A tensor of the layout lies as a
// row for each client, one after the other.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sotto/bits.h"
#include "sotto/trainer.h"
#include "train/torch/torch_optimizer.h"
#include "train/torch/torch_samples.h"

namespace sotto {

class TorchCohort {
 public:
  TorchCohort(const Network& network, std::size_t clients, const torch::Device& device);

  std::size_t clients() const noexcept { return static_cast<std::size_t>(clients_); }

  /// The same model for all.
  void load(const torch::Tensor& model);
  /// A client's buffers, as the layout orders them; and where its optimizer starts.
  void set_buffers(std::size_t client, std::span<const float> values);
  std::vector<float> buffers(std::size_t client) const;

  /// One order of samples for each client, shuffled anew by its bits before each epoch. `states`
  /// are those that optimizer_states() gave, all of equally many steps, or none to start afresh.
  /// Bits decide their augmentation and dropout too, in the order of a client alone.
  void train(TorchSamples& samples, std::span<std::vector<std::uint32_t>> orders,
             std::span<BitSource* const> bits, const TrainOptions& options,
             std::span<const std::span<const float>> states = {});
  std::vector<std::vector<float>> optimizer_states() const;

  /// The rows of a tensor of the layout.
  torch::Tensor rows(std::size_t tensor) const;

 private:
  struct Place {
    bool is_parameter;
    std::int64_t offset;  // in one client's parameters or buffers
    std::int64_t size;
  };
  /// visit(client, place in its own state, place in that of all, how many) for every piece of the
  /// optimizers' states, which together have `joined` values.
  template <class Visit>
  void each_moment(std::size_t joined, const Visit& visit) const;
  torch::Tensor forward(const torch::Tensor& batch, std::span<BitSource* const> bits,
                        unsigned threads);
  torch::Tensor dropout_factors(const torch::Tensor& like, double rate,
                                std::span<BitSource* const> bits, unsigned threads) const;

  std::vector<Layer> layers_;
  std::int64_t clients_;
  torch::Device device_;
  std::vector<Place> places_;
  std::vector<std::size_t> offsets_;  // in the layout
  std::int64_t parameter_count_ = 0;  // of one client
  torch::Tensor parameters_;
  torch::Tensor gradients_;
  torch::Tensor buffers_;
  std::vector<torch::Tensor> tensors_;  // views, clients first
  std::optional<FlatOptimizer> optimizer_;
};

/// How many values the layers of a network keep for the backward pass, for one sample.
std::size_t activation_count(const Network& network);

}  // namespace sotto
