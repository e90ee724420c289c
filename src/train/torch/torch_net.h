// A network on LibTorch whose weights lie in two flat tensors: parameters and buffers.
//
// Every named tensor is a view into one of them, so weights go in and out by a few copies, and an
// optimizer steps over all parameters with one call instead of one for each tensor.
#pragma once

#include <torch/script.h>
#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sotto/layout.h"
#include "sotto/network.h"
#include "sotto/result.h"

namespace sotto {

inline constexpr double kBatchNormMomentum = 0.1;
inline constexpr double kNormEpsilon = 1e-5;

/// Floats as a tensor that reads them where they lie. It must not be written to: from_blob wants a
/// mutable pointer.
inline torch::Tensor as_tensor(std::span<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data()),
                          {static_cast<std::int64_t>(values.size())});
}

/// What dropout multiplies values with. From our own bits: LibTorch's generator is global, and a
/// shared one depends on thread timing.
void draw_dropout(std::span<float> factors, double rate, BitSource& bits);

class TorchNet {
 public:
  virtual ~TorchNet() = default;
  TorchNet(const TorchNet&) = delete;
  TorchNet& operator=(const TorchNet&) = delete;

  /// Class scores of a batch. `bits` feeds dropout and is null in evaluation.
  virtual torch::Tensor forward(const torch::Tensor& batch, BitSource* bits) = 0;

  /// What the first flattening layer makes of a batch, in evaluation; undefined where there is
  /// none.
  virtual torch::Tensor flattened(const torch::Tensor& /*batch*/) { return {}; }

  /// How images of a batch are laid out in memory: channels last makes convolution and pooling
  /// about 1.4 times as fast on CPUs.
  virtual torch::MemoryFormat memory_format() const { return torch::MemoryFormat::Contiguous; }

  /// Whether a norm takes a batch's own statistics in evaluation too. False where it cannot.
  virtual bool use_batch_statistics(bool use) { return !use; }

  torch::Tensor& parameters() { return parameters_; }
  torch::Tensor& gradients() { return gradients_; }

  void load(std::span<const float> weights);
  void store(std::span<float> weights) const;
  /// The gradients in the places of the parameters, zeros in those of the buffers.
  void store_gradients(std::span<float> out) const;

 protected:
  TorchNet() = default;
  /// Makes the flat tensors and returns a view for each tensor of the layout.
  std::vector<torch::Tensor> allocate(const Layout& layout, const torch::Device& device);

 private:
  struct Piece {
    bool is_parameter;
    std::int64_t flat_offset;  // in parameters_ or buffers_
    std::size_t offset;        // in the layout
    std::size_t size;
  };
  std::vector<Piece> pieces_;
  torch::Tensor parameters_;
  torch::Tensor gradients_;
  torch::Tensor buffers_;
};

/// One of Sotto's own networks.
std::unique_ptr<TorchNet> make_sequential_net(const Network& network, const torch::Device& device);

/// A user's TorchScript file, read once and copied for each thread.
class ScriptModel {
 public:
  /// Checks that the file loads, that all its tensors are finite floats (integer counters are left
  /// out), and that it maps a sample of this shape to `classes` scores.
  static Result<std::shared_ptr<const ScriptModel>> load(const std::filesystem::path& file,
                                                         SampleShape input, std::int64_t classes);
  const Layout& layout() const { return layout_; }
  const std::vector<float>& weights() const { return weights_; }
  /// True when the graph draws from LibTorch's global generator.
  bool is_random() const { return is_random_; }
  std::unique_ptr<TorchNet> instantiate(const torch::Device& device) const;

 private:
  torch::jit::Module module_;
  Layout layout_;
  std::vector<float> weights_;
  bool is_random_ = false;
};

}  // namespace sotto
