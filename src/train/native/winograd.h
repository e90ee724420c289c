// Convolutions of 3 by 3 by Winograd's minimal filtering: 16 multiplications where the sum has 36.
//
// A tile of 2 by 2 outputs y reads 4 by 4 inputs d. With the filter g,
//   y = A^T [(G g G^T) * (B^T d B)] A,   * element by element,
// and the sum over channels makes of each of the 16 elements a product of matrices, tiles by
// channels times channels by channels, for the kernels of kernels.h. The gradient of G g G^T is
// then the sum over tiles of (B^T d B) * (A y' A^T), y' the gradient of y. (Lavin and Gray, Fast
// algorithms for convolutional neural networks, 2016: F(2x2, 3x3).)
//
// Each element is summed in a fixed order here too, one image at a time: it depends neither on the
// number of lanes nor on other samples. It rounds otherwise than a plain sum.
#pragma once

#include <cstddef>

#include "train/native/kernels.h"

namespace sotto::native {

/// Elements of a transformed tile or filter.
inline constexpr std::size_t kElements = 16;

/// Distance from one of the 16 matrices to the next. Not a power of two: those would compete for
/// the same few lines of the nearest cache.
constexpr std::size_t matrix_distance(std::size_t rows, std::size_t columns) {
  return rows * columns + kGroup;
}
/// Floats that transformed filters take.
constexpr std::size_t filters_size(std::size_t depth, std::size_t columns) {
  return kElements * matrix_distance(depth, columns);
}

/// Transforms filters: 9 matrices of depth by columns, 3 by 3, as convolutions hold them.
void transform_filters(const float* filters, std::size_t depth, std::size_t columns, float* out);
/// The filters' gradient from that of the transformed ones, added to what is there or instead of
/// it.
void restore_filters(const float* gradients, std::size_t depth, std::size_t columns, float* out,
                     bool add);

/// A convolution of an image of two lines and two pixels a line more than come out.
struct TiledConvolution {
  std::size_t height, width;     // of what comes out, both even
  const float* x;                // with its frame, if any
  std::size_t x_stride, x_line;  // distance from one pixel (a multiple of kGroup), line to the next
  std::size_t depth;             // channels in use
  const float* filters;          // transformed
  const float* bias;             // null: 0
  float* out;                    // without its frame
  std::size_t columns, out_line;  // from one pixel (a multiple of kGroup), line to the next
  bool relu;                      // negative results become 0
  float* workspace;               // workspace_size(x_stride, columns) floats
};
void convolve_tiles(const TiledConvolution& convolution);

/// The gradient of its transformed filters from one image, added to what is there or instead of it.
struct TiledOuter {
  std::size_t height, width;
  const float* x;  // with its frame, if any
  std::size_t x_stride, x_line, depth;
  const float* g;  // the output's gradient, without a frame
  std::size_t columns, g_line;
  float* out;
  bool add;
  float* workspace;
};
void winograd_filter_grad(const TiledOuter& product);

/// Tiles that are transformed and multiplied before the next ones are: as many as stay near.
inline constexpr std::size_t kTilesTogether = 48;
constexpr std::size_t workspace_size(std::size_t x_stride, std::size_t columns) {
  return kElements *
         (matrix_distance(kTilesTogether, x_stride) + matrix_distance(kTilesTogether, columns));
}

}  // namespace sotto::native
