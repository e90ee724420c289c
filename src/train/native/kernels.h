// The arithmetic of the native engine: two products of matrices in registers, and what goes over
// activations once.
//
// Activations lie channels last and, where a convolution reads them, inside a frame of zeros. A
// row of a convolution's matrix is then a few contiguous pieces of memory, one for each row of the
// filter, so that no copy of the image is ever made. Every element of a product is one chain of
// fused multiply-adds in a fixed order: it depends neither on how the work is cut into tiles nor on
// which other samples are in the batch, to the last bit.
#pragma once

#include <cstddef>

namespace sotto::native {

/// Channels and features are stored in groups of so many, the last filled up with zeros.
inline constexpr std::size_t kGroup = 16;
constexpr std::size_t grouped(std::size_t count) { return (count + kGroup - 1) / kGroup * kGroup; }

/// Where the elements of a row lie: `pieces` runs of `length` elements.
struct Pieces {
  const std::size_t* offsets;
  std::size_t pieces;
  std::size_t length;
};

/// out[row][c] = bias[c] + sum over k of a[row][k] b[k][c], for lines of rows.
struct Product {
  Pieces k;
  const float* a;
  std::size_t a_row, a_line;   // distance from one row, one line to the next
  const float* b;              // k by columns, kGroup of them at a time
  std::size_t b_row, b_group;  // distance from one k, one group of columns to the next
  const float* bias;           // null: 0
  float* out;
  std::size_t out_row, out_line;
  std::size_t lines, rows, columns;  // columns: a multiple of kGroup
  bool relu;                         // negative results become 0
};
void multiply(const Product& product);

/// A step of stochastic gradient descent, PyTorch's formula.
struct Sgd {
  float rate, momentum, decay;
};

/// out[k][c] = sum over rows of a[row][k] g[row][c], added to what is there or instead of it. With
/// a step, the sum goes nowhere: it moves the weights that it is the gradient of.
struct Outer {
  Pieces k;
  const float* a;
  std::size_t a_row, a_line;
  const float* g;
  std::size_t g_row, g_line;
  float* out;
  std::size_t out_row, out_group;  // distance from one k, one group of columns to the next
  std::size_t lines, rows, columns;
  bool add;
  const Sgd* step = nullptr;
  float* weights = nullptr;   // where `out` would be
  float* velocity = nullptr;  // null: no momentum
};
void outer(const Outer& product);

/// Lines of values, each `count` (a multiple of kGroup) long; distances between lines.
struct Lines {
  std::size_t lines, count;
};

/// g = y > 0 ? g : 0.
void mask(const float* y, std::size_t y_line, float* g, std::size_t g_line, Lines lines);
/// out = max(x, 0).
void rectify(const float* x, std::size_t x_line, float* out, std::size_t out_line, Lines lines);
/// out = x * factor, element by element.
void scale(const float* x, std::size_t x_line, const float* factor, std::size_t factor_line,
           float* out, std::size_t out_line, Lines lines);

/// Windows of size by size pixels that do not overlap.
struct Pooling {
  std::size_t size, height, width, channels;  // of the output
  std::size_t x_line, y_line;                 // distances between lines
};
void pool(const Pooling& shape, const float* x, float* y);
/// The gradient goes to the first of the largest; with `positive` only where that is above 0, as a
/// ReLU before the pool would have it.
void pool_back(const Pooling& shape, const float* x, const float* y, const float* gy,
               std::size_t gy_line, float* gx, std::size_t gx_line, bool positive);

/// For `pixels` of `channels`, one after the other: sums[c] += sum of x and so on.
void add_up(const float* x, std::size_t pixels, std::size_t channels, float* sums);
void add_squares(const float* x, const float* mean, std::size_t pixels, std::size_t channels,
                 float* sums);
/// sums[c] += sum of x - origin; squares[c] += sum of (x - origin)^2.
void add_moments(const float* x, const float* origin, std::size_t pixels, std::size_t channels,
                 float* sums, float* squares);
/// shift_sums[c] += sum of g; scale_sums[c] += sum of g (x - mean) factor.
void add_norm_gradients(const float* g, const float* x, const float* mean, const float* factor,
                        std::size_t pixels, std::size_t channels, float* scale_sums,
                        float* shift_sums);
/// out = a[c] x + b[c] y + d[c], y may be null; relu: negative results become 0.
void combine(const float* a, const float* x, const float* b, const float* y, const float* d,
             std::size_t pixels, std::size_t channels, bool relu, float* out);

/// In doubles, which hold each square exactly; `count` is a multiple of kGroup. Of the sum's last
/// bits, count / 16 + 16 units may be wrong.
double sum_of_squares(const float* x, std::size_t count);

void transpose(const float* from, std::size_t from_row, std::size_t rows, std::size_t columns,
               float* to, std::size_t to_row);

/// Steps of the optimizers over `count` weights (a multiple of kGroup), PyTorch's formulas.
void sgd(const Sgd& step, float* weights, const float* gradients, float* velocity,
         std::size_t count);
struct Moments {
  float beta1, rest1;       // of the first moment, where there is one, and 1 - beta1
  float beta2, rest2;       // of the second
  float step, correction2;  // the rate over the first correction; the second
  float stability, decay;
};
void adaptive(const Moments& moments, float* weights, const float* gradients, float* first,
              float* second, std::size_t count);

}  // namespace sotto::native
