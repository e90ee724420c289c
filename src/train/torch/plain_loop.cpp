#include "train/torch/plain_loop.h"

#include <torch/torch.h>

#include <numeric>

#include "base/clock.h"

namespace sotto {
namespace {

torch::nn::Sequential build(const Network& network) {
  namespace nn = torch::nn;
  nn::Sequential module;
  for (const Layer& layer : network.layers) {
    switch (layer.kind) {
      case LayerKind::kConv:
        module->push_back(nn::Conv2d(
            nn::Conv2dOptions(layer.in, layer.out, layer.kernel).padding(layer.padding)));
        break;
      case LayerKind::kLinear:
        module->push_back(nn::Linear(layer.in, layer.out));
        break;
      case LayerKind::kBatchNorm:
        if (layer.spatial) {
          module->push_back(nn::BatchNorm2d(layer.out));
        } else {
          module->push_back(nn::BatchNorm1d(layer.out));
        }
        break;
      case LayerKind::kGroupNorm:
        module->push_back(nn::GroupNorm(nn::GroupNormOptions(layer.groups, layer.out)));
        break;
      case LayerKind::kRelu:
        module->push_back(nn::ReLU());
        break;
      case LayerKind::kMaxPool:
        module->push_back(nn::MaxPool2d(layer.kernel));
        break;
      case LayerKind::kFlatten:
        module->push_back(nn::Flatten());
        break;
      case LayerKind::kDropout:
        module->push_back(nn::Dropout(layer.rate));
        break;
    }
  }
  return module;
}

class TorchPlainLoop final : public PlainLoop {
 public:
  TorchPlainLoop(const Network& network, const Dataset& data, const Preprocess& preprocess,
                 const TrainOptions& options)
      : module_(build(network)),
        optimizer_(module_->parameters(), torch::optim::SGDOptions(options.learning_rate)
                                              .momentum(options.momentum)
                                              .weight_decay(options.weight_decay)),
        batch_size_(options.batch_size) {
    const SampleShape shape = output_shape(data, preprocess);
    const auto count = static_cast<std::int64_t>(data.size());
    x_ = torch::empty({count, shape.channels, shape.height, shape.width});
    y_ = torch::empty({count}, torch::kInt64);
    std::vector<std::uint32_t> all(data.size());
    std::iota(all.begin(), all.end(), 0U);
    fill_batch(data, all, preprocess, nullptr,
               std::span(x_.data_ptr<float>(), static_cast<std::size_t>(x_.numel())),
               std::span(y_.data_ptr<std::int64_t>(), data.size()));
    module_->train();
  }

  Result<double> run(std::span<const std::uint32_t> order) override {
    try {
      at::set_num_threads(1);
      const std::vector<std::int64_t> wide(order.begin(), order.end());
      const torch::Tensor indices = torch::tensor(wide);
      const Stopwatch clock;
      for (const torch::Tensor& chosen : indices.split(batch_size_)) {
        optimizer_.zero_grad();
        const torch::Tensor scores = module_->forward(x_.index_select(0, chosen));
        torch::nn::functional::cross_entropy(scores, y_.index_select(0, chosen)).backward();
        optimizer_.step();
      }
      return clock.seconds();
    } catch (const std::exception& error) {
      return fail(ErrorKind::kInternal, std::string("plain loop: ") + error.what());
    }
  }

 private:
  torch::nn::Sequential module_;
  torch::optim::SGD optimizer_;
  std::int64_t batch_size_;
  torch::Tensor x_;
  torch::Tensor y_;
};

}  // namespace

Result<std::unique_ptr<PlainLoop>> make_plain_loop(const Network& network, const Dataset& data,
                                                   const Preprocess& preprocess,
                                                   const TrainOptions& options) {
  try {
    return std::make_unique<TorchPlainLoop>(network, data, preprocess, options);
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInternal, std::string("plain loop: ") + error.what());
  }
}

}  // namespace sotto
