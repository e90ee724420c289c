// What a list of layers says about tensors, text and starting weights. No tensor library.
#include "sotto/network.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

std::string square(std::int64_t extent) {
  return std::to_string(extent) + 'x' + std::to_string(extent);
}

}  // namespace

std::int64_t Network::features() const {
  auto layer = std::ranges::find(layers, LayerKind::kFlatten, &Layer::kind);
  for (; layer != layers.end(); ++layer) {
    if (layer->kind == LayerKind::kLinear) return layer->in;
    if (layer->kind == LayerKind::kBatchNorm) return layer->out;
  }
  return 0;
}

Layout Network::layout() const {
  Layout layout;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const std::string prefix = std::to_string(i) + '.';
    switch (layer.kind) {
      case LayerKind::kConv:
        layout.add(prefix + "weight", {layer.out, layer.in, layer.kernel, layer.kernel},
                   TensorRole::kParameter);
        layout.add(prefix + "bias", {layer.out}, TensorRole::kParameter);
        break;
      case LayerKind::kLinear:
        layout.add(prefix + "weight", {layer.out, layer.in}, TensorRole::kParameter);
        layout.add(prefix + "bias", {layer.out}, TensorRole::kParameter);
        break;
      case LayerKind::kBatchNorm:
        layout.add(prefix + "weight", {layer.out}, TensorRole::kParameter);
        layout.add(prefix + "bias", {layer.out}, TensorRole::kParameter);
        layout.add(prefix + "running_mean", {layer.out}, TensorRole::kBuffer);
        layout.add(prefix + "running_var", {layer.out}, TensorRole::kBuffer);
        break;
      case LayerKind::kGroupNorm:
        layout.add(prefix + "weight", {layer.out}, TensorRole::kParameter);
        layout.add(prefix + "bias", {layer.out}, TensorRole::kParameter);
        break;
      case LayerKind::kRelu:
      case LayerKind::kMaxPool:
      case LayerKind::kFlatten:
      case LayerKind::kDropout:
        break;
    }
  }
  return layout;
}

std::string Network::describe() const {
  std::string text;
  for (const Layer& layer : layers) {
    if (!text.empty()) text += ", ";
    const std::string channels = std::to_string(layer.in) + "->" + std::to_string(layer.out);
    switch (layer.kind) {
      case LayerKind::kConv:
        text += "conv " + channels + ' ' + square(layer.kernel);
        if (layer.padding > 0) text += " pad " + std::to_string(layer.padding);
        break;
      case LayerKind::kLinear:
        text += "fc " + channels;
        break;
      case LayerKind::kBatchNorm:
        text += "bn";
        break;
      case LayerKind::kGroupNorm:
        text += "gn " + std::to_string(layer.groups);
        break;
      case LayerKind::kRelu:
        text += "relu";
        break;
      case LayerKind::kMaxPool:
        text += "pool " + std::to_string(layer.kernel);
        break;
      case LayerKind::kFlatten:
        text += "flatten";
        break;
      case LayerKind::kDropout:
        text += "dropout " + std::to_string(layer.rate).substr(0, 4);
        break;
    }
  }
  return text;
}

std::string Network::pytorch() const {
  std::string text = "torch.nn.Sequential(\n";
  for (const Layer& layer : layers) {
    const std::string sizes = std::to_string(layer.in) + ", " + std::to_string(layer.out);
    text += "    torch.nn.";
    switch (layer.kind) {
      case LayerKind::kConv:
        text += "Conv2d(" + sizes + ", " + std::to_string(layer.kernel) +
                ", padding=" + std::to_string(layer.padding) + ")";
        break;
      case LayerKind::kLinear:
        text += "Linear(" + sizes + ")";
        break;
      case LayerKind::kBatchNorm:
        text += (layer.spatial ? "BatchNorm2d(" : "BatchNorm1d(") + std::to_string(layer.out) + ")";
        break;
      case LayerKind::kGroupNorm:
        text +=
            "GroupNorm(" + std::to_string(layer.groups) + ", " + std::to_string(layer.out) + ")";
        break;
      case LayerKind::kRelu:
        text += "ReLU()";
        break;
      case LayerKind::kMaxPool:
        text += "MaxPool2d(" + std::to_string(layer.kernel) + ")";
        break;
      case LayerKind::kFlatten:
        text += "Flatten()";
        break;
      case LayerKind::kDropout:
        text += "Dropout(" + std::to_string(layer.rate) + ")";
        break;
    }
    text += ",\n";
  }
  return text + ")";
}

std::vector<float> Network::initialise(BitSource& bits) const {
  std::vector<float> weights;
  const auto uniform = [&](std::int64_t count, double limit) {
    for (std::int64_t i = 0; i < count; ++i) {
      weights.push_back(static_cast<float>((2.0 * bits.unit() - 1.0) * limit));
    }
  };
  const auto constant = [&](std::int64_t count, float value) {
    weights.insert(weights.end(), static_cast<std::size_t>(count), value);
  };
  for (const Layer& layer : layers) {
    if (layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear) {
      const std::int64_t area = layer.kind == LayerKind::kConv ? layer.kernel * layer.kernel : 1;
      const std::int64_t fan_in = layer.in * area;
      const double limit = 1.0 / std::sqrt(static_cast<double>(fan_in));
      uniform(layer.out * fan_in, limit);
      uniform(layer.out, limit);
    } else if (layer.kind == LayerKind::kBatchNorm) {
      constant(layer.out, 1.0F);  // scale
      constant(layer.out, 0.0F);  // shift
      constant(layer.out, 0.0F);  // running mean
      constant(layer.out, 1.0F);  // running variance
    } else if (layer.kind == LayerKind::kGroupNorm) {
      constant(layer.out, 1.0F);
      constant(layer.out, 0.0F);
    }
  }
  return weights;
}

}  // namespace sotto
