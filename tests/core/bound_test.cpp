// bound() is total: whatever comes in, what goes out lies in its tensor's range.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "stage_fixture.h"

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

TEST(Bound, InfinitiesBecomeTheNearestEnd) {
  EXPECT_EQ(bounded({kInfinity, -kInfinity}, {{1.0, 2.0}}), (std::vector<float>{3, -1}));
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

TEST(Bound, ProgrammingErrorsAreCaughtAtOnce) {
  EXPECT_THROW(Update(flat_layout(3), {1, 2}), std::invalid_argument);
  EXPECT_THROW(Update(nullptr, {}), std::invalid_argument);
  const Domain domain{flat_layout(2), {}};
  EXPECT_THROW(bound(Update(domain.layout, {1, 2}), domain), std::invalid_argument);
}

}  // namespace
}  // namespace sotto
