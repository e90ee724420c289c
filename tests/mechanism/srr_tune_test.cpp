// The tuner: its closed forms against the moments of the mechanism itself, its search against an
// exhaustive one, the independently computed settings, and Theorem 5.2 of srr-fl.
#include "mechanism/staircase/srr_tune.h"

#include "mechanism/staircase/srr_groups.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

const Range kPaperRange{0.0, 0.075};

DecimalGrid grid_of(const Range& range, double precision) {
  return DecimalGrid::make(range, precision).value();
}

/// bias^2 + variance of srr, averaged over `inputs`.
double measured(const Range& range, double precision, double epsilon, const SrrSetting& setting,
                const std::vector<float>& inputs) {
  const auto mechanism = made("srr",
                              {{"epsilon", epsilon},
                               {"precision", precision},
                               {"groups", static_cast<double>(setting.groups)},
                               {"step", setting.step}},
                              range);
  double sum = 0.0;
  for (const float input : inputs) {
    const Moments moments = mechanism->moments({&input, 1}, 0);
    sum += moments.bias * moments.bias + moments.variance;
  }
  return sum / static_cast<double>(inputs.size());
}

std::vector<float> all_values(const DecimalGrid& grid) {
  std::vector<float> inputs;
  for (std::int64_t s = -grid.radius(); s <= grid.radius(); ++s) {
    inputs.push_back(static_cast<float>(grid.value(s)));
  }
  return inputs;
}

TEST(Tune, ClosedFormsAgreeWithTheMechanism) {
  const Range range{0.2, 0.3};
  const DecimalGrid grid = grid_of(range, 2);
  for (const double epsilon : {0.5, 3.0, 8.0}) {
    for (const SrrSetting setting : {SrrSetting{1, 0.0}, SrrSetting{2, 31.0}, SrrSetting{5, -3.5},
                                     SrrSetting{10, 1.0}, SrrSetting{61, 0.0}}) {
      const auto expect_same = [&](const SrrInputs& inputs, const std::vector<float>& values) {
        const auto quality = srr_quality(grid, epsilon, setting, inputs);
        ASSERT_TRUE(quality);
        EXPECT_NEAR(quality->mse / measured(range, 2, epsilon, setting, values), 1.0, 1e-9);
      };
      const auto values = all_values(grid);
      expect_same(SrrInputs::uniform(grid), values);
      expect_same(SrrInputs::worst_case(grid), {values.back()});
      expect_same(SrrInputs::worst_case(grid), {values.front()});
      const std::vector<float> some{-0.1F, 0.2F, 0.2F, 0.37F, 0.5F};
      expect_same(SrrInputs::values(grid, some), some);
      for (const float value : values) {  // nothing is worse than an end
        const auto quality = srr_quality(grid, epsilon, setting, SrrInputs::worst_case(grid));
        EXPECT_LE(measured(range, 2, epsilon, setting, {value}), quality->mse * (1.0 + 1e-12));
      }
    }
  }
}

TEST(Tune, NormalInputsAreClippedNormals) {
  const DecimalGrid grid = grid_of({0.0, 1.0}, 1);
  const SrrSetting setting{2, 15.0};
  const double deviation = 0.6;
  double sum = 0.0, total = 0.0;
  for (int i = 0; i < 40'000; ++i) {  // a fine midpoint rule
    const double x = -6.0 * deviation + 12.0 * deviation * (i + 0.5) / 40'000;
    const double density = std::exp(-x * x / (2.0 * deviation * deviation));
    const std::vector<float> value{static_cast<float>(x)};
    sum += density * srr_quality(grid, 2.0, setting, SrrInputs::values(grid, value))->mse;
    total += density;
  }
  const auto normal = srr_quality(grid, 2.0, setting, SrrInputs::normal(grid, deviation));
  EXPECT_NEAR(normal->mse, sum / total, 1e-4 * normal->mse);
}

TEST(Tune, TwoGroupsAreTheBestOfAllTwoGroups) {
  for (const double epsilon : {0.01, 0.5, 2.0, 5.0, 9.0, 20.0, 900.0}) {
    for (const double radius : {0.01, 0.02, 0.1, 0.5}) {
      const DecimalGrid grid = grid_of({0.0, radius}, 2);
      const SrrInputs worst = SrrInputs::worst_case(grid);
      const auto chosen =
          srr_quality(grid, epsilon, best_two_groups(grid.size(), epsilon), worst).value();
      for (std::int64_t g = 1; g < grid.size(); ++g) {
        const SrrSetting other{2, static_cast<double>(grid.size() - 2 * g)};
        EXPECT_LE(chosen.mse, srr_quality(grid, epsilon, other, worst)->mse * (1.0 + 1e-12))
            << epsilon << ' ' << radius << ' ' << g;
      }
    }
  }
  EXPECT_EQ(best_two_groups(1, 1.0).groups, 1);
}

TEST(Tune, FindsWhatWasComputedIndependently) {
  const DecimalGrid grid = grid_of(kPaperRange, 4);
  const SrrInputs worst = SrrInputs::worst_case(grid);
  const SrrQuality best = tune_srr(grid, 5.0, worst);
  EXPECT_EQ(best.setting.groups, 2);
  EXPECT_NEAR(best.setting.step, 1000.0, 100.0);
  EXPECT_NEAR(std::sqrt(best.centre_mse), 0.15 * 0.075, 0.01 * 0.075);
  EXPECT_LT(best.rmse, 0.296 * 0.075);
  const auto paper = srr_quality(grid, 5.0, {10, 20.0}, worst);
  EXPECT_NEAR(paper->rmse, 0.709 * 0.075, 0.001 * 0.075);
  EXPECT_NEAR(std::sqrt(paper->centre_mse), 0.355 * 0.075, 0.001 * 0.075);
  EXPECT_NEAR(paper->edge_mean, 0.43, 0.005);
}

TEST(Tune, IsNotBeatenByAnySettingOfASmallGrid) {
  const DecimalGrid grid = grid_of({0.0, 0.12}, 2);  // d = 25
  for (const double epsilon : {0.5, 2.0, 5.0}) {
    for (const SrrInputs& inputs :
         {SrrInputs::worst_case(grid), SrrInputs::uniform(grid), SrrInputs::normal(grid, 0.03)}) {
      const SrrQuality best = tune_srr(grid, epsilon, inputs);
      double least = best.mse;
      for (std::int64_t groups = 1; groups <= grid.size(); ++groups) {
        const StepInterval steps = step_interval(grid.size(), groups);
        for (int i = 0; i <= 200; ++i) {
          const double step = steps.low + (steps.high - steps.low) * i / 200;
          const auto quality = srr_quality(grid, epsilon, {groups, step}, inputs);
          if (quality) least = std::min(least, quality->mse);
        }
      }
      EXPECT_LE(best.mse, least * (1.0 + 1e-9)) << epsilon;
    }
  }
}

/// E|y - w| <= r: with falling probabilities no rank pattern is worse than the uniform one, whose
/// mean distance from an end is R.
TEST(Tune, TheoremOfTheExpectedL1ErrorHolds) {
  const DecimalGrid grid = grid_of(kPaperRange, 3);
  for (const double epsilon : {0.01, 1.0, 5.0, 20.0}) {
    for (const std::int64_t groups : {1, 2, 10, 40, 151}) {
      const StepInterval steps = step_interval(grid.size(), groups);
      for (const double step : {steps.low, 0.0, steps.high}) {
        const auto quality =
            srr_quality(grid, epsilon, {groups, step}, SrrInputs::worst_case(grid));
        EXPECT_TRUE(quality->l1_within_radius) << epsilon << ' ' << groups << ' ' << step;
        EXPECT_LE(quality->worst_l1, 0.075 * (1.0 + 1e-12));
        EXPECT_GE(quality->worst_l1, 0.0);
      }
    }
  }
}

}  // namespace
}  // namespace sotto
