// Gradients of single samples: see net.h.
#include <algorithm>

#include "train/native/net.h"

namespace sotto::native {

std::size_t Net::products_from() const {
  std::size_t from = weights_.size();
  for (const Operation& operation : chain_.operations) {
    const LayerKind kind = operation.layer.kind;
    if (kind == LayerKind::kLinear) {
      from = std::min(from, operation.weight);
    } else if (kind == LayerKind::kBatchNorm && from < weights_.size()) {
      return weights_.size();
    }
  }
  return from;
}

void Net::sample_gradient(std::size_t at, float* out) const {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) weigh_sample(i, at, out);
}

void Net::weigh_sample(std::size_t i, std::size_t at, float* out) const {
  const Operation& operation = chain_.operations[i];
  if (operation.layer.kind == LayerKind::kConv) {
    weigh_filters(i, at, out, false, true);
    return finish_filters(i, out, false);
  }
  if (operation.layer.kind == LayerKind::kLinear) {
    return weigh_features(i, at, 1, {.gradients = out});
  }
  if (!operation.learns()) return;
  const std::size_t stride = chain_.flows[i].shape.stride;
  const float* const mean = operation.layer.kind == LayerKind::kGroupNorm
                                ? operation.moments.data() + at * 2 * stride
                                : operation.scratch.data();
  std::fill_n(out + operation.weight, stride, 0.0F);
  std::fill_n(out + operation.bias, stride, 0.0F);
  add_norm_sums(i, at, mean, mean + stride, out + operation.weight, out + operation.bias);
}

void Net::written_gradient(std::size_t at, float* out) const {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind == LayerKind::kLinear) return;
    weigh_sample(i, at, out);
  }
}

/// |a g^T|^2 = |a|^2 |g|^2, and the bias has the gradient g.
double Net::product_square(std::size_t at) const {
  double square = 0.0;
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind != LayerKind::kLinear) continue;
    const std::size_t inputs = chain_.flows[i].shape.stride;
    const Flow& out = chain_.flows[i + 1];
    const double a = sum_of_squares(chain_.flows[i].values.data() + at * inputs, inputs);
    const double g = sum_of_squares(out.gradients.data() + at * out.shape.stride, out.shape.stride);
    square += (a + 1.0) * g;
  }
  return square;
}

void Net::scale_signals(std::size_t at, float factor) {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind != LayerKind::kLinear) continue;
    const Flow& out = chain_.flows[i + 1];
    float* const signal = out.gradients.data() + at * out.shape.stride;
    for (std::size_t c = 0; c < out.shape.stride; ++c) signal[c] *= factor;
  }
}

void Net::drop_sample(std::size_t at) {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind != LayerKind::kLinear) continue;
    const std::size_t inputs = chain_.flows[i].shape.stride;
    const std::size_t outputs = chain_.flows[i + 1].shape.stride;
    std::fill_n(chain_.flows[i].values.data() + at * inputs, inputs, 0.0F);
    std::fill_n(chain_.flows[i + 1].gradients.data() + at * outputs, outputs, 0.0F);
  }
}

void Net::add_products(std::size_t batch) {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind == LayerKind::kLinear) {
      weigh_features(i, 0, batch, {.gradients = gradients_.data()});
    }
  }
}

}  // namespace sotto::native
