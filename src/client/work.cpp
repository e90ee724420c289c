#include "client/work.h"

#include <algorithm>
#include <cmath>

namespace sotto::rpc {
namespace {

constexpr double kValueBytes = sizeof(float);
constexpr double kMega = 1e6;
/// The model as it came, as it is trained, its gradient, and two vectors of an optimizer.
constexpr double kCopiesOfWeights = 5.0;
/// The output of a layer and the gradient of the loss by it.
constexpr double kCopiesOfOutputs = 2.0;

/// In doubles: sizes that a server makes up must not overflow before they are refused.
struct Size {
  double weights = 0.0;
  double outputs = 0.0;  // of all layers, of one sample
};

double volume(SampleShape shape) {
  return static_cast<double>(shape.channels) * shape.height * shape.width;
}

Size size_of(const Network& network) {
  Size size;
  auto channels = static_cast<double>(network.input.channels);
  auto height = static_cast<double>(network.input.height);
  auto width = static_cast<double>(network.input.width);
  for (const Layer& layer : network.layers) {
    const auto in = static_cast<double>(layer.in);
    const auto out = static_cast<double>(layer.out);
    const auto kernel = static_cast<double>(layer.kernel);
    switch (layer.kind) {
      case LayerKind::kConv: {
        const double less = kernel - 1.0 - 2.0 * static_cast<double>(layer.padding);
        size.weights += out * (in * kernel * kernel + 1.0);
        channels = out;
        height -= less;
        width -= less;
        break;
      }
      case LayerKind::kLinear:
        size.weights += out * (in + 1.0);
        channels = out;
        break;
      case LayerKind::kBatchNorm:
        size.weights += 4.0 * out;
        break;
      case LayerKind::kGroupNorm:
        size.weights += 2.0 * out;
        break;
      case LayerKind::kMaxPool:
        height = std::floor(height / kernel);
        width = std::floor(width / kernel);
        break;
      case LayerKind::kFlatten:
        channels *= height * width;
        height = width = 1.0;
        break;
      case LayerKind::kRelu:
      case LayerKind::kDropout:
        break;
    }
    size.outputs += channels * height * width;
  }
  return size;
}

std::uint64_t whole(double value) {
  constexpr double kMost = 1e18;
  return static_cast<std::uint64_t>(std::clamp(std::ceil(value), 0.0, kMost));
}

identity::Work work(const Recipe& recipe, SampleShape input, const Size& size) {
  const auto batch = static_cast<double>(recipe.train.batch_size);
  const double values =
      kCopiesOfWeights * size.weights + batch * (volume(input) + kCopiesOfOutputs * size.outputs);
  return {whole(size.weights), whole(values * kValueBytes / kMega),
          static_cast<std::uint64_t>(recipe.train.epochs) * (1 + recipe.data.views.size())};
}

}  // namespace

identity::Work work_of(const Recipe& recipe, SampleShape input) { return work(recipe, input, {}); }

identity::Work work_of(const Recipe& recipe, const Network& network) {
  return work(recipe, network.input, size_of(network));
}

identity::Work work_of(const Recipe& recipe, SampleShape input, std::uint64_t weights) {
  return work(recipe, input, {static_cast<double>(weights), 0.0});
}

}  // namespace sotto::rpc
