// The way back: signals from layer to layer, and the parameters' gradients. See net.h.
#include <algorithm>
#include <cmath>

#include "native/net.h"

namespace sotto::native {

namespace {

/// The largest score, and the sum of exp(score - largest).
struct Partition {
  double most, sum;
};
Partition partition_of(std::span<const float> scores) {
  Partition partition{*std::ranges::max_element(scores), 0.0};
  for (const float score : scores) partition.sum += std::exp(score - partition.most);
  return partition;
}

}  // namespace

double Net::loss(std::size_t at, std::size_t label) const {
  const std::span<const float> values = scores(at);
  const Partition partition = partition_of(values);
  return std::log(partition.sum) + partition.most - values[label];
}

void Net::begin_back(std::size_t at, std::size_t label, double share) {
  const std::span<const float> values = scores(at);
  const Partition partition = partition_of(values);
  const Flow& last = chain_.flows.back();
  float* const signal = last.gradients.data() + at * last.gradient_shape.image();
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double likely = std::exp(values[c] - partition.most) / partition.sum;
    signal[c] = static_cast<float>((likely - (c == label ? 1.0 : 0.0)) * share);
  }
}

void Net::back(std::size_t batch, bool add) {
  for (std::size_t i = chain_.operations.size(); i-- > 0;) {
    run_back(i, batch, gradients_.data(), add);
  }
}

void Net::back_signals(std::size_t batch) {
  for (std::size_t i = chain_.operations.size(); i-- > 0;) run_back(i, batch, nullptr, false);
}

void Net::run_back(std::size_t i, std::size_t batch, float* gradients, bool add) {
  const Operation& operation = chain_.operations[i];
  // A pool behind it has already stopped what its ReLU stops.
  const bool pooled = i + 1 < chain_.operations.size() &&
                      chain_.operations[i + 1].layer.kind == LayerKind::kMaxPool;
  if ((operation.relu && !pooled) || operation.layer.kind == LayerKind::kRelu) mask_back(i, batch);
  if (operation.layer.kind == LayerKind::kBatchNorm) {
    return normalise_back(i, batch, gradients, add);
  }
  if (operation.layer.kind == LayerKind::kGroupNorm) {
    return normalise_groups_back(i, batch, gradients, add);
  }
  if (gradients != nullptr) weigh(i, 0, batch, gradients, add);
  if (!operation.needs_input_gradient) return;
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& from = out.gradient_shape;
  const Shape& to = in.gradient_shape;
  const Shape plain = in.shape.framed(0);
  switch (operation.layer.kind) {
    case LayerKind::kConv:
      return convolve_back(i, batch);
    case LayerKind::kLinear:
      return multiply_features_back(i, batch);
    case LayerKind::kMaxPool: {
      const bool relu = i > 0 && chain_.operations[i - 1].relu;
      const Pooling shape = pooling(i);
      for (std::size_t n = 0; n < batch; ++n) {
        pool_back(shape, in.values.data() + n * in.shape.image() + in.shape.origin(),
                  out.values.data() + n * out.shape.image() + out.shape.origin(),
                  out.gradients.data() + n * from.image() + from.origin(), from.line(),
                  in.gradients.data() + n * to.image() + to.origin(), to.line(), relu);
      }
      return;
    }
    case LayerKind::kBatchNorm:
    case LayerKind::kGroupNorm:
    case LayerKind::kFlatten:
    case LayerKind::kRelu:
    case LayerKind::kDropout:
      break;
  }
  for (std::size_t n = 0; n < batch; ++n) {
    const float* g = out.gradients.data() + n * from.image() + from.origin();
    float* const x = in.gradients.data() + n * to.image() + to.origin();
    if (operation.drops) {
      scale(g, from.line(), operation.kept.data() + n * plain.image(), plain.line(), x, to.line(),
            {plain.height, plain.line()});
      continue;
    }
    // Flattening puts lines one behind the other; any other operation here leaves them.
    const std::size_t line =
        operation.layer.kind == LayerKind::kFlatten ? plain.line() : from.line();
    for (std::size_t h = 0; h < plain.height; ++h) {
      std::copy_n(g + h * line, plain.line(), x + h * to.line());
    }
  }
}

void Net::mask_back(std::size_t i, std::size_t batch) {
  const Flow& out = chain_.flows[i + 1];
  const Shape& shape = out.gradient_shape;
  for (std::size_t n = 0; n < batch; ++n) {
    mask(out.values.data() + n * out.shape.image() + out.shape.origin(), out.shape.line(),
         out.gradients.data() + n * shape.image() + shape.origin(), shape.line(),
         {shape.height, shape.framed(0).line()});
  }
}

void Net::weigh(std::size_t i, std::size_t first, std::size_t count, float* gradients,
                bool add) const {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& shape = out.gradient_shape;
  if (operation.layer.kind != LayerKind::kConv && operation.layer.kind != LayerKind::kLinear) {
    return;
  }
  float* const weight = gradients + operation.weight;
  float* const bias = gradients + operation.bias;
  if (!add) std::fill_n(bias, shape.stride, 0.0F);
  if (operation.layer.kind == LayerKind::kLinear) {
    static constexpr std::size_t kStart = 0;
    const float* const g = out.gradients.data() + first * shape.image();
    outer({.k = {&kStart, 1, in.shape.stride},
           .a = in.values.data() + first * in.shape.image(),
           .a_row = in.shape.stride,
           .a_line = 0,
           .g = g,
           .g_row = shape.stride,
           .g_line = 0,
           .out = weight,
           .lines = 1,
           .rows = count,
           .columns = shape.stride,
           .add = add});
    add_up(g, count, shape.stride, bias);
    return;
  }
  for (std::size_t n = first; n < first + count; ++n) {
    const float* const g = out.gradients.data() + n * shape.image() + shape.origin();
    outer({.k = operation.forward.pieces(),
           .a = in.values.data() + n * in.shape.image(),
           .a_row = in.shape.stride,
           .a_line = in.shape.line(),
           .g = g,
           .g_row = shape.stride,
           .g_line = shape.line(),
           .out = weight,
           .lines = shape.height,
           .rows = shape.width,
           .columns = shape.stride,
           .add = add || n > first});
    for (std::size_t h = 0; h < shape.height; ++h) {
      add_up(g + h * shape.line(), shape.width, shape.stride, bias);
    }
  }
}

/// The gradient of a convolution's input is a convolution of its output's with the filters turned
/// round.
void Net::convolve_back(std::size_t i, std::size_t batch) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const auto kernel = static_cast<std::size_t>(operation.layer.kernel);
  const std::size_t inputs = in.shape.channels;
  const std::size_t outputs = out.shape.channels;
  const std::size_t pixels = kernel * kernel;
  for (std::size_t k = 0; k < pixels; ++k) {
    transpose(weights_.data() + operation.weight + k * inputs * out.shape.stride, out.shape.stride,
              inputs, outputs,
              operation.turned.data() + (pixels - 1 - k) * outputs * in.shape.stride,
              in.shape.stride);
  }
  for (std::size_t n = 0; n < batch; ++n) {
    multiply(
        {.k = operation.back.pieces(),
         .a = out.gradients.data() + n * out.gradient_shape.image(),
         .a_row = out.gradient_shape.stride,
         .a_line = out.gradient_shape.line(),
         .b = operation.turned.data(),
         .bias = nullptr,
         .out = in.gradients.data() + n * in.gradient_shape.image() + in.gradient_shape.origin(),
         .out_row = in.gradient_shape.stride,
         .out_line = in.gradient_shape.line(),
         .lines = in.shape.height,
         .rows = in.shape.width,
         .columns = in.shape.stride,
         .relu = false});
  }
}

/// The weights lie by inputs, so the signals are turned instead: they are much smaller.
void Net::multiply_features_back(std::size_t i, std::size_t batch) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  static constexpr std::size_t kStart = 0;
  const std::size_t columns = grouped(batch);
  transpose(out.gradients.data(), out.shape.stride, batch, out.shape.channels,
            turned_signals_.data(), columns);
  multiply({.k = {&kStart, 1, out.shape.channels},
            .a = weights_.data() + operation.weight,
            .a_row = out.shape.stride,
            .a_line = 0,
            .b = turned_signals_.data(),
            .bias = nullptr,
            .out = turned_inputs_.data(),
            .out_row = columns,
            .out_line = 0,
            .lines = 1,
            .rows = in.shape.stride,
            .columns = columns,
            .relu = false});
  transpose(turned_inputs_.data(), columns, in.shape.stride, batch, in.gradients.data(),
            in.shape.stride);
}

}  // namespace sotto::native
