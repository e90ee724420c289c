// em: exact for grids from one value to 2 * 10^10, its closed forms against sums in 300 digits, the
// reference of its paper, and variants with a planted fault that must be refuted.
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "mechanism_fixture.h"

namespace sotto {
namespace {

namespace mp = boost::multiprecision;
using Wide = mp::number<mp::cpp_bin_float<1000, mp::digit_base_2>>;

/// The range around `centre` whose grid at precision 0 has the indices -reach .. reach.
Range range_of(double reach, double centre = 0.0) { return {centre, reach == 0.0 ? 0.25 : reach}; }

TEST(Em, IsExactOnSmallGrids) {
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0, 20.0, 50.0, 1000.0}) {
    for (const double reach : {0.0, 1.0, 2.0, 10.0, 50.0}) {
      const auto mechanism =
          made("em", {{"epsilon", epsilon}, {"precision", 0.0}}, range_of(reach, 7.0));
      expect_exact(*mechanism, spread(*mechanism, 2 * static_cast<std::size_t>(reach) + 1),
                   epsilon);
      if (reach > 0.0) {
        EXPECT_NEAR(mechanism->guarantee().unit_epsilon, epsilon, 1e-12 * epsilon);
      }
    }
  }
}

TEST(Em, LogProbIsTheFormulaSummedIn300Digits) {
  for (const double epsilon : {0.01, 1.0, 50.0}) {
    for (const double reach : {1.0, 10.0, 50.0}) {
      const auto mechanism =
          made("em", {{"epsilon", epsilon}, {"precision", 0.0}}, range_of(reach));
      const Wide rate = Wide(epsilon) / (2.0 * reach);
      for (const float input : spread(*mechanism, 5)) {
        const double index = std::ceil(static_cast<double>(input) - 0.5);
        const Wide q = exp(-rate);
        Wide total = 1;
        for (const double side : {reach + index, reach - index}) {
          Wide power = 1;
          for (double k = 1.0; k <= side; ++k) total += power *= q;
        }
        const Wide log_total = log(total);
        for (double y = -reach; y <= reach; ++y) {
          const Wide expected = -rate * std::abs(y - index) - log_total;
          const auto symbol = static_cast<Symbol>(y);
          EXPECT_NEAR(mechanism->log_prob({&symbol, 1}, {&input, 1}), expected.convert_to<double>(),
                      1e-12 * (1.0 + epsilon));
        }
      }
      const auto beyond = static_cast<Symbol>(reach) + 1;
      const float centre = 0.0F;
      EXPECT_TRUE(std::isinf(mechanism->log_prob({&beyond, 1}, {&centre, 1})));
    }
  }
}

TEST(Em, FrequenciesAreThoseOfTheFormula) {
  // False alarm 1e-6 each; with 400,000 draws a shift of a probability p by 0.0095 sqrt(p) is
  // found.
  constexpr std::size_t kDraws = 400'000;
  for (const double epsilon : {0.5, 3.0, 20.0}) {
    for (const double reach : {1.0, 10.0}) {
      const Parameters parameters = {{"epsilon", epsilon}, {"precision", 0.0}};
      const auto many = made("em", parameters, range_of(reach), kDraws);
      const auto single = made("em", parameters, range_of(reach));
      for (const float input :
           {static_cast<float>(-reach), 0.0F, static_cast<float>(reach) - 1.0F}) {
        EXPECT_GT(frequency_p(*many, *single, input, 11), 1e-6) << epsilon << ' ' << input;
      }
    }
  }
}

TEST(Em, PlantedOffByOneIsRefutedByFrequencies) {
  // Symbols one step farther from the input on the lower side, as a ceil for a floor would give;
  // and the lowest symbol lost to its neighbour.
  constexpr std::size_t kDraws = 400'000;
  const Parameters parameters = {{"epsilon", 3.0}, {"precision", 0.0}};
  const auto many = made("em", parameters, range_of(10.0), kDraws);
  const auto single = made("em", parameters, range_of(10.0));
  const float input = -7.0F;
  std::map<Symbol, double> log_probs;
  for (const Symbol symbol : single->alphabet(0)) {
    log_probs[symbol] = single->log_prob({&symbol, 1}, {&input, 1});
  }
  std::map<Symbol, std::uint64_t> right, farther, lost;
  for (const Symbol symbol : drawn(*many, std::vector<float>(kDraws, input), 12)) {
    ++right[symbol];
    ++farther[symbol < -7 ? std::max<Symbol>(symbol - 1, -10) : symbol];
    ++lost[symbol == -10 ? -9 : symbol];
  }
  EXPECT_GT(chi_square_p(right, log_probs, kDraws), 1e-6);
  EXPECT_LT(chi_square_p(farther, log_probs, kDraws), 1e-6);
  EXPECT_LT(chi_square_p(lost, log_probs, kDraws), 1e-6);
}

TEST(Em, TheSettingOfItsPaperIsAnEpsilonOf4305) {
  // CLDP-Basic: alpha = 1 over 80 rounds and 29,034 parameters; c = 1, rho = 10.
  const double alpha = 1.0 / (80.0 * 29'034.0);
  EXPECT_NEAR(alpha, 4.305e-7, 1e-10);
  const auto mechanism = made("em", {{"alpha", alpha}, {"precision", 10.0}}, {0.0, 1.0}, 29'034);
  const Guarantee guarantee = mechanism->guarantee();
  EXPECT_NEAR(guarantee.unit_epsilon, 4305.0, 1.0);
  EXPECT_EQ(guarantee.unit_epsilon, guarantee.claimed_epsilon);
  EXPECT_NEAR(guarantee.epsilon * 80.0, 1e10, 1e6);
  EXPECT_NE(guarantee.statement.find("4.305"), std::string::npos) << guarantee.statement;
  EXPECT_NE(guarantee.statement.find("430"), std::string::npos) << guarantee.statement;
  EXPECT_EQ(mechanism->largest_symbol(), 10'000'000'000);
  EXPECT_EQ(mechanism->symbol_bits(), 40U);
  // The least probability is not rounded away.
  const auto single = made("em", {{"alpha", alpha}, {"precision", 10.0}});
  const Symbol end = single->smallest_symbol();
  const float far = 1.0F;
  const float near = -1.0F;
  EXPECT_NEAR(single->log_prob({&end, 1}, {&near, 1}) - single->log_prob({&end, 1}, {&far, 1}),
              guarantee.unit_epsilon, 1e-8);
  EXPECT_TRUE(single->sums_to_one({&far, 1}, 0));
  EXPECT_TRUE(single->alphabet(0).empty());
}

TEST(Em, AlphaAndEpsilonAreTwoNamesOfOneNumber) {
  for (const double epsilon : {0.1, 1.0, 7.3}) {
    const auto by_epsilon = made("em", {{"epsilon", epsilon}, {"precision", 3.0}}, {0.0, 0.075});
    const double alpha = 2.0 * epsilon / 150.0;
    const auto by_alpha = made("em", {{"alpha", alpha}, {"precision", 3.0}}, {0.0, 0.075});
    EXPECT_LE(by_epsilon->guarantee().unit_epsilon, epsilon);
    EXPECT_NEAR(by_alpha->guarantee().unit_epsilon, epsilon, 1e-12);
    EXPECT_LE(by_alpha->guarantee().unit_epsilon, by_alpha->guarantee().claimed_epsilon);
    const float input = 0.031F;
    const Symbol symbol = -4;
    EXPECT_NEAR(by_alpha->log_prob({&symbol, 1}, {&input, 1}),
                by_epsilon->log_prob({&symbol, 1}, {&input, 1}), 1e-12);
  }
}

TEST(Em, AlphaBoundsTheRatioForEveryDistance) {
  // alpha-CLDP: |ln P(y|v) - ln P(y|v')| <= alpha |v - v'|, over all triples.
  for (const double epsilon : {0.3, 4.0, 40.0}) {
    const auto mechanism = made("em", {{"epsilon", epsilon}, {"precision", 0.0}}, range_of(9.0));
    const double alpha = 2.0 * epsilon / 18.0;
    for (float v = -9.0F; v <= 9.0F; ++v) {
      for (float other = -9.0F; other < v; ++other) {
        for (Symbol y = -9; y <= 9; ++y) {
          const double ratio = std::abs(mechanism->log_prob({&y, 1}, {&v, 1}) -
                                        mechanism->log_prob({&y, 1}, {&other, 1}));
          EXPECT_LE(ratio, alpha * static_cast<double>(v - other) + 1e-12);
        }
      }
    }
  }
}

TEST(Em, MomentsHoldFromTheFlatToTheSharpDistribution) {
  const float edge = 1.0F;
  const float centre = 0.0F;
  // Nearly uniform over 2R + 1 values.
  const auto flat = made("em", {{"epsilon", 1e-9}, {"precision", 10.0}});
  EXPECT_NEAR(flat->moments({&centre, 1}, 0).variance, 1.0 / 3.0, 1e-8);
  EXPECT_NEAR(flat->moments({&edge, 1}, 0).bias, -1.0, 1e-8);
  // The limit of a fine grid: at the edge an exponential distribution of rate epsilon / 2 on [0,
  // 2].
  for (const double epsilon : {0.01, 1.0, 5.0, 50.0}) {
    const auto fine = made("em", {{"epsilon", epsilon}, {"precision", 10.0}});
    const double b = epsilon / 2.0;
    const double rest = std::exp(-epsilon);
    const double mean = 1.0 / b - 2.0 * rest / (1.0 - rest);
    EXPECT_NEAR(fine->moments({&edge, 1}, 0).bias, -mean, 1e-8) << epsilon;
    const double square = 2.0 / (b * b) - (4.0 / b + 4.0) * rest / (1.0 - rest);
    EXPECT_NEAR(fine->moments({&edge, 1}, 0).variance, square - mean * mean, 1e-7) << epsilon;
    EXPECT_NEAR(fine->moments({&centre, 1}, 0).bias, 0.0, 1e-12);
  }
  // Sharp: nothing but the input.
  const auto sharp = made("em", {{"epsilon", 1000.0}, {"precision", 0.0}});
  EXPECT_NEAR(sharp->moments({&edge, 1}, 0).bias, 0.0, 1e-200);
}

TEST(Em, IsBiasedTowardsTheCentre) {
  const auto mechanism = made("em", {{"epsilon", 5.0}});
  for (const float input : {0.1F, 0.5F, 1.0F}) {
    EXPECT_LT(mechanism->moments({&input, 1}, 0).bias, -1e-3);
    const float mirrored = -input;
    EXPECT_GT(mechanism->moments({&mirrored, 1}, 0).bias, 1e-3);
  }
}

TEST(Em, RefusesWhatItCannotDo) {
  const auto message = [](const Parameters& parameters, Range range = {0.0, 1.0}) {
    const auto result = try_make("em", parameters, range);
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
    return result.error().message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double epsilon : {0.0, -1.0, nan, infinity, 2e6}) {
    EXPECT_NE(message({{"epsilon", epsilon}}).find("[1e-09, 1000000]"), std::string::npos);
  }
  for (const double alpha : {0.0, -1.0, nan, infinity}) {
    EXPECT_NE(message({{"alpha", alpha}}).find("[1e-24, 1000000]"), std::string::npos);
  }
  EXPECT_NE(message({}).find("exactly one"), std::string::npos);
  EXPECT_NE(message({{"alpha", 1.0}, {"epsilon", 1.0}}).find("exactly one"), std::string::npos);
  EXPECT_NE(message({{"epsilon", 1.0}, {"precision", 15.0}}, {0.0, 100.0}).find("[0, 13]"),
            std::string::npos);
  EXPECT_NE(message({{"epsilon", 1.0}, {"precision", 0.0}}, {0.0, 1e20})
                .find("a radius of at most 1.1258"),
            std::string::npos);
}

TEST(Em, WorksUpToTheLargestGrid) {
  // 15 decimals: every weight goes the exact way.
  constexpr std::size_t kDraws = 2000;
  const auto mechanism = made("em", {{"epsilon", 2.0}, {"precision", 15.0}}, {0.0, 1.0}, kDraws);
  EXPECT_LE(mechanism->guarantee().unit_epsilon, 2.0);
  double sum = 0.0;
  for (const Symbol symbol : drawn(*mechanism, std::vector<float>(kDraws, 0.5F), 3)) {
    sum += decoded(*mechanism, symbol);
  }
  const std::vector<float> inputs(kDraws, 0.5F);
  const Moments moments = mechanism->moments(inputs, 0);
  EXPECT_NEAR(sum / kDraws, moments.mean, 6.0 * std::sqrt(moments.variance / kDraws));
}

}  // namespace
}  // namespace sotto
