// Transforms of tiles and filters, and the products between them: see winograd.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/native/winograd.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_WINOGRAD_SHARED
#define SOTTO_WINOGRAD_SHARED
#include <algorithm>

#include "train/native/simd_choice.h"
#include "train/native/winograd.h"

namespace sotto::native {

/// A block of tiles, and how the image and the 16 matrices of tiles by channels lie.
struct Tiles {
  std::size_t rows, columns;
  std::size_t channels;  // also the distance between pixels
  std::size_t line;
  std::size_t matrix;
};

}  // namespace sotto::native
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using native::Tiles;

using D = hn::CappedTag<float, native::kGroup>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

/// Four vectors, a line or a column of a tile.
struct Four {
  V a, b, c, d;
};
struct Two {
  V a, b;
};

/// B^T times a column of the input.
HWY_INLINE Four of_input(V a, V b, V c, V d) {
  return {hn::Sub(a, c), hn::Add(b, c), hn::Sub(c, b), hn::Sub(b, d)};
}

/// A times a column of the output's gradient.
HWY_INLINE Four of_gradient(V a, V b) { return {a, hn::Add(a, b), hn::Sub(a, b), hn::Neg(b)}; }

/// A^T times a column of products.
HWY_INLINE Two of_products(V a, V b, V c, V d) {
  return {hn::Add(hn::Add(a, b), c), hn::Sub(hn::Sub(b, c), d)};
}

/// G times a column of a filter.
HWY_INLINE Four of_filter(V a, V b, V c) {
  const V half = hn::Set(D(), 0.5F);
  const V ends = hn::Mul(half, hn::Add(a, c));
  const V middle = hn::Mul(half, b);
  return {a, hn::Add(ends, middle), hn::Sub(ends, middle), c};
}

HWY_INLINE void store(const Four& four, float* to, std::size_t distance) {
  const D d;
  hn::StoreU(four.a, d, to);
  hn::StoreU(four.b, d, to + distance);
  hn::StoreU(four.c, d, to + 2 * distance);
  hn::StoreU(four.d, d, to + 3 * distance);
}

/// Calls visit(tiles, place in the image, place in each of the matrices, channel) for all vectors
/// of all tiles.
template <class Visit>
HWY_INLINE void each_tile(const Tiles& all, const Visit& visit) {
  const Tiles tiles = all;  // which no store can change
  std::size_t at = 0;
  for (std::size_t row = 0; row < tiles.rows; ++row) {
    for (std::size_t column = 0; column < tiles.columns; ++column) {
      const std::size_t pixel = 2 * (row * tiles.line + column * tiles.channels);
      for (std::size_t c = 0; c < tiles.channels; c += kLanes) visit(tiles, pixel + c, at + c, c);
      at += tiles.channels;
    }
  }
}

/// B^T x B.
struct TransformInput {
  const float* x;
  float* out;

  HWY_INLINE void operator()(const Tiles& tiles, std::size_t pixel, std::size_t at,
                             std::size_t /*channel*/) const {
    const Four first = column(tiles, pixel);
    const Four second = column(tiles, pixel + tiles.channels);
    const Four third = column(tiles, pixel + 2 * tiles.channels);
    const Four last = column(tiles, pixel + 3 * tiles.channels);
    float* const to = out + at;
    store(of_input(first.a, second.a, third.a, last.a), to, tiles.matrix);
    store(of_input(first.b, second.b, third.b, last.b), to + 4 * tiles.matrix, tiles.matrix);
    store(of_input(first.c, second.c, third.c, last.c), to + 8 * tiles.matrix, tiles.matrix);
    store(of_input(first.d, second.d, third.d, last.d), to + 12 * tiles.matrix, tiles.matrix);
  }

 private:
  HWY_INLINE Four column(const Tiles& tiles, std::size_t pixel) const {
    const D d;
    const float* const from = x + pixel;
    return of_input(hn::LoadU(d, from), hn::LoadU(d, from + tiles.line),
                    hn::LoadU(d, from + 2 * tiles.line), hn::LoadU(d, from + 3 * tiles.line));
  }
};
void transform_input_all(const Tiles& tiles, const float* x, float* out) {
  each_tile(tiles, TransformInput{x, out});
}

/// A g A^T.
struct TransformGradient {
  const float* g;
  float* out;

  HWY_INLINE void operator()(const Tiles& tiles, std::size_t pixel, std::size_t at,
                             std::size_t /*channel*/) const {
    const Four left = column(tiles, pixel);
    const Four right = column(tiles, pixel + tiles.channels);
    float* const to = out + at;
    store(of_gradient(left.a, right.a), to, tiles.matrix);
    store(of_gradient(left.b, right.b), to + 4 * tiles.matrix, tiles.matrix);
    store(of_gradient(left.c, right.c), to + 8 * tiles.matrix, tiles.matrix);
    store(of_gradient(left.d, right.d), to + 12 * tiles.matrix, tiles.matrix);
  }

 private:
  HWY_INLINE Four column(const Tiles& tiles, std::size_t pixel) const {
    const D d;
    return of_gradient(hn::LoadU(d, g + pixel), hn::LoadU(d, g + pixel + tiles.line));
  }
};
void transform_gradient_all(const Tiles& tiles, const float* g, float* out) {
  each_tile(tiles, TransformGradient{g, out});
}

/// A^T m A, the bias and what the ReLU leaves.
struct RestoreOutput {
  const float* m;
  const float* bias;
  bool relu;
  float* out;

  HWY_INLINE void operator()(const Tiles& tiles, std::size_t pixel, std::size_t at,
                             std::size_t channel) const {
    const D d;
    const Two first = column(tiles, at);
    const Two second = column(tiles, at + tiles.matrix);
    const Two third = column(tiles, at + 2 * tiles.matrix);
    const Two last = column(tiles, at + 3 * tiles.matrix);
    const V offset = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + channel);
    put(of_products(first.a, second.a, third.a, last.a), offset, out + pixel, tiles.channels);
    put(of_products(first.b, second.b, third.b, last.b), offset, out + pixel + tiles.line,
        tiles.channels);
  }

 private:
  HWY_INLINE Two column(const Tiles& tiles, std::size_t at) const {
    const D d;
    const float* const from = m + at;
    return of_products(hn::LoadU(d, from), hn::LoadU(d, from + 4 * tiles.matrix),
                       hn::LoadU(d, from + 8 * tiles.matrix),
                       hn::LoadU(d, from + 12 * tiles.matrix));
  }
  HWY_INLINE void put(const Two& two, V offset, float* to, std::size_t distance) const {
    const D d;
    const V left = hn::Add(two.a, offset);
    const V right = hn::Add(two.b, offset);
    hn::StoreU(relu ? hn::Max(left, hn::Zero(d)) : left, d, to);
    hn::StoreU(relu ? hn::Max(right, hn::Zero(d)) : right, d, to + distance);
  }
};
void restore_output_all(const Tiles& tiles, const float* m, const float* bias, bool relu,
                        float* out) {
  each_tile(tiles, RestoreOutput{m, bias, relu, out});
}

/// A column of a filter, transformed; they lie `count` apart.
HWY_INLINE Four filter_column(const float* from, std::size_t count) {
  const D d;
  return of_filter(hn::LoadU(d, from), hn::LoadU(d, from + 3 * count),
                   hn::LoadU(d, from + 6 * count));
}

/// G g G^T for `count` filters, all of the first elements, then all of the second ones.
void transform_filters_all(const float* filters, std::size_t count, std::size_t matrix,
                           float* out) {
  for (std::size_t at = 0; at < count; at += kLanes) {
    const Four left = filter_column(filters + at, count);
    const Four middle = filter_column(filters + at + count, count);
    const Four right = filter_column(filters + at + 2 * count, count);
    store(of_filter(left.a, middle.a, right.a), out + at, matrix);
    store(of_filter(left.b, middle.b, right.b), out + at + 4 * matrix, matrix);
    store(of_filter(left.c, middle.c, right.c), out + at + 8 * matrix, matrix);
    store(of_filter(left.d, middle.d, right.d), out + at + 12 * matrix, matrix);
  }
}

struct Three {
  V a, b, c;
};

/// G^T times a column of the gradient of transformed filters.
HWY_INLINE Three of_sums(V a, V b, V c, V d) {
  const V half = hn::Set(D(), 0.5F);
  const V ends = hn::Mul(half, hn::Add(b, c));
  return {hn::Add(a, ends), hn::Mul(half, hn::Sub(b, c)), hn::Add(d, ends)};
}

HWY_INLINE Three sums_column(const float* from, std::size_t matrix) {
  const D d;
  return of_sums(hn::LoadU(d, from), hn::LoadU(d, from + 4 * matrix),
                 hn::LoadU(d, from + 8 * matrix), hn::LoadU(d, from + 12 * matrix));
}

HWY_INLINE void put(V value, float* to, bool add) {
  const D d;
  hn::StoreU(add ? hn::Add(hn::LoadU(d, to), value) : value, d, to);
}

/// G^T u G.
void restore_filters_all(const float* u, std::size_t count, std::size_t matrix, float* out,
                         bool add) {
  for (std::size_t at = 0; at < count; at += kLanes) {
    const Three first = sums_column(u + at, matrix);
    const Three second = sums_column(u + at + matrix, matrix);
    const Three third = sums_column(u + at + 2 * matrix, matrix);
    const Three last = sums_column(u + at + 3 * matrix, matrix);
    const Three lines[] = {of_sums(first.a, second.a, third.a, last.a),
                           of_sums(first.b, second.b, third.b, last.b),
                           of_sums(first.c, second.c, third.c, last.c)};
    float* to = out + at;
    for (const Three& line : lines) {
      put(line.a, to, add);
      put(line.b, to + count, add);
      put(line.c, to + 2 * count, add);
      to += 3 * count;
    }
  }
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto::native {
namespace {

constexpr std::size_t kStart = 0;

struct Block {
  std::size_t row, column;    // of its first tile
  std::size_t rows, columns;  // how many

  Tiles tiles(std::size_t channels, std::size_t line, std::size_t matrix) const {
    return {rows, columns, channels, line, matrix};
  }
  /// Where its first pixel lies in an image.
  std::size_t pixel(std::size_t channels, std::size_t line) const {
    return 2 * (row * line + column * channels);
  }
};

/// Calls visit for blocks of tiles: whole rows of them, or parts of a row where the image is wide.
template <class Visit>
void each_block(std::size_t height, std::size_t width, const Visit& visit) {
  const std::size_t rows = height / 2;
  const std::size_t columns = width / 2;
  const std::size_t most_columns = std::min(columns, kTilesTogether);
  const std::size_t most_rows = std::max<std::size_t>(1, kTilesTogether / columns);
  for (std::size_t row = 0; row < rows; row += most_rows) {
    for (std::size_t column = 0; column < columns; column += most_columns) {
      visit(Block{row, column, std::min(most_rows, rows - row),
                  std::min(most_columns, columns - column)});
    }
  }
}

/// The matrices of a block in workspace_size() floats: transformed inputs, and what belongs to
/// outputs.
struct Workspace {
  Workspace(float* workspace, std::size_t x_stride, std::size_t columns)
      : input(matrix_distance(kTilesTogether, x_stride)),
        output(matrix_distance(kTilesTogether, columns)),
        inputs(workspace),
        outputs(workspace + kElements * input) {}
  std::size_t input, output;  // from one matrix to the next
  float* inputs;
  float* outputs;
};

/// For a TiledConvolution or a TiledOuter.
template <class Convolution>
void transform_input(const Convolution& p, const Block& block, const Workspace& workspace) {
  SOTTO_NATIVE_CALL(transform_input_all)
  (block.tiles(p.x_stride, p.x_line, workspace.input), p.x + block.pixel(p.x_stride, p.x_line),
   workspace.inputs);
}

}  // namespace

void transform_filters(const float* filters, std::size_t depth, std::size_t columns, float* out) {
  SOTTO_NATIVE_CALL(transform_filters_all)
  (filters, depth * columns, matrix_distance(depth, columns), out);
}

void restore_filters(const float* gradients, std::size_t depth, std::size_t columns, float* out,
                     bool add) {
  SOTTO_NATIVE_CALL(restore_filters_all)
  (gradients, depth * columns, matrix_distance(depth, columns), out, add);
}

void convolve_tiles(const TiledConvolution& p) {
  const Workspace workspace(p.workspace, p.x_stride, p.columns);
  const std::size_t filters = matrix_distance(p.depth, p.columns);
  each_block(p.height, p.width, [&](const Block& block) {
    transform_input(p, block, workspace);
    for (std::size_t i = 0; i < kElements; ++i) {
      multiply({.k = {&kStart, 1, p.depth},
                .a = workspace.inputs + i * workspace.input,
                .a_row = p.x_stride,
                .a_line = 0,
                .b = p.filters + i * filters,
                .b_row = p.columns,
                .b_group = kGroup,
                .bias = nullptr,
                .out = workspace.outputs + i * workspace.output,
                .out_row = p.columns,
                .out_line = 0,
                .lines = 1,
                .rows = block.rows * block.columns,
                .columns = p.columns,
                .relu = false});
    }
    SOTTO_NATIVE_CALL(restore_output_all)
    (block.tiles(p.columns, p.out_line, workspace.output), workspace.outputs, p.bias, p.relu,
     p.out + block.pixel(p.columns, p.out_line));
  });
}

void winograd_filter_grad(const TiledOuter& p) {
  const Workspace workspace(p.workspace, p.x_stride, p.columns);
  const std::size_t sums = matrix_distance(p.depth, p.columns);
  bool add = p.add;
  each_block(p.height, p.width, [&](const Block& block) {
    transform_input(p, block, workspace);
    SOTTO_NATIVE_CALL(transform_gradient_all)
    (block.tiles(p.columns, p.g_line, workspace.output), p.g + block.pixel(p.columns, p.g_line),
     workspace.outputs);
    for (std::size_t i = 0; i < kElements; ++i) {
      outer({.k = {&kStart, 1, p.depth},
             .a = workspace.inputs + i * workspace.input,
             .a_row = p.x_stride,
             .a_line = 0,
             .g = workspace.outputs + i * workspace.output,
             .g_row = p.columns,
             .g_line = 0,
             .out = p.out + i * sums,
             .out_row = p.columns,
             .out_group = kGroup,
             .lines = 1,
             .rows = block.rows * block.columns,
             .columns = p.columns,
             .add = add});
    }
    add = true;
  });
}

}  // namespace sotto::native
#endif
