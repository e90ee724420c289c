// Convolutions by tiles against the direct kernels, and which convolutions go that way.
#include "train/native/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "sotto/bits.h"
#include "sotto/native.h"
#include "train/native/shapes.h"

namespace sotto::native {
namespace {

struct Case {
  std::size_t height, width, in, out;
};
// One tile, one block, many of them, rows wider than a block, channels that fill no group.
constexpr Case kCases[] = {{2, 2, 16, 16},  {4, 6, 16, 32},   {14, 14, 16, 32}, {32, 32, 32, 48},
                           {6, 110, 1, 16}, {2, 200, 16, 16}, {26, 10, 20, 7},  {8, 8, 70, 33}};

void fill(const Floats& floats, BitSource& bits) {
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(bits.normal());
}

/// An image in its frame of zeros.
Floats image_of(const Shape& shape, BitSource& bits) {
  Floats image(shape.image());
  for (std::size_t h = 0; h < shape.height; ++h) {
    for (std::size_t w = 0; w < shape.width; ++w) {
      float* const pixel = image.data() + shape.origin() + h * shape.line() + w * shape.stride;
      for (std::size_t c = 0; c < shape.channels; ++c) pixel[c] = static_cast<float>(bits.normal());
    }
  }
  return image;
}

/// All of a convolution of random numbers.
struct Convolution {
  explicit Convolution(const Case& size, BitSource& bits)
      : in{size.height, size.width, size.in, grouped(size.in), 1},
        out{size.height, size.width, size.out, grouped(size.out), 1},
        x(image_of(in, bits)),
        filters(9 * in.channels * out.stride),
        bias(out.stride),
        tiled(filters_size(in.channels, out.stride)),
        workspace(workspace_size(in.stride, out.stride)) {
    fill(filters, bits);
    fill(bias, bits);
    fill(workspace, bits);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) offsets.push_back(i * in.line() + j * in.stride);
    }
    transform_filters(filters.data(), in.channels, out.stride, tiled.data());
  }
  Pieces pieces() const { return {offsets.data(), offsets.size(), in.channels}; }

  void directly(bool biased, bool relu, const Floats& y) const {
    multiply({.k = pieces(),
              .a = x.data(),
              .a_row = in.stride,
              .a_line = in.line(),
              .b = filters.data(),
              .b_row = out.stride,
              .b_group = kGroup,
              .bias = biased ? bias.data() : nullptr,
              .out = y.data() + out.origin(),
              .out_row = out.stride,
              .out_line = out.line(),
              .lines = out.height,
              .rows = out.width,
              .columns = out.stride,
              .relu = relu});
  }
  void by_tiles(bool biased, bool relu, const Floats& y) const {
    convolve_tiles({.height = out.height,
                    .width = out.width,
                    .x = x.data(),
                    .x_stride = in.stride,
                    .x_line = in.line(),
                    .depth = in.channels,
                    .filters = tiled.data(),
                    .bias = biased ? bias.data() : nullptr,
                    .out = y.data() + out.origin(),
                    .columns = out.stride,
                    .out_line = out.line(),
                    .relu = relu,
                    .workspace = workspace.data()});
  }

  Shape in, out;
  Floats x, filters, bias, tiled, workspace;
  std::vector<std::size_t> offsets;
};

TEST(Winograd, ConvolvesAsTheDirectKernelDoes) {
  BitSource bits = BitSource::from_seed(1, "tiles");
  for (const Case& size : kCases) {
    const Convolution convolution(size, bits);
    // Sums of 9 products a channel of numbers of size 1.
    const double scale = std::sqrt(9.0 * static_cast<double>(size.in));
    for (const bool biased : {false, true}) {
      for (const bool relu : {false, true}) {
        Floats expected(convolution.out.image());
        fill(expected, bits);
        Floats found(expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) found[i] = expected[i];  // frames too
        convolution.directly(biased, relu, expected);
        convolution.by_tiles(biased, relu, found);
        double worst = 0.0;
        for (std::size_t i = 0; i < found.size(); ++i) {
          worst = std::max(worst, std::abs(double{found[i]} - double{expected[i]}));
        }
        EXPECT_LT(worst, 2e-5 * scale)
            << size.height << 'x' << size.width << ' ' << size.in << "->" << size.out
            << (biased ? " bias" : "") << (relu ? " relu" : "");
      }
    }
  }
}

TEST(Winograd, WeighsFiltersAsTheDirectKernelDoes) {
  BitSource bits = BitSource::from_seed(2, "tiles");
  for (const Case& size : kCases) {
    const Convolution first(size, bits);
    const Convolution second(size, bits);
    const Shape& out = first.out;
    const Floats g = image_of(out, bits);
    for (const bool add : {false, true}) {
      Floats expected(first.filters.size());
      fill(expected, bits);
      Floats found(expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) found[i] = expected[i];
      fill(first.tiled, bits);  // serves for the sums, which start afresh
      bool is_first = true;
      for (const Convolution* const image : {&first, &second}) {
        outer({.k = image->pieces(),
               .a = image->x.data(),
               .a_row = image->in.stride,
               .a_line = image->in.line(),
               .g = g.data() + out.origin(),
               .g_row = out.stride,
               .g_line = out.line(),
               .out = expected.data(),
               .out_row = out.stride,
               .out_group = kGroup,
               .lines = out.height,
               .rows = out.width,
               .columns = out.stride,
               .add = add || !is_first});
        winograd_filter_grad({.height = out.height,
                              .width = out.width,
                              .x = image->x.data(),
                              .x_stride = image->in.stride,
                              .x_line = image->in.line(),
                              .depth = image->in.channels,
                              .g = g.data() + out.origin(),
                              .columns = out.stride,
                              .g_line = out.line(),
                              .out = first.tiled.data(),
                              .add = !is_first,
                              .workspace = image->workspace.data()});
        is_first = false;
      }
      restore_filters(first.tiled.data(), size.in, out.stride, found.data(), add);
      const double scale = std::sqrt(2.0 * static_cast<double>(out.pixels()));
      double worst = 0.0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        worst = std::max(worst, std::abs(double{found[i]} - double{expected[i]}));
      }
      EXPECT_LT(worst, 2e-5 * scale) << size.height << 'x' << size.width << ' ' << size.in << "->"
                                     << size.out << (add ? " added" : "");
    }
  }
}

/// The transforms are additions in one order, whatever the lanes.
TEST(Winograd, GivesTheSameBitsWithAnyNumberOfLanes) {
  const SimdLevel before = simd_level();
  BitSource bits = BitSource::from_seed(3, "tiles");
  const Convolution convolution({10, 12, 24, 40}, bits);
  std::vector<std::vector<float>> found;
  for (const SimdLevel level : {SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (std::ranges::find(simd_levels(), level) == simd_levels().end()) continue;
    set_simd_level(level);
    transform_filters(convolution.filters.data(), 24, convolution.out.stride,
                      convolution.tiled.data());
    const Floats y(convolution.out.image());
    convolution.by_tiles(true, true, y);
    found.emplace_back(y.data(), y.data() + y.size());
  }
  set_simd_level(before);
  for (const auto& values : found) EXPECT_EQ(values, found.front());
}

TEST(Winograd, IsChosenWhereItSaves) {
  const auto tiled = [](std::int64_t kernel, std::int64_t padding, std::size_t height,
                        std::size_t width, std::size_t in, std::size_t stride, std::int64_t out) {
    return is_tiled({.kind = LayerKind::kConv,
                     .in = static_cast<std::int64_t>(in),
                     .out = out,
                     .kernel = kernel,
                     .padding = padding},
                    {height, width, in, stride, 0});
  };
  EXPECT_TRUE(tiled(3, 1, 8, 8, 16, 16, 16));
  EXPECT_TRUE(tiled(3, 1, 4, 40, 20, 32, 17));
  EXPECT_TRUE(tiled(3, 0, 8, 8, 16, 16, 16));
  EXPECT_TRUE(tiled(3, 2, 8, 8, 16, 16, 16));
  EXPECT_FALSE(tiled(5, 1, 8, 8, 16, 16, 16));
  EXPECT_FALSE(tiled(3, 1, 9, 8, 16, 16, 16));
  EXPECT_FALSE(tiled(3, 1, 8, 9, 16, 16, 16));
  EXPECT_FALSE(tiled(3, 1, 4, 4, 16, 16, 16));
  EXPECT_FALSE(tiled(3, 1, 8, 8, 3, 3, 16));
  EXPECT_FALSE(tiled(3, 1, 8, 8, 15, 16, 16));
  EXPECT_FALSE(tiled(3, 1, 8, 8, 17, 17, 16));
  EXPECT_FALSE(tiled(3, 1, 8, 8, 16, 16, 15));
}

/// Multiplications by tiles are 16 where direct ones are 36; those of other layers are all counted.
TEST(Winograd, TheFloorCountsWhatIsMultiplied) {
  const Network network = *find_network("srr-cifar", {3, 32, 32}, 10);
  const double direct = 1024.0 * 3 * 32 * 9;
  const double tiled = (1024.0 * 32 * 32 + 256.0 * 32 * 64 + 256.0 * 64 * 64) * 4;
  const double linear = 4096.0 * 512 + 512.0 * 10;
  EXPECT_DOUBLE_EQ(training_flops(network), 2.0 * (2.0 * direct + 3.0 * (tiled + linear)));
}

}  // namespace
}  // namespace sotto::native
