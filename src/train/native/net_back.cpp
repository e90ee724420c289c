// The backward pass: signals from layer to layer, and the parameters' gradients. See net.h.
#include <algorithm>
#include <cmath>

#include "train/native/net.h"

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
  float* const signal = last.gradients_of(at);
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double likely = std::exp(values[c] - partition.most) / partition.sum;
    signal[c] = static_cast<float>((likely - (c == label ? 1.0 : 0.0)) * share);
  }
}

void Net::back(std::size_t batch, bool add) {
  run_back(batch, {.gradients = gradients_.data(), .add = add});
}

void Net::back_signals(std::size_t batch) { run_back(batch, Back{}); }

void Net::back_and_step(std::size_t batch, const Sgd& step, float* velocity) {
  run_back(batch, {.gradients = gradients_.data(), .step = &step, .velocity = velocity});
}

/// As on the way forward, samples go one by one through operations that need no other sample.
/// Weights move only when all samples have seen them.
void Net::run_back(std::size_t batch, const Back& back) {
  const auto kind = [&](std::size_t i) { return chain_.operations[i].layer.kind; };
  const auto waits = [&](std::size_t i) {
    return kind(i) == LayerKind::kLinear || kind(i) == LayerKind::kBatchNorm;
  };
  for (std::size_t i = 1; i < chain_.flows.size(); ++i) {
    chain_.flows[i].shares_gradients = back.gradients != nullptr && shares_gradients(i);
  }
  bool gathered = false;
  for (std::size_t end = chain_.operations.size(); end > 0;) {
    const std::size_t last = end - 1;
    if (kind(last) == LayerKind::kLinear) {
      linear_back(last, batch, back);
      gathered = false;
      end = last;
      continue;
    }
    if (kind(last) == LayerKind::kBatchNorm) {
      for (std::size_t n = 0; n < batch && !gathered; ++n) gather_norm_sums(last, n);
      begin_normalise_back(last, batch, back);
    }
    std::size_t first = last;
    while (first > 0 && !waits(first - 1)) --first;
    gathered = first > 0 && kind(first - 1) == LayerKind::kBatchNorm;
    for (std::size_t i = first; i < end; ++i) {
      if (kind(i) == LayerKind::kConv && chain_.operations[i].needs_input_gradient) turn_filters(i);
    }
    for (std::size_t n = 0; n < batch; ++n) {
      for (std::size_t i = end; i-- > first;) run_back(i, n, back);
      if (gathered) gather_norm_sums(first - 1, n);
    }
    for (std::size_t i = first; i < end && back.gradients != nullptr; ++i) {
      const Operation& operation = chain_.operations[i];
      if (operation.layer.kind == LayerKind::kConv) finish_filters(i, back.gradients, back.add);
      if (!operation.learns() || back.step == nullptr) continue;
      const std::size_t size = operation.bias - operation.weight + chain_.flows[i + 1].shape.stride;
      step_range(operation.weight, size, back);
    }
    end = first;
  }
}

void Net::step_range(std::size_t first, std::size_t count, const Back& back) {
  sgd(*back.step, weights_.data() + first, back.gradients + first,
      back.velocity == nullptr ? nullptr : back.velocity + first, count);
}

void Net::run_back(std::size_t i, std::size_t n, const Back& back) {
  const Operation& operation = chain_.operations[i];
  if (operation.layer.kind == LayerKind::kBatchNorm) return normalise_sample_back(i, n);
  mask_back(i, n);
  if (operation.layer.kind == LayerKind::kGroupNorm) return normalise_groups_back(i, n, back);
  if (operation.layer.kind == LayerKind::kConv && back.gradients != nullptr) {
    weigh_filters(i, n, back.gradients, back.add, n == 0);
  }
  if (!operation.needs_input_gradient) return;
  if (operation.layer.kind == LayerKind::kConv) return convolve_back(i, n);
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& from = out.gradient_shape;
  const Shape& to = in.gradient_shape;
  const Shape plain = in.shape.framed(0);
  const float* g = out.gradients_of(n);
  float* const x = in.gradients_of(n);
  if (operation.layer.kind == LayerKind::kMaxPool) {
    const bool relu = i > 0 && chain_.operations[i - 1].relu;
    return pool_back(pooling(i), in.values.data() + n * in.shape.image() + in.shape.origin(),
                     out.values.data() + n * out.shape.image() + out.shape.origin(), g, from.line(),
                     x, to.line(), relu);
  }
  if (operation.drops) {
    return scale(g, from.line(), operation.kept.data() + n * plain.image(), plain.line(), x,
                 to.line(), {plain.height, plain.line()});
  }
  // Flattening puts lines one behind the other; any other operation here leaves them.
  const std::size_t line = operation.layer.kind == LayerKind::kFlatten ? plain.line() : from.line();
  for (std::size_t h = 0; h < plain.height; ++h) {
    std::copy_n(g + h * line, plain.line(), x + h * to.line());
  }
}

void Net::mask_back(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  // A pool behind it has already stopped what its ReLU stops.
  const bool pooled = i + 1 < chain_.operations.size() &&
                      chain_.operations[i + 1].layer.kind == LayerKind::kMaxPool;
  if (operation.layer.kind != LayerKind::kRelu && (!operation.relu || pooled)) return;
  const Flow& out = chain_.flows[i + 1];
  const Shape& shape = out.gradient_shape;
  mask(out.values.data() + n * out.shape.image() + out.shape.origin(), out.shape.line(),
       out.gradients_of(n), shape.line(), {shape.height, shape.framed(0).line()});
}

void Net::linear_back(std::size_t i, std::size_t batch, const Back& back) {
  const Operation& operation = chain_.operations[i];
  for (std::size_t n = 0; n < batch; ++n) mask_back(i, n);
  if (operation.needs_input_gradient) multiply_features_back(i, batch);
  if (back.gradients == nullptr) return;
  weigh_features(i, 0, batch, back);
  if (back.step != nullptr) step_range(operation.bias, chain_.flows[i + 1].shape.stride, back);
}

void Net::weigh_features(std::size_t i, std::size_t first, std::size_t count,
                         const Back& back) const {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t columns = out.shape.stride;
  const float* const g = out.gradients.data() + first * columns;
  static constexpr std::size_t kStart = 0;
  outer({.k = {&kStart, 1, in.shape.stride},
         .a = in.values.data() + first * in.shape.stride,
         .a_row = in.shape.stride,
         .a_line = 0,
         .g = g,
         .g_row = columns,
         .g_line = 0,
         .out = back.gradients + operation.weight,
         .out_row = kGroup,
         .out_group = in.shape.stride * kGroup,
         .lines = 1,
         .rows = count,
         .columns = columns,
         .add = back.add,
         .step = back.step,
         .weights = weights_.data() + operation.weight,
         .velocity = back.velocity == nullptr ? nullptr : back.velocity + operation.weight});
  float* const bias = back.gradients + operation.bias;
  if (!back.add) std::fill_n(bias, columns, 0.0F);
  add_up(g, count, columns, bias);
}

/// The weights lie by inputs, so the signals are turned instead: they are much smaller.
void Net::multiply_features_back(std::size_t i, std::size_t batch) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t columns = grouped(batch);
  transpose(out.gradients.data(), out.shape.stride, batch, out.shape.stride, turned_signals_.data(),
            columns);
  multiply({.k = operation.back.pieces(),
            .a = weights_.data() + operation.weight,
            .a_row = kGroup,
            .a_line = 0,
            .b = turned_signals_.data(),
            .b_row = columns,
            .b_group = kGroup,
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
