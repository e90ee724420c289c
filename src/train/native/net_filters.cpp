// Convolutions, directly or by tiles (winograd.h), forth and back. See net.h.
#include <algorithm>

#include "train/native/net.h"
#include "train/native/winograd.h"

namespace sotto::native {

void Net::begin_convolve(std::size_t i) {
  const Operation& operation = chain_.operations[i];
  if (!operation.tiled) return;
  transform_filters(weights_.data() + operation.weight, chain_.flows[i].shape.channels,
                    chain_.flows[i + 1].shape.stride, operation.tiled_filters.data());
}

void Net::convolve(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  if (operation.tiled) {
    return convolve_tiles({.height = out.shape.height,
                           .width = out.shape.width,
                           .x = in.values.data() + n * in.shape.image(),
                           .x_stride = in.shape.stride,
                           .x_line = in.shape.line(),
                           .depth = in.shape.channels,
                           .filters = operation.tiled_filters.data(),
                           .bias = weights_.data() + operation.bias,
                           .out = out.values.data() + n * out.shape.image() + out.shape.origin(),
                           .columns = out.shape.stride,
                           .out_line = out.shape.line(),
                           .relu = operation.relu,
                           .workspace = tile_workspace_.data()});
  }
  multiply({.k = operation.forward.pieces(),
            .a = in.values.data() + n * in.shape.image(),
            .a_row = in.shape.stride,
            .a_line = in.shape.line(),
            .b = weights_.data() + operation.weight,
            .b_row = out.shape.stride,
            .b_group = kGroup,
            .bias = weights_.data() + operation.bias,
            .out = out.values.data() + n * out.shape.image() + out.shape.origin(),
            .out_row = out.shape.stride,
            .out_line = out.shape.line(),
            .lines = out.shape.height,
            .rows = out.shape.width,
            .columns = out.shape.stride,
            .relu = operation.relu});
}

void Net::weigh_filters(std::size_t i, std::size_t n, float* gradients, bool add,
                        bool first) const {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& shape = out.gradient_shape;
  const float* const x = in.values.data() + n * in.shape.image();
  const float* const g = out.gradients_of(n);
  add = add || !first;
  if (operation.tiled) {
    winograd_filter_grad({.height = shape.height,
                          .width = shape.width,
                          .x = x,
                          .x_stride = in.shape.stride,
                          .x_line = in.shape.line(),
                          .depth = in.shape.channels,
                          .g = g,
                          .columns = shape.stride,
                          .g_line = shape.line(),
                          .out = operation.tiled_gradients.data(),
                          .add = !first,
                          .workspace = tile_workspace_.data()});
  } else {
    outer({.k = operation.forward.pieces(),
           .a = x,
           .a_row = in.shape.stride,
           .a_line = in.shape.line(),
           .g = g,
           .g_row = shape.stride,
           .g_line = shape.line(),
           .out = gradients + operation.weight,
           .out_row = shape.stride,
           .out_group = kGroup,
           .lines = shape.height,
           .rows = shape.width,
           .columns = shape.stride,
           .add = add});
  }
  float* const bias = gradients + operation.bias;
  if (!add) std::fill_n(bias, shape.stride, 0.0F);
  for (std::size_t h = 0; h < shape.height; ++h) {
    add_up(g + h * shape.line(), shape.width, shape.stride, bias);
  }
}

void Net::finish_filters(std::size_t i, float* gradients, bool add) const {
  const Operation& operation = chain_.operations[i];
  if (!operation.tiled) return;
  restore_filters(operation.tiled_gradients.data(), chain_.flows[i].shape.channels,
                  chain_.flows[i + 1].shape.stride, gradients + operation.weight, add);
}

/// The gradient of a convolution's input is a convolution of its output's with the filters turned
/// round.
void Net::turn_filters(std::size_t i) {
  const Operation& operation = chain_.operations[i];
  const Shape& in = chain_.flows[i].shape;
  const Shape& out = chain_.flows[i + 1].shape;
  const auto kernel = static_cast<std::size_t>(operation.layer.kernel);
  const std::size_t pixels = kernel * kernel;
  for (std::size_t k = 0; k < pixels; ++k) {
    transpose(weights_.data() + operation.weight + k * in.channels * out.stride, out.stride,
              in.channels, out.channels,
              operation.turned.data() + (pixels - 1 - k) * out.channels * in.stride, in.stride);
  }
  if (!operation.tiled) return;
  transform_filters(operation.turned.data(), out.channels, in.stride,
                    operation.tiled_turned.data());
}

void Net::convolve_back(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& to = in.gradient_shape;
  if (operation.tiled) {
    return convolve_tiles({.height = to.height,
                           .width = to.width,
                           .x = out.framed_gradients(n),
                           .x_stride = out.gradient_shape.stride,
                           .x_line = out.gradient_shape.line(),
                           .depth = out.shape.channels,
                           .filters = operation.tiled_turned.data(),
                           .bias = nullptr,
                           .out = in.gradients_of(n),
                           .columns = to.stride,
                           .out_line = to.line(),
                           .relu = false,
                           .workspace = tile_workspace_.data()});
  }
  multiply({.k = operation.back.pieces(),
            .a = out.framed_gradients(n),
            .a_row = out.gradient_shape.stride,
            .a_line = out.gradient_shape.line(),
            .b = operation.turned.data(),
            .b_row = in.shape.stride,
            .b_group = kGroup,
            .bias = nullptr,
            .out = in.gradients_of(n),
            .out_row = to.stride,
            .out_line = to.line(),
            .lines = in.shape.height,
            .rows = in.shape.width,
            .columns = in.shape.stride,
            .relu = false});
}

}  // namespace sotto::native
