// Transforms of tiles and filters, and the products between them: see winograd.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "native/winograd.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_WINOGRAD_SHARED
#define SOTTO_WINOGRAD_SHARED
#include <algorithm>

#include "native/simd_choice.h"
#include "native/winograd.h"

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
using native::kElements;
using native::Tiles;

using D = hn::CappedTag<float, native::kGroup>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

/// Four vectors, a line or a column of a tile.
struct Four {
  V a, b, c, d;
};

/// B^T times a column of the input.
HWY_INLINE Four of_input(V a, V b, V c, V d) {
  return {hn::Sub(a, c), hn::Add(b, c), hn::Sub(c, b), hn::Sub(b, d)};
}

/// A times a column of the output's gradient.
HWY_INLINE Four of_gradient(V a, V b) { return {a, hn::Add(a, b), hn::Sub(a, b), hn::Neg(b)}; }

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

/// Calls visit(place in the image, place in each of the matrices, channel) for all vectors of all
/// tiles.
template <class Visit>
HWY_INLINE void each_tile(const Tiles& tiles, const Visit& visit) {
  std::size_t at = 0;
  for (std::size_t row = 0; row < tiles.rows; ++row) {
    for (std::size_t column = 0; column < tiles.columns; ++column) {
      const std::size_t pixel = 2 * (row * tiles.line + column * tiles.channels);
      for (std::size_t c = 0; c < tiles.channels; c += kLanes) visit(pixel + c, at + c, c);
      at += tiles.channels;
    }
  }
}

void transform_input_all(const Tiles& tiles, const float* x, float* out) {
  each_tile(tiles, [&](std::size_t pixel, std::size_t at, std::size_t /*channel*/) HWY_ATTR {
    const D d;
    Four columns[4];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const float* const from = x + pixel + j * tiles.channels;
      columns[j] =
          of_input(hn::LoadU(d, from), hn::LoadU(d, from + tiles.line),
                   hn::LoadU(d, from + 2 * tiles.line), hn::LoadU(d, from + 3 * tiles.line));
    }
    const auto line = [&](V a, V b, V c, V e, std::size_t i) HWY_ATTR {
      store(of_input(a, b, c, e), out + at + 4 * i * tiles.matrix, tiles.matrix);
    };
    line(columns[0].a, columns[1].a, columns[2].a, columns[3].a, 0);
    line(columns[0].b, columns[1].b, columns[2].b, columns[3].b, 1);
    line(columns[0].c, columns[1].c, columns[2].c, columns[3].c, 2);
    line(columns[0].d, columns[1].d, columns[2].d, columns[3].d, 3);
  });
}

void transform_gradient_all(const Tiles& tiles, const float* g, float* out) {
  each_tile(tiles, [&](std::size_t pixel, std::size_t at, std::size_t /*channel*/) HWY_ATTR {
    const D d;
    const float* const from = g + pixel;
    const float* const below = from + tiles.line;
    const Four left = of_gradient(hn::LoadU(d, from), hn::LoadU(d, below));
    const Four right =
        of_gradient(hn::LoadU(d, from + tiles.channels), hn::LoadU(d, below + tiles.channels));
    const auto line = [&](V a, V b, std::size_t i) HWY_ATTR {
      store(of_gradient(a, b), out + at + 4 * i * tiles.matrix, tiles.matrix);
    };
    line(left.a, right.a, 0);
    line(left.b, right.b, 1);
    line(left.c, right.c, 2);
    line(left.d, right.d, 3);
  });
}

/// A^T m A, the bias and what the ReLU leaves.
void restore_output_all(const Tiles& tiles, const float* m, const float* bias, bool relu,
                        float* out) {
  each_tile(tiles, [&](std::size_t pixel, std::size_t at, std::size_t channel) HWY_ATTR {
    const D d;
    V upper[4];
    V lower[4];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const float* const from = m + at + j * tiles.matrix;
      const V b = hn::LoadU(d, from + 4 * tiles.matrix);
      const V c = hn::LoadU(d, from + 8 * tiles.matrix);
      upper[j] = hn::Add(hn::Add(hn::LoadU(d, from), b), c);
      lower[j] = hn::Sub(hn::Sub(b, c), hn::LoadU(d, from + 12 * tiles.matrix));
    }
    const V offset = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + channel);
    const auto pair = [&](const V* line, float* to) HWY_ATTR {
      V left = hn::Add(hn::Add(hn::Add(line[0], line[1]), line[2]), offset);
      V right = hn::Add(hn::Sub(hn::Sub(line[1], line[2]), line[3]), offset);
      if (relu) {
        left = hn::Max(left, hn::Zero(d));
        right = hn::Max(right, hn::Zero(d));
      }
      hn::StoreU(left, d, to);
      hn::StoreU(right, d, to + tiles.channels);
    };
    pair(upper, out + pixel);
    pair(lower, out + pixel + tiles.line);
  });
}

/// `count` filters, element by element in matrices of that size.
void transform_filters_all(const float* filters, std::size_t count, std::size_t matrix,
                           float* out) {
  const D d;
  for (std::size_t at = 0; at < count; at += kLanes) {
    const auto column = [&](std::size_t j) HWY_ATTR {
      const float* const from = filters + j * count + at;
      return of_filter(hn::LoadU(d, from), hn::LoadU(d, from + 3 * count),
                       hn::LoadU(d, from + 6 * count));
    };
    const Four left = column(0);
    const Four middle = column(1);
    const Four right = column(2);
    store(of_filter(left.a, middle.a, right.a), out + at, matrix);
    store(of_filter(left.b, middle.b, right.b), out + at + 4 * matrix, matrix);
    store(of_filter(left.c, middle.c, right.c), out + at + 8 * matrix, matrix);
    store(of_filter(left.d, middle.d, right.d), out + at + 12 * matrix, matrix);
  }
}

/// G^T u G.
void restore_filters_all(const float* u, std::size_t count, std::size_t matrix, float* out,
                         bool add) {
  const D d;
  const V half = hn::Set(d, 0.5F);
  for (std::size_t at = 0; at < count; at += kLanes) {
    V lines[3][4];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const float* const from = u + at + j * matrix;
      const V b = hn::LoadU(d, from + 4 * matrix);
      const V c = hn::LoadU(d, from + 8 * matrix);
      const V sum = hn::Mul(half, hn::Add(b, c));
      lines[0][j] = hn::Add(hn::LoadU(d, from), sum);
      lines[1][j] = hn::Mul(half, hn::Sub(b, c));
      lines[2][j] = hn::Add(hn::LoadU(d, from + 12 * matrix), sum);
    }
#pragma GCC unroll 3
    for (std::size_t i = 0; i < 3; ++i) {
      const V* const line = lines[i];
      const V sum = hn::Mul(half, hn::Add(line[1], line[2]));
      const V three[3] = {hn::Add(line[0], sum), hn::Mul(half, hn::Sub(line[1], line[2])),
                          hn::Add(line[3], sum)};
      for (std::size_t j = 0; j < 3; ++j) {
        float* const to = out + (3 * i + j) * count + at;
        hn::StoreU(add ? hn::Add(hn::LoadU(d, to), three[j]) : three[j], d, to);
      }
    }
  }
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto::native {
namespace {

constexpr std::size_t kStart = 0;

/// Calls visit(first row, first column, rows, columns) for blocks of tiles: whole rows of them, or
/// parts of a row where the image is wide.
template <class Visit>
void each_block(std::size_t height, std::size_t width, const Visit& visit) {
  const std::size_t rows = height / 2;
  const std::size_t columns = width / 2;
  const std::size_t most_columns = std::min(columns, kTilesTogether);
  const std::size_t most_rows = std::max<std::size_t>(1, kTilesTogether / columns);
  for (std::size_t row = 0; row < rows; row += most_rows) {
    for (std::size_t column = 0; column < columns; column += most_columns) {
      visit(row, column, std::min(most_rows, rows - row), std::min(most_columns, columns - column));
    }
  }
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
  const std::size_t inputs = matrix_distance(kTilesTogether, p.x_stride);
  const std::size_t outputs = matrix_distance(kTilesTogether, p.columns);
  const std::size_t filters = matrix_distance(p.depth, p.columns);
  float* const v = p.room;
  float* const m = p.room + kElements * inputs;
  each_block(p.height, p.width,
             [&](std::size_t row, std::size_t column, std::size_t rows, std::size_t columns) {
               SOTTO_NATIVE_CALL(transform_input_all)
               (Tiles{rows, columns, p.x_stride, p.x_line, inputs},
                p.x + 2 * (row * p.x_line + column * p.x_stride), v);
               for (std::size_t i = 0; i < kElements; ++i) {
                 multiply({.k = {&kStart, 1, p.depth},
                           .a = v + i * inputs,
                           .a_row = p.x_stride,
                           .a_line = 0,
                           .b = p.filters + i * filters,
                           .b_row = p.columns,
                           .b_group = kGroup,
                           .bias = nullptr,
                           .out = m + i * outputs,
                           .out_row = p.columns,
                           .out_line = 0,
                           .lines = 1,
                           .rows = rows * columns,
                           .columns = p.columns,
                           .relu = false});
               }
               SOTTO_NATIVE_CALL(restore_output_all)
               (Tiles{rows, columns, p.columns, p.out_line, outputs}, m, p.bias, p.relu,
                p.out + 2 * (row * p.out_line + column * p.columns));
             });
}

void weigh_tiles(const TiledOuter& p) {
  const std::size_t inputs = matrix_distance(kTilesTogether, p.x_stride);
  const std::size_t outputs = matrix_distance(kTilesTogether, p.columns);
  const std::size_t sums = matrix_distance(p.depth, p.columns);
  float* const v = p.room;
  float* const m = p.room + kElements * inputs;
  bool add = p.add;
  each_block(p.height, p.width,
             [&](std::size_t row, std::size_t column, std::size_t rows, std::size_t columns) {
               SOTTO_NATIVE_CALL(transform_input_all)
               (Tiles{rows, columns, p.x_stride, p.x_line, inputs},
                p.x + 2 * (row * p.x_line + column * p.x_stride), v);
               SOTTO_NATIVE_CALL(transform_gradient_all)
               (Tiles{rows, columns, p.columns, p.g_line, outputs},
                p.g + 2 * (row * p.g_line + column * p.columns), m);
               for (std::size_t i = 0; i < kElements; ++i) {
                 outer({.k = {&kStart, 1, p.depth},
                        .a = v + i * inputs,
                        .a_row = p.x_stride,
                        .a_line = 0,
                        .g = m + i * outputs,
                        .g_row = p.columns,
                        .g_line = 0,
                        .out = p.out + i * sums,
                        .out_row = p.columns,
                        .out_group = kGroup,
                        .lines = 1,
                        .rows = rows * columns,
                        .columns = p.columns,
                        .add = add});
               }
               add = true;
             });
}

}  // namespace sotto::native
#endif
