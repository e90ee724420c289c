#include "train/native/shapes.h"

#include <algorithm>

#include "train/native/winograd.h"

namespace sotto::native {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

/// One run for each row of the filter where pixels follow each other without gaps, else one for
/// each of its pixels.
Run run_of(const Shape& framed, std::size_t kernel) {
  Run run;
  const bool dense = framed.channels == framed.stride;
  run.length = dense ? kernel * framed.channels : framed.channels;
  for (std::size_t i = 0; i < kernel; ++i) {
    for (std::size_t j = 0; j < (dense ? 1 : kernel); ++j) {
      run.offsets.push_back(i * framed.line() + j * framed.stride);
    }
  }
  return run;
}

class ChainMaker {
 public:
  explicit ChainMaker(const Network& network) {
    const auto& input = network.input;
    // The samples come as they are: a grey image's pixel is one float.
    push_flow({size_of(input.height), size_of(input.width), size_of(input.channels),
               size_of(input.channels), 0});
    for (const Layer& layer : network.layers) add(layer);
    for (std::size_t i = 0; i < chain_.operations.size(); ++i) connect(i);
  }
  Chain take() { return std::move(chain_); }

 private:
  Shape& current() { return chain_.flows.back().shape; }
  void push_flow(const Shape& shape) {
    Flow flow;
    flow.shape = flow.gradient_shape = shape;
    chain_.flows.push_back(std::move(flow));
  }
  std::size_t reserve(std::size_t count) {
    const std::size_t at = chain_.parameters;
    chain_.parameters += count;
    return at;
  }
  void place(std::size_t at) { chain_.parameter_places.push_back(static_cast<std::uint32_t>(at)); }
  /// Where the layout's i-th channel or feature lies.
  std::size_t feature(std::size_t i) const { return features_.empty() ? i : features_[i]; }
  /// A vector of the layout.
  void place_channels(std::size_t at, std::size_t count) {
    chain_.matrices.emplace_back();
    for (std::size_t i = 0; i < count; ++i) place(at + feature(i));
  }

  void add(const Layer& layer) {
    std::vector<Operation>& operations = chain_.operations;
    if (layer.kind == LayerKind::kRelu && !operations.empty()) {
      const LayerKind before = operations.back().layer.kind;
      if (before == LayerKind::kConv || before == LayerKind::kLinear ||
          before == LayerKind::kBatchNorm || before == LayerKind::kGroupNorm) {
        operations.back().relu = true;
        return;
      }
    }
    Operation operation;
    operation.layer = layer;
    Shape shape = current();
    switch (layer.kind) {
      case LayerKind::kConv:
        shape = add_conv(operation, shape);
        break;
      case LayerKind::kLinear:
        shape = add_linear(operation, shape);
        break;
      case LayerKind::kBatchNorm:
        add_norm(operation, shape);
        operation.statistics = chain_.statistics;
        for (std::size_t i = 0; i < 2; ++i) {
          for (std::size_t c = 0; c < size_of(layer.out); ++c) {
            chain_.statistic_places.push_back(
                static_cast<std::uint32_t>(chain_.statistics + i * shape.stride + feature(c)));
          }
        }
        chain_.statistics += 2 * shape.stride;
        break;
      case LayerKind::kGroupNorm:
        add_norm(operation, shape);
        break;
      case LayerKind::kMaxPool:
        shape.height /= size_of(layer.kernel);
        shape.width /= size_of(layer.kernel);
        break;
      case LayerKind::kFlatten: {
        // The layout numbers features channel by channel.
        features_.clear();
        for (std::size_t c = 0; c < shape.channels; ++c) {
          for (std::size_t p = 0; p < shape.pixels(); ++p)
            features_.push_back(p * shape.stride + c);
        }
        // Alignment between the pixels, if any, counts as features that are always 0.
        const std::size_t flat = shape.pixels() * shape.stride;
        shape = {1, 1, flat, grouped(flat), 0};
        break;
      }
      case LayerKind::kDropout:
        for (std::size_t c = 0; c < (features_.empty() ? shape.channels : features_.size()); ++c) {
          for (std::size_t p = 0; p < shape.pixels(); ++p) {
            operation.drawn.push_back(static_cast<std::uint32_t>(p * shape.stride + feature(c)));
          }
        }
        break;
      case LayerKind::kRelu:
        break;
    }
    operations.push_back(std::move(operation));
    push_flow(shape);
  }

  Shape add_conv(Operation& operation, const Shape& in) {
    const Layer& layer = operation.layer;
    const std::size_t kernel = size_of(layer.kernel);
    const std::size_t out = size_of(layer.out);
    const std::size_t columns = grouped(out);
    const std::size_t rows = kernel * kernel * in.channels;
    operation.weight = reserve(rows * columns);
    operation.bias = reserve(columns);
    for (std::size_t o = 0; o < out; ++o) {
      for (std::size_t c = 0; c < in.channels; ++c) {
        for (std::size_t k = 0; k < kernel * kernel; ++k) {
          place(operation.weight + (k * in.channels + c) * columns + o);
        }
      }
    }
    Matrix matrix{kGroup, {}};
    for (std::size_t c = 0; c < in.channels; ++c) {
      for (std::size_t k = 0; k < kernel * kernel; ++k) {
        matrix.columns.push_back(
            static_cast<std::uint32_t>(operation.weight + (k * in.channels + c) * columns));
      }
    }
    chain_.matrices.push_back(std::move(matrix));
    place_channels(operation.bias, out);
    const std::size_t lost = kernel - 1;
    const std::size_t pad = size_of(layer.padding);
    return {in.height + 2 * pad - lost, in.width + 2 * pad - lost, out, columns, 0};
  }

  /// Scale and shift of every channel.
  void add_norm(Operation& operation, const Shape& shape) {
    operation.weight = reserve(shape.stride);
    operation.bias = reserve(shape.stride);
    operation.scratch = Floats(kNormScratch * shape.stride);
    place_channels(operation.weight, size_of(operation.layer.out));
    place_channels(operation.bias, size_of(operation.layer.out));
  }

  Shape add_linear(Operation& operation, const Shape& in) {
    const std::size_t out = size_of(operation.layer.out);
    const std::size_t columns = grouped(out);
    operation.weight = reserve(in.stride * columns);
    operation.bias = reserve(columns);
    const std::size_t inputs = size_of(operation.layer.in);
    for (std::size_t o = 0; o < out; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        place(operation.weight + o / kGroup * in.stride * kGroup + feature(i) * kGroup +
              o % kGroup);
      }
    }
    Matrix matrix{in.stride * kGroup, {}};
    for (std::size_t i = 0; i < inputs; ++i) {
      matrix.columns.push_back(static_cast<std::uint32_t>(operation.weight + feature(i) * kGroup));
    }
    chain_.matrices.push_back(std::move(matrix));
    // A row of the weights, for the gradient of the input.
    operation.back.length = kGroup;
    for (std::size_t o = 0; o < columns; o += kGroup) {
      operation.back.offsets.push_back(o * in.stride);
    }
    features_.clear();
    place_channels(operation.bias, out);
    return {1, 1, out, columns, 0};
  }

  bool learns_before(std::size_t i) const {
    return std::any_of(chain_.operations.begin(),
                       chain_.operations.begin() + static_cast<std::ptrdiff_t>(i),
                       [](const Operation& before) { return before.learns(); });
  }

  /// Frames are what the convolutions on either side need.
  void connect(std::size_t i) {
    Operation& operation = chain_.operations[i];
    // Nothing before the first parameters asks for a signal.
    operation.needs_input_gradient = learns_before(i);
    if (operation.layer.kind != LayerKind::kConv) return;
    Flow& in = chain_.flows[i];
    Flow& out = chain_.flows[i + 1];
    const std::size_t kernel = size_of(operation.layer.kernel);
    in.shape = in.shape.framed(size_of(operation.layer.padding));
    operation.forward = run_of(in.shape, kernel);
    operation.tiled = is_tiled(operation.layer, in.shape);
    if (operation.tiled) {
      operation.tiled_filters = Floats(filters_size(in.shape.channels, out.shape.stride));
      operation.tiled_gradients = Floats(operation.tiled_filters.size());
      chain_.tile_workspace =
          std::max(chain_.tile_workspace, workspace_size(in.shape.stride, out.shape.stride));
    }
    if (!operation.needs_input_gradient) return;
    out.gradient_shape = out.gradient_shape.framed(kernel - 1 - in.shape.pad);
    operation.back = run_of(out.gradient_shape, kernel);
    operation.turned = Floats(kernel * kernel * out.shape.channels * in.shape.stride);
    if (operation.tiled) {
      operation.tiled_turned = Floats(filters_size(out.shape.channels, in.shape.stride));
    }
  }

  Chain chain_;
  std::vector<std::size_t> features_;  // where a flattened image's features lie; empty: in order
};

}  // namespace

bool is_tiled(const Layer& layer, const Shape& image) {
  // With fewer channels or tiles the transforms cost more than the products save.
  constexpr std::int64_t kFewestChannels = 16;
  constexpr std::size_t kFewestPixels = 64;
  return layer.kernel == 3 && image.height % 2 == 0 && image.width % 2 == 0 &&
         image.stride % kGroup == 0 && std::min(layer.in, layer.out) >= kFewestChannels &&
         image.pixels() >= kFewestPixels;
}

bool can_chain(const Network& network) {
  std::int64_t channels = network.input.channels;
  std::int64_t height = network.input.height;
  std::int64_t width = network.input.width;
  bool flat = false;
  // Samples lie without alignment, which these two alone can read.
  if (network.layers.empty() || (network.layers.front().kind != LayerKind::kConv &&
                                 network.layers.front().kind != LayerKind::kFlatten)) {
    return false;
  }
  for (const Layer& layer : network.layers) {
    switch (layer.kind) {
      case LayerKind::kConv:
        if (flat || layer.in != channels || layer.padding >= layer.kernel) return false;
        channels = layer.out;
        height += 2 * layer.padding - layer.kernel + 1;
        width += 2 * layer.padding - layer.kernel + 1;
        break;
      case LayerKind::kMaxPool:
        if (flat || layer.kernel < 1) return false;
        height /= layer.kernel;
        width /= layer.kernel;
        break;
      case LayerKind::kFlatten:
        if (flat) return false;
        channels *= height * width;
        height = width = 1;
        flat = true;
        break;
      case LayerKind::kLinear:
        if (!flat || layer.in != channels) return false;
        channels = layer.out;
        break;
      case LayerKind::kBatchNorm:
        if (layer.out != channels || layer.spatial == flat) return false;
        break;
      case LayerKind::kGroupNorm:
        if (flat || layer.out != channels || layer.groups < 1 || channels % layer.groups != 0) {
          return false;
        }
        break;
      case LayerKind::kRelu:
      case LayerKind::kDropout:
        break;
    }
    if (height < 1 || width < 1 || channels < 1) return false;
  }
  return flat && channels == network.classes;
}

Chain make_chain(const Network& network) { return ChainMaker(network).take(); }

}  // namespace sotto::native
