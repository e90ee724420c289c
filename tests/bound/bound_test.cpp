// bound() is total: whatever comes in, what goes out lies in its tensor's range.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/simd.h"
#include "base/stage_fixture.h"
#include "bound/fill_ball.h"
#include "sotto/bits.h"

namespace sotto {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> bounded(std::vector<float> values, std::vector<Range> ranges) {
  auto layout = std::make_shared<Layout>();
  const std::size_t size = values.size() / ranges.size();
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    layout->add(std::to_string(t), {static_cast<std::int64_t>(size)}, TensorRole::kParameter);
  }
  const Domain domain{layout, std::move(ranges)};
  return bound(Update(layout, std::move(values)), domain).take();
}

TEST(Bound, ClipsEveryTensorToItsOwnRange) {
  EXPECT_EQ(bounded({-9, 0.5F, 9, -9, 0.5F, 9}, {{0.0, 1.0}, {2.0, 0.25}}),
            (std::vector<float>{-1, 0.5F, 1, 1.75F, 1.75F, 2.25F}));
}

TEST(Bound, NotANumberBecomesTheCentre) {
  EXPECT_EQ(bounded({kNan, -kNan, 1, kNan}, {{0.0, 1.0}, {-3.0, 0.5}}),
            (std::vector<float>{0, 0, -2.5F, -3}));
}

TEST(Bound, InfinitiesBecomeTheCentre) {
  EXPECT_EQ(bounded({kInfinity, -kInfinity}, {{1.0, 2.0}}), (std::vector<float>{1, 1}));
}

TEST(Bound, ABallScalesTheWholeVectorDown) {
  const Domain ball{flat_layout(3), {Range{0.0, 1.0}}, Shape::kBall, 2.0};
  const auto in_ball = [&](std::vector<float> values) {
    return bound(Update(ball.layout, std::move(values)), ball).take();
  };
  EXPECT_EQ(in_ball({1, 0, -1.5F}), (std::vector<float>{1, 0, -1.5F}));
  const auto scaled = in_ball({30, 0, -40});
  EXPECT_NEAR(scaled[0], 1.2, 1e-5);
  EXPECT_NEAR(scaled[2], -1.6, 1e-5);
  for (const auto& values : {scaled, in_ball({1e19F, 3e19F, 2e19F}), in_ball({1e38F, 3e38F, 2e38F}),
                             in_ball({2, 1e-3F, 1e-4F})}) {
    double square = 0.0;
    for (const float value : values) square += static_cast<double>(value) * value;
    EXPECT_LE(square, 4.0);
    EXPECT_GT(square, 3.99);
  }
  EXPECT_EQ(in_ball({kNan, 1, kInfinity}), (std::vector<float>{0, 1, 0}));
}

TEST(Bound, NormalizedVectorsFillTheBall) {
  const Domain ball{flat_layout(3), {Range{0.0, 1.0}}, Shape::kBall, 2.0};
  const auto filling = [&](std::vector<float> values) {
    fill_ball(values, 2.0, 0.0);
    std::vector<float> kept = values;
    EXPECT_EQ(bound(Update(ball.layout, std::move(values)), ball).take(), kept);
    return kept;
  };
  const std::vector<std::vector<float>> inputs = {{3, 0, -4},           {3e-3F, 0, -4e-3F},
                                                  {3e-30F, 0, -4e-30F}, {3e-42F, 0, -4e-42F},
                                                  {3e37F, 0, -4e37F},   {3, kNan, -4}};
  for (const auto& values : inputs) {
    const auto scaled = filling(values);
    double square = 0.0;
    for (const float value : scaled) square += static_cast<double>(value) * value;
    EXPECT_LE(square, 4.0);
    EXPECT_GT(square, 4.0 * (1.0 - 4e-6));
    EXPECT_NEAR(scaled[0], 1.2, 1e-3);
    EXPECT_NEAR(scaled[2], -1.6, 1e-3);
  }
  const auto none = filling({0, kInfinity, 0});
  EXPECT_NEAR(none[0], 2.0, 1e-5);
  EXPECT_EQ(none[1], 0.0F);
}

TEST(Bound, EveryInstructionSetFillsTheBallAlike) {
  BitSource bits = BitSource::from_seed(4, "fill");
  for (const std::size_t size : {1U, 15U, 16U, 45U, 200U}) {
    std::vector<float> input(size);
    for (float& value : input) value = static_cast<float>(bits.normal());
    if (size > 20) input[17] = kNan;
    std::vector<float> expected;
    const SimdLevel best = simd_level();
    for (const SimdLevel level : simd_levels()) {
      set_simd_level(level);
      std::vector<float> values = input;
      fill_ball(values, 2.0, 1e-6);
      if (expected.empty()) expected = values;
      EXPECT_EQ(values, expected) << name_of(level) << ", " << size;
    }
    set_simd_level(best);
    double square = 0.0;
    for (const float value : expected) square += static_cast<double>(value) * value;
    EXPECT_NEAR(square, 4.0, 1e-4);
  }
}

TEST(Bound, VectorsBelowTheFloorKeepTheirLength) {
  const auto filled = [](std::vector<float> values, double floor) {
    fill_ball(values, 2.0, floor);
    return values;
  };
  const std::vector<float> rounding = {3e-9F, 0, -4e-9F};
  EXPECT_EQ(filled(rounding, 1e-6), rounding);
  EXPECT_EQ(filled({0, 0, 0}, 1e-6), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(filled({kNan, 1e-9F, kInfinity}, 1e-6), (std::vector<float>{0, 1e-9F, 0}));
  EXPECT_NEAR(filled(rounding, 4.9e-9)[0], 1.2, 1e-3);
  EXPECT_NEAR(filled({3e-6F, 0, -4e-6F}, 1e-6)[2], -1.6, 1e-3);
}

TEST(Bound, OneHotKeepsTheFirstLargest) {
  const Domain domain{flat_layout(4), {Range{0.5, 0.5}}, Shape::kOneHot};
  const auto hot = [&](std::vector<float> values) {
    return bound(Update(domain.layout, std::move(values)), domain).take();
  };
  EXPECT_EQ(hot({0, 0, 1, 0}), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(hot({0.3F, 0.9F, 0.9F, -2}), (std::vector<float>{0, 1, 0, 0}));
  EXPECT_EQ(hot({0, 0, 0, 0}), (std::vector<float>{1, 0, 0, 0}));
  EXPECT_EQ(hot({kNan, -3, kNan, -2}), (std::vector<float>{0, 0, 0, 1}));
}

TEST(Bound, EndsAndInsideStayAsTheyAre) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(bounded({-1, 1, denormal, -denormal}, {{0.0, 1.0}}),
            (std::vector<float>{-1, 1, denormal, -denormal}));
}

TEST(Bound, ARangeWithoutWidthIsItsCentre) {
  EXPECT_EQ(bounded({-5, kNan, 0.25F, kInfinity}, {{0.25, 0.0}}),
            (std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F}));
}

TEST(Bound, ValuesOfSomeoneElseStayAsTheyAre) {
  BitSource bits = BitSource::from_seed(5, "bound");
  std::vector<float> values(10'000);
  for (float& value : values) value = static_cast<float>(4.0 * bits.unit() - 2.0);
  values[17] = kNan;
  values[9'999] = -kInfinity;
  const auto layout = flat_layout(values.size());
  const Range range{0.25, 0.5};
  for (const Domain& domain :
       {Domain{layout, {range}}, Domain{layout, {range}, Shape::kBall, 2.0},
        Domain{layout, {range}, Shape::kBall, 1e6}, Domain{layout, {range}, Shape::kOneHot}}) {
    const std::vector<float> in_place = bound(Update(layout, values), domain).take();
    const std::vector<float> before = values;
    // Memory of any content and size does.
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{20'000}}) {
      std::vector<float> memory(size, kNan);
      EXPECT_EQ(bound(values, domain, std::move(memory)).take(), in_place);
    }
    EXPECT_EQ(std::memcmp(values.data(), before.data(), values.size() * sizeof(float)), 0);
  }
  EXPECT_THROW(bound(std::span<const float>(values).first(3), Domain{layout, {range}}),
               std::invalid_argument);
}

TEST(Bound, ProgrammingErrorsAreCaughtAtOnce) {
  EXPECT_THROW(Update(flat_layout(3), {1, 2}), std::invalid_argument);
  EXPECT_THROW(Update(nullptr, {}), std::invalid_argument);
  const Domain domain{flat_layout(2), {}};
  EXPECT_THROW(bound(Update(domain.layout, {1, 2}), domain), std::invalid_argument);
}

}  // namespace
}  // namespace sotto
