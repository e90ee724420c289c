// The way forward, and weights in and out. See net.h.
#include "train/native/net.h"

#include <algorithm>

namespace sotto::native {
namespace {

void grow(Floats& floats, std::size_t size) {
  if (floats.size() < size) floats = Floats(size);
}

}  // namespace

Net::Net(const Network& network)
    : chain_(make_chain(network)),
      layout_(network.layout()),
      weights_(chain_.parameters),
      gradients_(chain_.parameters),
      statistics_(chain_.statistics),
      tile_workspace_(chain_.tile_workspace) {}

template <bool kInto, class Visit>
void Net::each_element(const TensorSpec& tensor, const Matrix& matrix, const std::uint32_t* places,
                       const Visit& visit) {
  const std::size_t columns = matrix.columns.size();
  if (columns == 0) {
    for (std::size_t i = 0; i < tensor.size; ++i) visit(tensor.offset + i, places[i]);
    return;
  }
  // Lines are written as a whole, wherever they are: rows of the layout often lie a power of two
  // apart, where a cache holds few of them at a time.
  const std::size_t rows = tensor.size / columns;
  for (std::size_t row = 0; row < rows; row += kGroup) {
    const std::size_t row_end = std::min(row + kGroup, rows);
    const std::size_t first = row / kGroup * matrix.group;
    const auto at = [&](std::size_t r, std::size_t c) {
      visit(tensor.offset + r * columns + c, first + matrix.columns[c] + r - row);
    };
    for (std::size_t column = 0; column < columns; column += kGroup) {
      const std::size_t column_end = std::min(column + kGroup, columns);
      if constexpr (kInto) {
        for (std::size_t c = column; c < column_end; ++c) {
          for (std::size_t r = row; r < row_end; ++r) at(r, c);
        }
      } else {
        for (std::size_t r = row; r < row_end; ++r) {
          for (std::size_t c = column; c < column_end; ++c) at(r, c);
        }
      }
    }
  }
}

template <bool kInto, class Visit, class Statistics>
void Net::each_weight(const Visit& visit, const Statistics& statistics) const {
  const std::uint32_t* parameter = chain_.parameter_places.data();
  const std::uint32_t* statistic = chain_.statistic_places.data();
  const Matrix* matrix = chain_.matrices.data();
  for (const TensorSpec& tensor : layout_.tensors()) {
    if (tensor.role == TensorRole::kParameter) {
      each_element<kInto>(tensor, *matrix++, parameter, visit);
      parameter += tensor.size;
    } else {
      each_element<kInto>(tensor, Matrix(), statistic, statistics);
      statistic += tensor.size;
    }
  }
}

void Net::load(std::span<const float> weights) {
  each_weight<true>([&](std::size_t at, std::size_t place) { weights_[place] = weights[at]; },
                    [&](std::size_t at, std::size_t place) { statistics_[place] = weights[at]; });
}

void Net::store(std::span<float> weights) const {
  each_weight<false>([&](std::size_t at, std::size_t place) { weights[at] = weights_[place]; },
                     [&](std::size_t at, std::size_t place) { weights[at] = statistics_[place]; });
}

void Net::store_gradients(const float* from, std::span<float> out, float factor) const {
  each_weight<false>([&](std::size_t at, std::size_t place) { out[at] = from[place] * factor; },
                     [&](std::size_t at, std::size_t /*place*/) { out[at] = 0.0F; });
}

void Net::reserve(std::size_t batch, Gradients wanted) {
  if (batch > capacity_) {
    for (Flow& flow : chain_.flows) flow.values = Floats(batch * flow.shape.image());
    for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
      Operation& operation = chain_.operations[i];
      const Shape& shape = chain_.flows[i].shape;
      if (operation.layer.kind == LayerKind::kDropout) {
        operation.kept = Floats(batch * shape.framed(0).image());
      } else if (operation.layer.kind == LayerKind::kGroupNorm) {
        operation.moments = Floats(batch * 2 * shape.stride);
      }
    }
    capacity_ = batch;
  }
  if (wanted == Gradients::kNone) return;
  std::size_t signals = 0;
  std::size_t inputs = 0;
  for (std::size_t i = 1; i < chain_.flows.size(); ++i) {
    Flow& flow = chain_.flows[i];
    const std::size_t places = wanted == Gradients::kOfBatch && shares_gradients(i) ? 1 : batch;
    grow(flow.gradients, places * flow.gradient_shape.image());
    if (chain_.operations[i - 1].layer.kind != LayerKind::kLinear) continue;
    signals = std::max(signals, flow.shape.stride);
    inputs = std::max(inputs, chain_.flows[i - 1].shape.stride);
  }
  grow(turned_signals_, signals * grouped(batch));
  grow(turned_inputs_, inputs * grouped(batch));
}

bool Net::shares_gradients(std::size_t i) const {
  if (i + 1 == chain_.flows.size()) return false;
  const LayerKind before = chain_.operations[i - 1].layer.kind;
  return before != LayerKind::kLinear && before != LayerKind::kBatchNorm &&
         chain_.operations[i].layer.kind != LayerKind::kLinear;
}

void Net::put(std::size_t at, const float* sample) {
  const Flow& flow = chain_.flows.front();
  const Shape& shape = flow.shape;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    for (std::size_t h = 0; h < shape.height; ++h) {
      float* const to =
          flow.values.data() + at * shape.image() + shape.origin() + h * shape.line() + c;
      if (shape.stride == 1) {
        std::copy_n(sample, shape.width, to);
        sample += shape.width;
        continue;
      }
      for (std::size_t w = 0; w < shape.width; ++w) to[w * shape.stride] = *sample++;
    }
  }
}

void Net::draw(std::size_t i, std::size_t at, BitSource& bits) {
  const Operation& operation = chain_.operations[i];
  const Shape shape = chain_.flows[i].shape.framed(0);
  const auto kept = static_cast<float>(1.0 / (1.0 - operation.layer.rate));
  float* const factors = operation.kept.data() + at * shape.image();
  for (const std::uint32_t place : operation.drawn) {
    factors[place] = bits.unit() < operation.layer.rate ? 0.0F : kept;
  }
}

void Net::draw_dropout(std::size_t at, BitSource& bits) {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind == LayerKind::kDropout) draw(i, at, bits);
  }
}

/// Samples go one by one through all operations that need no other sample, so that what one of
/// them leaves is still near when the next one reads it.
void Net::forward(std::size_t batch, Pass pass, BitSource* bits) {
  const std::size_t count = chain_.operations.size();
  const auto waits = [&](std::size_t i) {
    const LayerKind kind = chain_.operations[i].layer.kind;
    return kind == LayerKind::kLinear || kind == LayerKind::kBatchNorm ||
           (kind == LayerKind::kDropout && bits != nullptr);
  };
  const bool gathers = pass != Pass::kEvaluate;
  bool gathered = false;
  for (std::size_t i = 0; i < count;) {
    Operation& operation = chain_.operations[i];
    if (operation.layer.kind == LayerKind::kLinear) {
      multiply_features(i++, batch);
      gathered = false;
      continue;
    }
    if (operation.layer.kind == LayerKind::kBatchNorm) {
      for (std::size_t n = 0; n < batch && gathers && !gathered; ++n) gather_statistics(i, n);
      begin_normalise(i, batch, pass);
    }
    std::size_t end = i + 1;
    while (end < count && !waits(end)) ++end;
    gathered = gathers && end < count && chain_.operations[end].layer.kind == LayerKind::kBatchNorm;
    for (std::size_t j = i; j < end; ++j) {
      Operation& each = chain_.operations[j];
      each.drops = each.layer.kind == LayerKind::kDropout && pass == Pass::kTrain;
      if (each.layer.kind == LayerKind::kConv) begin_convolve(j);
    }
    for (std::size_t n = 0; n < batch; ++n) {
      if (operation.drops && bits != nullptr) draw(i, n, *bits);
      for (std::size_t j = i; j < end; ++j) run(j, n);
      if (gathered) gather_statistics(end, n);
    }
    i = end;
  }
}

void Net::run(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  switch (operation.layer.kind) {
    case LayerKind::kConv:
      return convolve(i, n);
    case LayerKind::kLinear:
      return;
    case LayerKind::kBatchNorm:
      return normalise_sample(i, n);
    case LayerKind::kGroupNorm:
      return normalise_groups(i, n);
    case LayerKind::kMaxPool:
      return pool_image(i, n);
    case LayerKind::kFlatten:
      std::copy_n(in.values.data() + n * in.shape.image(), in.shape.image(),
                  out.values.data() + n * out.shape.image());
      return;
    case LayerKind::kRelu:
    case LayerKind::kDropout:
      break;
  }
  const Shape plain = in.shape.framed(0);
  const float* const x = in.values.data() + n * in.shape.image() + in.shape.origin();
  float* const y = out.values.data() + n * out.shape.image() + out.shape.origin();
  const Lines lines{plain.height, plain.line()};
  if (operation.layer.kind == LayerKind::kRelu) {
    rectify(x, in.shape.line(), y, out.shape.line(), lines);
  } else if (operation.drops) {
    scale(x, in.shape.line(), operation.kept.data() + n * plain.image(), plain.line(), y,
          out.shape.line(), lines);
  } else {
    for (std::size_t h = 0; h < plain.height; ++h) {
      std::copy_n(x + h * in.shape.line(), plain.line(), y + h * out.shape.line());
    }
  }
}

void Net::multiply_features(std::size_t i, std::size_t batch) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  static constexpr std::size_t kStart = 0;
  multiply({.k = {&kStart, 1, in.shape.stride},
            .a = in.values.data(),
            .a_row = in.shape.stride,
            .a_line = 0,
            .b = weights_.data() + operation.weight,
            .b_row = kGroup,
            .b_group = in.shape.stride * kGroup,
            .bias = weights_.data() + operation.bias,
            .out = out.values.data(),
            .out_row = out.shape.stride,
            .out_line = 0,
            .lines = 1,
            .rows = batch,
            .columns = out.shape.stride,
            .relu = operation.relu});
}

Pooling Net::pooling(std::size_t i) const {
  const Shape& in = chain_.flows[i].shape;
  const Shape& out = chain_.flows[i + 1].shape;
  return {static_cast<std::size_t>(chain_.operations[i].layer.kernel),
          out.height,
          out.width,
          out.stride,
          in.line(),
          out.line()};
}

void Net::pool_image(std::size_t i, std::size_t n) {
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  pool(pooling(i), in.values.data() + n * in.shape.image() + in.shape.origin(),
       out.values.data() + n * out.shape.image() + out.shape.origin());
}

std::span<const float> Net::scores(std::size_t at) const {
  const Flow& last = chain_.flows.back();
  return {last.values.data() + at * last.shape.image(), last.shape.channels};
}

void Net::features(std::size_t at, std::span<float> out) const {
  for (std::size_t i = 0; i < chain_.operations.size(); ++i) {
    if (chain_.operations[i].layer.kind != LayerKind::kFlatten) continue;
    const Flow& in = chain_.flows[i];
    const Shape& shape = in.shape;
    auto to = out.begin();
    for (std::size_t c = 0; c < shape.channels; ++c) {
      for (std::size_t p = 0; p < shape.pixels(); ++p) {
        *to++ = in.values[at * shape.image() + p * shape.stride + c];
      }
    }
    return;
  }
}

}  // namespace sotto::native
