// two-point: exact at every epsilon, the closed forms of its paper, and the worst-case variances
// that were computed independently.
#include "mechanism_fixture.h"

namespace sotto {
namespace {

TEST(TwoPoint, IsExactFromTinyToLargeEpsilon) {
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0, 20.0, 50.0}) {
    for (const Range range : {Range{0.0, 1.0}, Range{0.25, 0.125}, Range{-96.0, 0.5}}) {
      const auto mechanism = made("two-point", {{"epsilon", epsilon}}, range);
      expect_exact(*mechanism, spread(*mechanism, 41), epsilon);
    }
  }
}

TEST(TwoPoint, HasTheVarianceOfItsFormula) {
  const double expected[][2] = {{0.5, 16.671}, {1, 4.683}, {2, 1.724},
                                {3, 1.221},    {5, 1.027}, {8, 1.001}};
  for (const auto& [epsilon, variance] : expected) {
    const auto mechanism = made("two-point", {{"epsilon", epsilon}});
    const float centre = 0.0F;
    EXPECT_NEAR(mechanism->moments({&centre, 1}, 0).variance, variance, 6e-4);
    const double reach = 1.0 / std::tanh(epsilon / 2.0);
    for (const float input : spread(*mechanism, 9)) {
      const Moments moments = mechanism->moments({&input, 1}, 0);
      EXPECT_NEAR(moments.bias, 0.0, 1e-12);
      EXPECT_NEAR(moments.variance, reach * reach - input * input, 1e-7 * reach * reach);
    }
  }
}

TEST(TwoPoint, SendsOneBit) {
  const auto mechanism = made("two-point", {{"epsilon", 1.0}}, {0.0, 1.0}, 100);
  EXPECT_EQ(mechanism->symbol_bits(), 1U);
  EXPECT_NEAR(mechanism->guarantee().epsilon, 100.0, 1e-6);
}

}  // namespace
}  // namespace sotto
