// Flat storage, and the networks that Sotto itself describes.
#include "train/torch/torch_net.h"

#include <algorithm>
#include <span>

namespace sotto {

std::vector<torch::Tensor> TorchNet::allocate(const Layout& layout, const torch::Device& device) {
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device);
  const auto parameters = static_cast<std::int64_t>(layout.parameter_count());
  const auto total = static_cast<std::int64_t>(layout.size());
  parameters_ = torch::zeros({parameters}, options);
  gradients_ = torch::zeros({parameters}, options);
  buffers_ = torch::zeros({total - parameters}, options);

  std::vector<torch::Tensor> views;
  std::int64_t next[2] = {0, 0};
  for (const TensorSpec& tensor : layout.tensors()) {
    const bool is_parameter = tensor.role == TensorRole::kParameter;
    const auto size = static_cast<std::int64_t>(tensor.size);
    std::int64_t& offset = next[is_parameter ? 0 : 1];
    pieces_.push_back({is_parameter, offset, tensor.offset, tensor.size});
    const auto slice = [&](const torch::Tensor& flat) {
      return flat.narrow(0, offset, size).view(tensor.shape);
    };
    torch::Tensor view = slice(is_parameter ? parameters_ : buffers_).detach();
    if (is_parameter) {
      view.set_requires_grad(true);
      view.mutable_grad() = slice(gradients_);
    }
    views.push_back(std::move(view));
    offset += size;
  }
  return views;
}

void TorchNet::load(std::span<const float> weights) {
  const torch::NoGradGuard no_grad;
  for (const Piece& piece : pieces_) {
    const auto size = static_cast<std::int64_t>(piece.size);
    torch::Tensor& flat = piece.is_parameter ? parameters_ : buffers_;
    flat.narrow(0, piece.flat_offset, size)
        .copy_(as_tensor(weights.subspan(piece.offset, piece.size)));
  }
}

void TorchNet::store(std::span<float> weights) const {
  const torch::NoGradGuard no_grad;
  for (const Piece& piece : pieces_) {
    const auto size = static_cast<std::int64_t>(piece.size);
    const torch::Tensor& flat = piece.is_parameter ? parameters_ : buffers_;
    torch::from_blob(weights.data() + piece.offset, {size})
        .copy_(flat.narrow(0, piece.flat_offset, size));
  }
}

void TorchNet::store_gradients(std::span<float> out) const {
  const torch::NoGradGuard no_grad;
  for (const Piece& piece : pieces_) {
    const auto size = static_cast<std::int64_t>(piece.size);
    torch::Tensor to = torch::from_blob(out.data() + piece.offset, {size});
    if (piece.is_parameter) {
      to.copy_(gradients_.narrow(0, piece.flat_offset, size));
    } else {
      to.zero_();
    }
  }
}

void draw_dropout(std::span<float> factors, double rate, BitSource& bits) {
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  for (float& factor : factors) factor = bits.unit() < rate ? 0.0F : kept;
}

namespace {

class SequentialNet final : public TorchNet {
 public:
  SequentialNet(const Network& network, const torch::Device& device)
      : layers_(network.layers), tensors_(allocate(network.layout(), device)) {
    for (const Layer& layer : layers_) convolves_ |= layer.kind == LayerKind::kConv;
  }

  bool use_batch_statistics(bool use) override {
    batch_statistics_ = use;
    return true;
  }

  torch::MemoryFormat memory_format() const override {
    return convolves_ ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  }

  torch::Tensor forward(const torch::Tensor& batch, BitSource* bits) override {
    return pass(layers_, batch, bits);
  }

  torch::Tensor flattened(const torch::Tensor& batch) override {
    const auto flatten = std::ranges::find(layers_, LayerKind::kFlatten, &Layer::kind);
    if (flatten == layers_.end()) return {};
    return pass(std::span(layers_.begin(), flatten + 1), batch, nullptr);
  }

 private:
  /// Through the first layers of the network.
  torch::Tensor pass(std::span<const Layer> layers, const torch::Tensor& batch, BitSource* bits) {
    torch::Tensor x = batch;
    std::size_t next = 0;
    const auto tensor = [&]() -> const torch::Tensor& { return tensors_[next++]; };
    for (const Layer& layer : layers) {
      switch (layer.kind) {
        case LayerKind::kConv: {
          const torch::Tensor& weight = tensor();
          x = torch::conv2d(x, weight, tensor(), 1, layer.padding);
          break;
        }
        case LayerKind::kLinear: {
          const torch::Tensor& weight = tensor();
          x = torch::linear(x, weight, tensor());
          break;
        }
        case LayerKind::kBatchNorm: {
          const torch::Tensor& scale = tensor();
          const torch::Tensor& shift = tensor();
          const torch::Tensor& mean = tensor();
          // A single sample has no variance over features: then the running statistics serve.
          const bool several = layer.spatial || x.size(0) > 1;
          const bool of_batch = several && (bits != nullptr || batch_statistics_);
          // Evaluation leaves the running statistics as they are.
          const double momentum = bits != nullptr ? kBatchNormMomentum : 0.0;
          x = torch::batch_norm(x, scale, shift, mean, tensor(), of_batch, momentum, kNormEpsilon,
                                /*cudnn_enabled=*/true);
          break;
        }
        case LayerKind::kGroupNorm: {
          const torch::Tensor& scale = tensor();
          x = torch::group_norm(x, layer.groups, scale, tensor(), kNormEpsilon);
          break;
        }
        case LayerKind::kRelu:
          // In place: no layer before it needs its own output again for the gradient, and large
          // activations are what two threads fight over.
          torch::relu_(x);
          break;
        case LayerKind::kMaxPool:
          x = torch::max_pool2d(x, layer.kernel);
          break;
        case LayerKind::kFlatten:
          x = x.flatten(1);
          break;
        case LayerKind::kDropout:
          if (bits != nullptr) x = x * dropout_mask(x, layer.rate, *bits);
          break;
      }
    }
    return x;
  }

  static torch::Tensor dropout_mask(const torch::Tensor& like, double rate, BitSource& bits) {
    std::vector<float> mask(static_cast<std::size_t>(like.numel()));
    draw_dropout(mask, rate, bits);
    return torch::from_blob(mask.data(), like.sizes()).clone().to(like.device());
  }

  std::vector<Layer> layers_;
  std::vector<torch::Tensor> tensors_;
  bool convolves_ = false;
  bool batch_statistics_ = false;
};

}  // namespace

std::unique_ptr<TorchNet> make_sequential_net(const Network& network, const torch::Device& device) {
  return std::make_unique<SequentialNet>(network, device);
}

}  // namespace sotto
