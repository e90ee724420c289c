// Gabor features against the definition, term by term in doubles; what holds for every sample; and
// that threads change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "data/feature_map.h"
#include "feature_parts.h"

namespace sotto {
namespace {

constexpr double kPi = std::numbers::pi;

/// |I * psi| at one pixel: the double sum over the filter's support.
double magnitude(const std::vector<float>& image, SampleShape shape, std::size_t channel, int y,
                 int x, double sigma, double xi, double angle) {
  const int radius = static_cast<int>(std::ceil(3.0 * sigma));
  const auto g = [&](int u, int v) { return std::exp(-(u * u + v * v) / (2.0 * sigma * sigma)); };
  const auto wave = [&](int u, int v) {
    return std::polar(1.0, xi * (u * std::cos(angle) + v * std::sin(angle)));
  };
  double whole = 0.0;
  std::complex<double> constant = 0.0;
  for (int v = -radius; v <= radius; ++v) {
    for (int u = -radius; u <= radius; ++u) {
      whole += g(u, v);
      constant += g(u, v) * wave(u, v);
    }
  }
  std::complex<double> sum = 0.0;
  for (int v = -radius; v <= radius; ++v) {
    for (int u = -radius; u <= radius; ++u) {
      const int row = y + v, column = x + u;
      if (row < 0 || row >= static_cast<int>(shape.height)) continue;
      if (column < 0 || column >= static_cast<int>(shape.width)) continue;
      const std::size_t at =
          (channel * shape.height + static_cast<std::size_t>(row)) * shape.width +
          static_cast<std::size_t>(column);
      sum += double{image[at]} * g(u, v) / whole * (wave(u, v) - constant / whole);
    }
  }
  return std::abs(sum);
}

/// All features of an image, by the definition in gabor.cpp.
std::vector<double> reference(const std::vector<float>& image, SampleShape shape) {
  constexpr double kSigma[] = {1.7, 3.4}, kXi[] = {kPi / 2.0, kPi / 4.0};
  const std::size_t rows = (shape.height + 3) / 4, columns = (shape.width + 3) / 4;
  std::vector<double> all;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    std::vector<double> maps(17 * rows * columns, 0.0);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        double count = 0.0;
        for (std::size_t y = 4 * row; y < std::min<std::size_t>(4 * row + 4, shape.height); ++y) {
          for (std::size_t x = 4 * column; x < std::min<std::size_t>(4 * column + 4, shape.width);
               ++x) {
            count += 1.0;
            const std::size_t cell = row * columns + column;
            maps[cell] += double{image[(c * shape.height + y) * shape.width + x]};
            for (std::size_t k = 0; k < 16; ++k) {
              maps[(1 + k) * rows * columns + cell] +=
                  magnitude(image, shape, c, static_cast<int>(y), static_cast<int>(x),
                            kSigma[k / 8], kXi[k / 8], kPi * static_cast<double>(k % 8) / 8.0);
            }
          }
        }
        double square = 0.02 * 0.02;
        for (std::size_t k = 0; k < 17; ++k) {
          double& value = maps[k * rows * columns + row * columns + column];
          value /= count;
          if (k > 0) square += value * value;
        }
        const auto at = [&](std::size_t k) -> double& {
          return maps[k * rows * columns + row * columns + column];
        };
        at(0) *= 0.5;
        for (std::size_t scale = 0; scale < 2; ++scale) {
          double mean = 0.0;
          for (std::size_t k = 0; k < 8; ++k) mean += at(1 + 8 * scale + k) / 8.0;
          for (std::size_t k = 0; k < 8; ++k) {
            at(1 + 8 * scale + k) = (at(1 + 8 * scale + k) - 0.7 * mean) / std::sqrt(square);
          }
        }
      }
    }
    all.insert(all.end(), maps.begin(), maps.end());
  }
  return standardised(std::move(all));
}

TEST(Gabor, IsWhatItsDefinitionSays) {
  for (const SampleShape shape :
       {SampleShape{1, 28, 28}, SampleShape{3, 32, 32}, SampleShape{1, 9, 6}}) {
    const auto map = make_gabor_features(shape);
    const auto image = noise_image(shape, shape.height);
    std::vector<float> features(map->shape().size());
    map->compute(image, features);
    const auto expected = reference(image, shape);
    ASSERT_EQ(expected.size(), features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
      ASSERT_NEAR(features[i], expected[i], 2e-5) << i;
    }
  }
}

TEST(Gabor, TellsAnglesApart) {
  const SampleShape shape{1, 28, 28};
  const auto map = make_gabor_features(shape);
  EXPECT_EQ(map->shape(), (SampleShape{17, 7, 7}));
  for (std::size_t k = 0; k < 8; ++k) {
    const double angle = kPi * static_cast<double>(k) / 8.0;
    std::vector<float> stripes(shape.size());
    for (std::size_t i = 0; i < stripes.size(); ++i) {
      const auto x = static_cast<double>(i % 28), y = static_cast<double>(i / 28);
      const double phase = kPi / 2.0 * (x * std::cos(angle) + y * std::sin(angle));
      stripes[i] = static_cast<float>(0.5 + 0.5 * std::sin(phase));
    }
    std::vector<float> features(map->shape().size());
    map->compute(stripes, features);
    std::size_t best = 0;
    const auto middle = [&](std::size_t filter) { return features[(1 + filter) * 49 + 24]; };
    for (std::size_t other = 0; other < 8; ++other) {
      if (middle(other) > middle(best)) best = other;
    }
    EXPECT_EQ(best, k);
  }
}

TEST(Gabor, ABlackImageHasNoFeatures) {
  const auto map = make_gabor_features({1, 28, 28});
  std::vector<float> features(map->shape().size(), 5.0F);
  map->compute(std::vector<float>(784, 0.0F), features);
  for (const float value : features) EXPECT_EQ(value, 0.0F);
}

TEST(Features, ReplaceTheSamplesOnAnyNumberOfThreads) {
  DataSplit few = make_embedded(0);
  for (Dataset* part : {&few.train, &few.test}) {
    part->labels.resize(200);
    std::get<0>(part->values).resize(200 * 784);
  }
  for (const FeatureInfo& info : feature_maps()) {
    DataSplit one = few, three = few;
    ASSERT_TRUE(apply_features(info.name, one, 1));
    ASSERT_TRUE(apply_features(info.name, three, 3));
    EXPECT_EQ(one.train.shape, *feature_shape(info.name, {1, 28, 28}));
    EXPECT_EQ(one.train.values, three.train.values) << info.name;
    EXPECT_EQ(one.test.values, three.test.values) << info.name;
    if (info.name == "none") {
      EXPECT_EQ(one.train.values, few.train.values);
      continue;
    }
    const auto& values = std::get<1>(one.train.values);
    EXPECT_EQ(values.size(), 200 * one.train.shape.size());
    EXPECT_EQ(values.capacity(), values.size());
  }
  const auto unknown = apply_features("gabr", few);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("gabor"), std::string::npos);
}

/// Four samples of 8x8 bytes.
DataSplit small_images() {
  DataSplit split;
  split.train.shape = {1, 8, 8};
  split.train.classes = 2;
  std::vector<std::uint8_t> pixels(4 * 64);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(7 * i);
  split.train.values = std::move(pixels);
  split.train.labels = {0, 1, 1, 0};
  return split;
}

TEST(Features, ViewsAreRowsBehindTheirSample) {
  const ImageView mirrored{.flip = true};
  const ImageView moved{.right = 2, .down = -1};
  const std::vector<ImageView> views = {mirrored, moved, ImageView{.degrees = 90.0}};
  DataSplit split = small_images();
  const auto before = std::get<0>(split.train.values);
  ASSERT_TRUE(apply_features("none", split, 2, views));
  const auto& after = std::get<0>(split.train.values);
  ASSERT_EQ(split.train.views, 4U);
  ASSERT_EQ(split.train.size(), 4U);
  ASSERT_EQ(after.size(), 4 * before.size());
  const auto pixel = [](const auto& values, std::size_t row, int y, int x) -> int {
    const bool inside = x >= 0 && x < 8 && y >= 0 && y < 8;
    return inside ? values[row * 64 + static_cast<std::size_t>(8 * y + x)] : 0;
  };
  for (std::size_t sample = 0; sample < 4; ++sample) {
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        const std::size_t row = 4 * sample;
        EXPECT_EQ(pixel(after, row, y, x), pixel(before, sample, y, x));
        EXPECT_EQ(pixel(after, row + 1, y, x), pixel(before, sample, y, 7 - x));
        EXPECT_EQ(pixel(after, row + 2, y, x), pixel(before, sample, y + 1, x - 2));
        EXPECT_NEAR(pixel(after, row + 3, y, x), pixel(before, sample, 7 - x, y), 1);
      }
    }
  }
  // A batch takes rows, and each has its sample's label.
  const std::vector<std::uint32_t> rows = {3, 4, 7, 11, 12};
  std::vector<float> x(rows.size() * 64);
  std::vector<std::int64_t> y(rows.size());
  fill_batch(split.train, rows, {}, nullptr, x, y);
  EXPECT_EQ(y, (std::vector<std::int64_t>{0, 1, 1, 1, 0}));
  EXPECT_FLOAT_EQ(x[64], static_cast<float>(before[64]) / 255.0F);
  // A chosen sample keeps its views.
  const std::vector<std::uint32_t> last = {3};
  const Dataset chosen = select(split.train, last);
  EXPECT_EQ(chosen.views, 4U);
  EXPECT_TRUE(std::ranges::equal(std::get<0>(chosen.values), std::span(after).last(256)));
}

TEST(Features, ViewsPassTheMapLikeTheirSample) {
  const ImageView moved{.right = 1};
  DataSplit both = small_images();
  ASSERT_TRUE(apply_features("gabor", both, 3, std::span(&moved, 1)));
  DataSplit plain = small_images();
  const auto pixels = std::get<0>(plain.train.values);
  ASSERT_TRUE(apply_features("gabor", plain));
  DataSplit shifted = small_images();
  auto& to = std::get<0>(shifted.train.values);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = i % 8 == 0 ? std::uint8_t{0} : pixels[i - 1];
  ASSERT_TRUE(apply_features("gabor", shifted));
  const std::size_t size = both.train.shape.size();
  for (std::size_t sample = 0; sample < 4; ++sample) {
    const auto row = [&](const DataSplit& split, std::size_t r) {
      return std::span(std::get<1>(split.train.values)).subspan(r * size, size);
    };
    EXPECT_TRUE(std::ranges::equal(row(both, 2 * sample), row(plain, sample)));
    EXPECT_TRUE(std::ranges::equal(row(both, 2 * sample + 1), row(shifted, sample)));
  }
}

TEST(Features, ViewsAreForImages) {
  DataSplit table = small_images();
  table.train.shape = {1, 1, 64};
  const ImageView moved{.right = 1};
  const auto refused = apply_features("none", table, 1, std::span(&moved, 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("1x64 are no images"), std::string::npos);
  EXPECT_EQ(table.train.views, 1U);
}

TEST(View, TextIsReadBackInOneSpelling) {
  const std::pair<const char*, ImageView> texts[] = {
      {"flip", {.flip = true}},
      {"shift(1,-2)", {.right = 1, .down = -2}},
      {"rotate(-8)", {.degrees = -8.0}},
      {"rotate(2.5)+flip+shift(0,3)", {.down = 3, .flip = true, .degrees = 2.5}},
  };
  for (const auto& [text, view] : texts) {
    const auto read = parse_view(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, view);
    EXPECT_EQ(*parse_view(view_text(view)), view);
  }
  EXPECT_EQ(view_text(texts[3].second), "flip+shift(0,3)+rotate(2.5)");
  for (const char* const bad :
       {"", "flip+", "flip+flip", "shift(0,0)", "shift(1)", "shift(1,2", "shift(1, 2)", "rotate(0)",
        "rotate(181)", "rotate(nan)", "rotate(inf)", "shift(1025,0)", "shift(1,0)+shift(0,1)",
        "turn(3)", "shift(99999999999,0)"}) {
    EXPECT_FALSE(parse_view(bad)) << bad;
  }
}

TEST(Features, WhatNoMemoryHoldsIsAnError) {
  DataSplit data;
  data.name = "large";
  data.train.shape = {1024, 64, 64};  // 21 million features a sample
  data.train.labels.resize(1'000'000);
  const auto done = apply_features("scattering", data);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kUsage);
  EXPECT_NE(done.error().message.find("21233664 features of each of 1000000 samples"),
            std::string::npos)
      << done.error().message;
  EXPECT_FALSE(feature_shape("scattering", {1U << 31U, 1U << 20U, 1}));
  EXPECT_FALSE(feature_shape("gabor", {1, 0, 28}));
}

}  // namespace
}  // namespace sotto
