// Scattering features against the definition, term by term in doubles: every response is a double
// sum over the wavelet's support, outside the image is its mirror image. And what holds for every
// sample: constant images have no edges, small shifts change little, no input makes a number that
// is not finite, and neither instruction sets nor threads change a bit.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "base/simd.h"
#include "data/feature_map.h"
#include "data/wavelets.h"
#include "feature_parts.h"

namespace sotto {
namespace {

constexpr double kPi = std::numbers::pi;

std::vector<float> features_of(const std::vector<float>& image, SampleShape shape,
                               bool pooled = false) {
  const auto map =
      pooled ? make_pooled_scattering_features(shape) : make_scattering_features(shape);
  std::vector<float> features(map->shape().size(), -7.0F);
  map->compute(image, features);
  return features;
}

/// One channel in doubles.
struct Image {
  int height, width;
  std::vector<double> values;

  double at(int y, int x) const {
    const auto inside = [](int i, int size) {
      while (i < 0 || i >= size) i = i < 0 ? -1 - i : 2 * size - 1 - i;
      return i;
    };
    return values[static_cast<std::size_t>(inside(y, height) * width + inside(x, width))];
  }
};

/// |image * psi|, psi of scale j at angle k.
Image filtered(const Image& image, int j, std::size_t k) {
  const double sigma = 0.8 * std::pow(2.0, j), xi = 0.75 * kPi / std::pow(2.0, j);
  const double angle = kPi * static_cast<double>(k) / 8.0;
  const int radius = static_cast<int>(std::ceil(3.0 * sigma));
  struct Term {
    int u, v;
    std::complex<double> weight;
  };
  std::vector<Term> terms;
  double whole = 0.0;
  std::complex<double> constant = 0.0;
  for (int v = -radius; v <= radius; ++v) {
    for (int u = -radius; u <= radius; ++u) {
      const double g = std::exp(-(u * u + v * v) / (2.0 * sigma * sigma));
      const auto wave = std::polar(1.0, xi * (u * std::cos(angle) + v * std::sin(angle)));
      whole += g;
      constant += g * wave;
      terms.push_back({u, v, wave});
    }
  }
  for (Term& term : terms) {
    const double g = std::exp(-(term.u * term.u + term.v * term.v) / (2.0 * sigma * sigma));
    term.weight = g / whole * (term.weight - constant / whole);
  }
  Image magnitudes = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      std::complex<double> sum = 0.0;
      for (const Term& term : terms) sum += term.weight * image.at(y + term.v, x + term.u);
      magnitudes.values[static_cast<std::size_t>(y * image.width + x)] = std::abs(sum);
    }
  }
  return magnitudes;
}

/// Means over cells of `side` values a side.
Image means(const Image& image, int side) {
  Image cells{(image.height + side - 1) / side, (image.width + side - 1) / side, {}};
  for (int row = 0; row < cells.height; ++row) {
    for (int column = 0; column < cells.width; ++column) {
      double sum = 0.0, count = 0.0;
      for (int y = side * row; y < std::min(side * (row + 1), image.height); ++y) {
        for (int x = side * column; x < std::min(side * (column + 1), image.width); ++x) {
          sum += image.at(y, x);
          count += 1.0;
        }
      }
      cells.values.push_back(sum / count);
    }
  }
  return cells;
}

/// All features of an image, by the definition in scattering.cpp.
std::vector<double> reference(const std::vector<float>& image, SampleShape shape, bool pooled) {
  std::vector<double> all;
  const std::size_t pixels = std::size_t{shape.height} * shape.width;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    Image channel{static_cast<int>(shape.height), static_cast<int>(shape.width), {}};
    for (std::size_t i = 0; i < pixels; ++i)
      channel.values.push_back(double{image[c * pixels + i]});
    std::vector<Image> maps = {means(channel, 4)};
    std::vector<Image> first;
    for (std::size_t k = 0; k < 8; ++k) {
      first.push_back(filtered(channel, 0, k));
      maps.push_back(means(first.back(), 4));
    }
    for (std::size_t k = 0; k < 8; ++k) maps.push_back(means(filtered(channel, 1, k), 4));
    for (const Image& one : first) {
      for (std::size_t k = 0; k < 8; ++k) maps.push_back(means(filtered(one, 1, k), 4));
    }
    for (std::size_t cell = 0; cell < maps[0].values.size(); ++cell) {
      double square = 0.02 * 0.02;
      for (std::size_t m = 1; m < 81; ++m) square += std::pow(maps[m].values[cell], 2);
      for (std::size_t m = 1; m < 81; ++m) maps[m].values[cell] /= std::sqrt(square);
      maps[0].values[cell] *= 0.5;
    }
    for (const Image& map : maps) {
      const Image cells = pooled ? means(map, 2) : map;
      all.insert(all.end(), cells.values.begin(), cells.values.end());
    }
  }
  return standardised(std::move(all));
}

TEST(Scattering, IsWhatItsDefinitionSays) {
  for (const SampleShape shape :
       {SampleShape{1, 28, 28}, SampleShape{2, 9, 18}, SampleShape{1, 3, 2}}) {
    const auto image = noise_image(shape, shape.height);
    for (const bool pooled : {false, true}) {
      const auto features = features_of(image, shape, pooled);
      const auto expected = reference(image, shape, pooled);
      ASSERT_EQ(expected.size(), features.size());
      for (std::size_t i = 0; i < features.size(); ++i) {
        ASSERT_NEAR(features[i], expected[i], 1e-5) << i << (pooled ? " pooled" : "");
      }
    }
  }
}

TEST(Scattering, Shapes) {
  const auto shape_of = [](std::string_view name, SampleShape input) {
    return *feature_shape(name, input);
  };
  EXPECT_EQ(shape_of("scattering", {1, 28, 28}), (SampleShape{81, 7, 7}));
  EXPECT_EQ(shape_of("scattering", {1, 28, 28}).size(), 3969U);
  EXPECT_EQ(shape_of("scattering", {3, 32, 32}), (SampleShape{243, 8, 8}));
  EXPECT_EQ(shape_of("scattering-pooled", {1, 28, 28}), (SampleShape{81, 4, 4}));
  EXPECT_EQ(shape_of("scattering-pooled", {3, 32, 32}).size(), 3888U);
  EXPECT_EQ(shape_of("scattering-pooled", {1, 1, 1}), (SampleShape{81, 1, 1}));
}

TEST(Scattering, AConstantImageHasNoEdges) {
  for (const SampleShape shape : {SampleShape{1, 28, 28}, SampleShape{1, 5, 3}}) {
    const WaveletBank bank(1.6, 3.0 * kPi / 8.0);
    WaveletFilter filter(shape.width, shape.height, bank.radius, ImageBorder::kMirror);
    const std::vector<float> image(filter.plane_size(), 0.7F);
    std::vector<float> planes(8 * filter.plane_size(), -1.0F);
    filter.magnitudes(bank, image.data(), planes);
    for (std::size_t k = 0; k < 8; ++k) {
      for (std::size_t y = 0; y < shape.height; ++y) {
        for (std::size_t x = 0; x < shape.width; ++x) {
          const float value = planes[k * filter.plane_size() + y * filter.line() + x];
          ASSERT_GE(value, 0.0F);
          ASSERT_LT(value, 1e-6F);
        }
      }
    }
    // All numbers but the brightness are then the same.
    const auto features = features_of(std::vector<float>(shape.size(), 0.7F), shape);
    const std::size_t cells = features.size() / 81;
    for (std::size_t i = cells; i < features.size(); ++i) {
      ASSERT_NEAR(features[i], features[cells], 1e-3);
      ASSERT_LT(features[i], features[0]);
    }
  }
  for (const float value : features_of(std::vector<float>(784, 0.0F), {1, 28, 28})) {
    EXPECT_EQ(value, 0.0F);
  }
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) square += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(square);
}

/// A blob of sharp edges around the middle, `shift` pixels to the right, of one of two kinds.
std::vector<float> figure(std::size_t shift, bool ring, std::size_t width = 28) {
  std::vector<float> image(28 * width, 0.0F);
  for (std::size_t y = 8; y < 20; ++y) {
    for (std::size_t x = 8; x < 20; ++x) {
      const bool edge = y < 10 || y >= 18 || x < 10 || x >= 18;
      if (ring ? edge : (x + y) % 4 < 2) image[y * width + x + shift] = 1.0F;
    }
  }
  return image;
}

TEST(Scattering, AShiftByOnePixelChangesFarLessThanAnotherFigure) {
  const SampleShape shape{1, 28, 28};
  for (const bool ring : {false, true}) {
    // Of pixels, 0.75 (ring) and 1.04: the shifted figure is about as far away as the other one.
    const double of_pixels =
        distance(figure(0, ring), figure(1, ring)) / distance(figure(0, ring), figure(0, !ring));
    EXPECT_GT(of_pixels, 0.7);
    for (const bool pooled : {false, true}) {
      const auto here = features_of(figure(0, ring), shape, pooled);
      const double shifted = distance(here, features_of(figure(1, ring), shape, pooled));
      const double other = distance(here, features_of(figure(0, !ring), shape, pooled));
      EXPECT_GT(shifted, 0.0);
      EXPECT_LT(shifted / other, 0.55) << ring << pooled;
    }
  }
}

TEST(Scattering, AShiftByACellMovesTheFeaturesByACell) {
  // Wide enough for what the wavelets of both scales reach.
  const auto here = features_of(figure(0, true, 40), {1, 28, 40});
  const auto shifted = features_of(figure(4, true, 40), {1, 28, 40});
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (i % 10 == 9) continue;  // the last of its row
    ASSERT_NEAR(here[i], shifted[i + 1], 1e-6) << i;
  }
}

/// Two images with the same edges, in the mean over each cell, that differ in how these lie.
TEST(Scattering, TheSecondOrderSeesWhatTheFirstForgets) {
  const SampleShape shape{1, 32, 32};
  std::vector<float> even(1024), bunched(1024);
  for (std::size_t i = 0; i < 1024; ++i) {
    const auto x = static_cast<double>(i % 32), y = static_cast<double>(i / 32);
    const double wave = std::sin(0.75 * kPi * x);
    even[i] = static_cast<float>(0.5 + 0.25 * wave);
    bunched[i] = static_cast<float>(0.5 + 0.25 * wave * (1.0 + std::sin(0.375 * kPi * y)));
  }
  const auto features = [&](const std::vector<float>& image, std::size_t map) {
    return double{features_of(image, shape)[map * 64 + 27]};
  };
  // Scale 0 along x, then scale 1 along y.
  constexpr std::size_t kSecond = 1 + 16 + 4;
  EXPECT_GT(features(bunched, kSecond), features(even, kSecond) + 0.05);
}

TEST(Scattering, NoInputMakesWhatIsNotFinite) {
  const SampleShape shape{1, 28, 28};
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::vector<float> kinds[] = {
      {kNan},   {kInfinite}, {-kInfinite}, {3e38F, -3e38F},
      {1e-45F}, {-1e9F},     {0.0F, 1.0F}, {kNan, 1.0F, kInfinite, -kInfinite, 0.0F}};
  for (const auto& values : kinds) {
    std::vector<float> image(784);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = values[i % values.size()];
    for (const bool pooled : {false, true}) {
      double square = 0.0;
      for (const float value : features_of(image, shape, pooled)) {
        ASSERT_TRUE(std::isfinite(value)) << values[0];
        square += std::pow(double{value}, 2);
      }
      EXPECT_LE(square, 64.01);
    }
    const auto gabor = make_gabor_features(shape);
    std::vector<float> features(gabor->shape().size());
    gabor->compute(image, features);
    for (const float value : features) ASSERT_TRUE(std::isfinite(value)) << values[0];
  }
}

TEST(Scattering, InstructionSetsChangeNothing) {
  const SimdLevel before = simd_level();
  for (const SampleShape shape : {SampleShape{1, 28, 28}, SampleShape{3, 7, 37}}) {
    const auto image = noise_image(shape, 5);
    set_simd_level(SimdLevel::kBaseline);
    const auto expected = features_of(image, shape);
    for (const SimdLevel level : simd_levels()) {
      set_simd_level(level);
      EXPECT_EQ(features_of(image, shape), expected) << name_of(level);
    }
  }
  set_simd_level(before);
}

TEST(Scattering, ASampleDoesNotDependOnTheOneBefore) {
  const SampleShape shape{2, 10, 13};
  const auto map = make_scattering_features(shape);
  const auto image = noise_image(shape, 1);
  const auto alone = features_of(image, shape);
  std::vector<float> after(alone.size());
  map->compute(std::vector<float>(shape.size(), std::numeric_limits<float>::infinity()), after);
  map->compute(noise_image(shape, 2), after);
  map->compute(image, after);
  EXPECT_EQ(after, alone);
}

}  // namespace
}  // namespace sotto
