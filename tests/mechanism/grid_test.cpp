// The decimal grid: nearest index with ties down, clamped, and an error that names the precision.
#include "mechanism/value/grid.h"

#include "mechanism_fixture.h"

namespace sotto {
namespace {

TEST(Grid, HasTheValuesOfItsDefinition) {
  const auto grid = DecimalGrid::make({0.0, 0.075}, 4);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->size(), 1501);
  EXPECT_EQ(grid->value(-750), -0.075);
  const auto shifted = DecimalGrid::make({1.15, 0.05}, 5);
  ASSERT_TRUE(shifted);
  EXPECT_EQ(shifted->centre(), 115'000);
  EXPECT_EQ(shifted->size(), 10'001);
  EXPECT_EQ(shifted->value(0), 1.15);
  EXPECT_EQ(DecimalGrid::make({0.3, 0.4}, 0)->size(), 1);  // r below half a step
}

TEST(Grid, RoundsToTheNearestTiesDownAndClamps) {
  const auto grid = DecimalGrid::make({2.0, 3.0}, 0);
  ASSERT_TRUE(grid);
  const struct {
    float weight;
    std::int64_t centred;
  } cases[] = {{2.0F, 0},   {2.5F, 0},    {2.50001F, 1}, {2.49F, 0}, {1.5F, -1},  {1.51F, 0},
               {-0.5F, -3}, {-0.49F, -2}, {5.0F, 3},     {1e30F, 3}, {-1e30F, -3}};
  for (const auto& [weight, centred] : cases) EXPECT_EQ(grid->centred(weight), centred) << weight;
  const auto fine = DecimalGrid::make({0.0, 0.075}, 4);
  for (int s = -750; s <= 750; ++s) {
    EXPECT_EQ(fine->centred(static_cast<float>(fine->value(s))), s);
  }
}

TEST(Grid, NamesTheLargestValidPrecision) {
  const auto fine = DecimalGrid::make({0.0, 0.075}, 15);
  ASSERT_FALSE(fine);
  EXPECT_NE(fine.error().message.find("[0, 10]"), std::string::npos) << fine.error().message;
  EXPECT_TRUE(DecimalGrid::make({0.0, 0.075}, 10));
  EXPECT_FALSE(DecimalGrid::make({0.0, 0.075}, 11));
  EXPECT_TRUE(DecimalGrid::make({0.0, 0.075}, 11, std::int64_t{1} << 40));  // a wider limit
  const auto centre = DecimalGrid::make({1e6, 0.001}, 12);
  ASSERT_FALSE(centre);
  EXPECT_NE(centre.error().message.find("[0, 9]"), std::string::npos) << centre.error().message;
  const auto huge = DecimalGrid::make({0.0, 1e20}, 4);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("at most 1073741823"), std::string::npos)
      << huge.error().message;
}

}  // namespace
}  // namespace sotto
