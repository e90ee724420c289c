// laplace: exact with its gathered tails, the worst-case variances that were computed
// independently, and faults in the tails that must be refuted.
#include "mechanism_fixture.h"

namespace sotto {
namespace {

Range range_of(double reach, double centre = 0.0) { return {centre, reach == 0.0 ? 0.25 : reach}; }

TEST(Laplace, IsExactOnSmallGrids) {
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0, 20.0, 50.0, 1000.0}) {
    for (const double reach : {0.0, 1.0, 2.0, 10.0, 50.0}) {
      const auto mechanism =
          made("laplace", {{"epsilon", epsilon}, {"precision", 0.0}}, range_of(reach, -3.0));
      const std::size_t inputs = mechanism->largest_symbol() < 20'000 ? 5 : 2;
      expect_exact(*mechanism, spread(*mechanism, reach == 0.0 ? 1 : inputs), epsilon);
      if (reach > 0.0) {
        EXPECT_NEAR(mechanism->guarantee().unit_epsilon, epsilon, 1e-12 * epsilon);
      }
    }
  }
}

TEST(Laplace, HasTheVariancesOfTheTable) {
  const double expected[][2] = {{0.5, 32.0}, {1, 8.0},   {2, 2.0},
                                {3, 0.889},  {5, 0.320}, {8, 0.125}};
  for (const auto& [epsilon, variance] : expected) {
    for (const double precision : {4.0, 10.0}) {
      const auto mechanism = made("laplace", {{"epsilon", epsilon}, {"precision", precision}});
      for (const float input : spread(*mechanism, 5)) {
        const Moments moments = mechanism->moments({&input, 1}, 0);
        EXPECT_NEAR(moments.variance, variance, 5e-4);
        EXPECT_EQ(moments.bias, 0.0);
        EXPECT_NEAR(moments.mean, input, 0.51 * std::pow(10.0, -precision));
      }
    }
  }
}

TEST(Laplace, TheEndsHoldTheirTails) {
  for (const double epsilon : {0.5, 5.0, 100.0}) {
    const auto mechanism = made("laplace", {{"epsilon", epsilon}, {"precision", 1.0}});
    const double rate = epsilon / 20.0;
    const Symbol end = mechanism->largest_symbol();
    const Symbol before = end - 1;
    const float input = 1.0F;
    // P(end) / P(end - 1) = q (1 + q + q^2 + ...).
    EXPECT_NEAR(mechanism->log_prob({&end, 1}, {&input, 1}) -
                    mechanism->log_prob({&before, 1}, {&input, 1}),
                -rate - std::log(-std::expm1(-rate)), 1e-12 * (1.0 + epsilon));
    EXPECT_LT(mechanism->log_prob({&end, 1}, {&input, 1}), -79.0);
    const Symbol beyond = end + 1;
    EXPECT_TRUE(std::isinf(mechanism->log_prob({&beyond, 1}, {&input, 1})));
  }
}

TEST(Laplace, FrequenciesAreThoseOfTheFormula) {
  // False alarm 1e-6 each; with 400,000 draws a shift of a probability p by 0.0095 sqrt(p) is
  // found.
  constexpr std::size_t kDraws = 400'000;
  for (const double epsilon : {0.5, 3.0, 20.0}) {
    for (const double reach : {1.0, 10.0}) {
      const Parameters parameters = {{"epsilon", epsilon}, {"precision", 0.0}};
      const auto many = made("laplace", parameters, range_of(reach), kDraws);
      const auto single = made("laplace", parameters, range_of(reach));
      for (const float input : {static_cast<float>(-reach), 0.0F, static_cast<float>(reach)}) {
        EXPECT_GT(frequency_p(*many, *single, input, 21), 1e-6) << epsilon << ' ' << input;
      }
    }
  }
}

TEST(Laplace, PlantedFaultsAreRefuted) {
  // One-sided magnitudes that count zero twice (a sign and a geometric magnitude), and noise of
  // half the sensitivity.
  constexpr std::size_t kDraws = 400'000;
  const auto many = made("laplace", {{"epsilon", 8.0}, {"precision", 0.0}}, range_of(2.0), kDraws);
  const auto single = made("laplace", {{"epsilon", 8.0}, {"precision", 0.0}}, range_of(2.0));
  const auto narrow =
      made("laplace", {{"epsilon", 16.0}, {"precision", 0.0}}, range_of(2.0), kDraws);
  const float input = 1.0F;
  std::map<Symbol, double> log_probs;
  for (const Symbol symbol : single->alphabet(0)) {
    log_probs[symbol] = single->log_prob({&symbol, 1}, {&input, 1});
  }
  const auto count = [&](const Mechanism& mechanism, auto&& change) {
    std::map<Symbol, std::uint64_t> counts;
    BitSource bits = BitSource::from_seed(4, "zeros");
    for (const Symbol symbol : drawn(mechanism, std::vector<float>(kDraws, input), 31)) {
      ++counts[change(symbol, bits)];
    }
    return chi_square_p(counts, log_probs, kDraws);
  };
  const auto same = [](Symbol symbol, BitSource&) { return symbol; };
  EXPECT_GT(count(*many, same), 1e-6);
  EXPECT_LT(count(*narrow, same), 1e-6);
  EXPECT_LT(count(*many,
                  [](Symbol symbol, BitSource& bits) {
                    return symbol == 2 && bits.below(8) == 0 ? Symbol{1} : symbol;
                  }),
            1e-6);
}

TEST(Laplace, ChoosesItsWidth) {
  EXPECT_EQ(made("laplace", {{"epsilon", 5.0}}, {0.0, 0.075})->symbol_bits(), 16U);
  EXPECT_EQ(made("laplace", {{"epsilon", 1.0}})->symbol_bits(), 24U);
  EXPECT_GT(made("laplace", {{"epsilon", 1.0}, {"precision", 10.0}})->symbol_bits(), 32U);
}

TEST(Laplace, RefusesWhatItCannotDo) {
  const auto message = [](const Parameters& parameters, Range range = {0.0, 1.0}) {
    const auto result = try_make("laplace", parameters, range);
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
    return result.error().message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double epsilon : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(message({{"epsilon", epsilon}}).find("[1e-09, 1000]"), std::string::npos);
  }
  const std::string fine = message({{"epsilon", 1.0}, {"precision", 15.0}});
  EXPECT_NE(fine.find("a precision of at most 12"), std::string::npos) << fine;
  EXPECT_TRUE(try_make("laplace", {{"epsilon", 1.0}, {"precision", 12.0}}));
  EXPECT_NE(message({{"epsilon", 1.0}, {"precision", 15.0}}, {0.0, 100.0}).find("[0, 13]"),
            std::string::npos);
  const Range wide{0.0, 1e5};
  const std::string tiny = message({{"epsilon", 1e-9}}, wide);
  EXPECT_NE(tiny.find("epsilon of at least 1.42"), std::string::npos) << tiny;
  EXPECT_TRUE(try_make("laplace", {{"epsilon", 1.423e-8}, {"precision", 0.0}}, wide));
}

}  // namespace
}  // namespace sotto
