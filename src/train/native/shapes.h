// How activations lie in memory, and a network as a chain of operations on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "sotto/network.h"
#include "train/native/kernels.h"

namespace sotto::native {

/// Floats on the boundary of a cache line, zeros at first.
class Floats {
 public:
  Floats() = default;
  explicit Floats(std::size_t size)
      : values_(static_cast<float*>(::operator new(bytes(size), kAlignment))), size_(size) {
    for (std::size_t i = 0; i < size; ++i) values_.get()[i] = 0.0F;
  }
  float* data() const { return values_.get(); }
  std::size_t size() const { return size_; }
  float& operator[](std::size_t i) const { return values_.get()[i]; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static std::size_t bytes(std::size_t size) { return (size + kGroup) * sizeof(float); }
  struct Free {
    void operator()(float* values) const { ::operator delete(values, kAlignment); }
  };
  std::unique_ptr<float, Free> values_;
  std::size_t size_ = 0;
};

/// Images or, 1 by 1, features: `stride` floats a pixel, of which `channels` are in use, in a frame
/// of `pad` pixels of zeros.
struct Shape {
  std::size_t height = 1, width = 1, channels = 0, stride = 0, pad = 0;
  std::size_t line() const { return (width + 2 * pad) * stride; }
  std::size_t image() const { return (height + 2 * pad) * line(); }
  std::size_t origin() const { return pad * (line() + stride); }
  std::size_t pixels() const { return height * width; }
  Shape framed(std::size_t frame) const {
    Shape shape = *this;
    shape.pad = frame;
    return shape;
  }
};

/// What flows between two operations, for a whole batch: values forward, gradients back.
struct Flow {
  Shape shape;           // of the values
  Shape gradient_shape;  // the same but for its frame
  Floats values, gradients;
  bool shares_gradients = false;  // whether all samples use one place for them, one by one

  /// The gradients of sample n, its frame first; without the frame.
  float* framed_gradients(std::size_t n) const {
    return gradients.data() + (shares_gradients ? 0 : n * gradient_shape.image());
  }
  float* gradients_of(std::size_t n) const { return framed_gradients(n) + gradient_shape.origin(); }
};

/// Runs of memory that hold one row of a convolution's matrix.
struct Run {
  std::vector<std::size_t> offsets;
  std::size_t length = 0;
  Pieces pieces() const { return {offsets.data(), offsets.size(), length}; }
};

/// Rows of a norm's scratch: the mean, one over the deviation, three factors and two sums.
inline constexpr std::size_t kNormScratch = 7;

/// The i-th operation reads flow i and writes flow i + 1.
struct Operation {
  Layer layer;
  bool relu = false;  // negative results become 0
  bool needs_input_gradient = false;
  std::size_t weight = 0;  // where its parameters lie: weight or scale, bias or shift
  std::size_t bias = 0;
  std::size_t statistics = 0;  // batch norm: where its running mean lies, the variance behind it
  Run forward, back;           // convolution; linear layer: back
  Floats turned;               // its filters turned round, for the gradient of its input
  bool tiled = false;          // convolution: whether it goes by tiles, see winograd.h
  Floats tiled_filters, tiled_turned, tiled_gradients;  // then: transformed
  Floats scratch;                                       // norms: what they remember
  Floats moments;  // group norm: each sample's means and inverse deviations by channel
  Floats kept;     // dropout: the factors of the last pass, without frames
  std::vector<std::uint32_t> drawn;  // dropout: where a sample's factors lie, as they are drawn
  bool drops = false;                // dropout: whether the last pass dropped anything
  bool of_batch = false;  // batch norm: whether the last pass took the batch's own statistics

  bool learns() const {
    return layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear ||
           layer.kind == LayerKind::kBatchNorm || layer.kind == LayerKind::kGroupNorm;
  }
};

/// Where a matrix of weights lies: output o of the layout's column j at
/// o / kGroup * group + columns[j] + o % kGroup. So columns are copied as lines of memory.
struct Matrix {
  std::size_t group = 0;
  std::vector<std::uint32_t> columns;  // from the start of the parameters; empty: no matrix
};

/// A network in the engine's own order of memory.
struct Chain {
  std::vector<Operation> operations;
  std::vector<Flow> flows;
  std::size_t parameters = 0;  // with alignment
  std::size_t statistics = 0;
  std::size_t tile_workspace = 0;               // floats, for any one convolution by tiles
  std::vector<std::uint32_t> parameter_places;  // of the layout's parameters, in its order
  std::vector<std::uint32_t> statistic_places;
  std::vector<Matrix> matrices;  // for each of the layout's parameter tensors
};

/// Whether a convolution of an image of this shape is made by tiles: where that is possible, and
/// faster.
bool is_tiled(const Layer& layer, const Shape& image);

/// Whether the engine can run this list of layers.
bool can_chain(const Network& network);
Chain make_chain(const Network& network);

}  // namespace sotto::native
