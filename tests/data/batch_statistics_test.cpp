// The distribution of the augmentations. Fixed seeds, so a pass stays a pass; false-alarm rates are
// those over seeds.
#include <gtest/gtest.h>

#include <cmath>

#include "data/toy_data.h"

namespace sotto {
namespace {

TEST(AugmentationStatistics, HalfOfTheSamplesAreFlipped) {
  const Dataset data = toy_images({1, 1, 2}, 1);
  constexpr int kTrials = 40'000;
  const std::vector<std::uint32_t> indices(kTrials, 0);
  std::vector<float> x(2 * kTrials);
  std::vector<std::int64_t> y(kTrials);
  BitSource bits = BitSource::from_seed(7, "test");
  fill_batch(data, indices, {.flip = true}, &bits, x, y);
  int flipped = 0;
  for (std::size_t i = 0; i < kTrials; ++i) flipped += x[2 * i] > x[2 * i + 1] ? 1 : 0;
  // Deviation of the count: 100. Six of them: false alarm 2e-9; finds a rate off by 3 %.
  EXPECT_NEAR(flipped, kTrials / 2, 600);
}

TEST(AugmentationStatistics, AnglesAreUniform) {
  // One bright pixel right of the centre: where its light went tells the angle.
  Dataset data = toy_images({1, 41, 41}, 1);
  auto& pixels = std::get<0>(data.values);
  std::fill(pixels.begin(), pixels.end(), std::uint8_t{0});
  pixels[20 * 41 + 38] = 255;
  constexpr int kTrials = 4'000;
  constexpr double kLargest = 30.0;
  BitSource bits = BitSource::from_seed(8, "test");
  std::vector<float> x(41 * 41);
  std::vector<std::int64_t> y(1);
  double sum = 0.0;
  double squares = 0.0;
  const std::uint32_t index = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    fill_batch(data, {&index, 1}, {.rotation_degrees = kLargest}, &bits, x, y);
    double light = 0.0;
    double at_x = 0.0;
    double at_y = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      light += x[i];
      at_x += x[i] * (static_cast<double>(i % 41) - 20.0);
      at_y += x[i] * (static_cast<double>(i / 41) - 20.0);
    }
    ASSERT_GT(light, 0.5);
    const double share = std::atan2(at_y, at_x) * 180.0 / 3.14159265358979 / kLargest;
    ASSERT_LE(std::abs(share), 1.02);
    sum += share;
    squares += share * share;
  }
  // Uniform on [-1, 1]: mean 0 with deviation 0.00913, mean square 1/3 with deviation 0.00471.
  // Six deviations each: false alarm 4e-9.
  EXPECT_NEAR(sum / kTrials, 0.0, 0.055);
  EXPECT_NEAR(squares / kTrials, 1.0 / 3.0, 0.0283);
}

}  // namespace
}  // namespace sotto
