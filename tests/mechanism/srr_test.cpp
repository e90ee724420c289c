// srr and grr: exact over a sweep of grids, groups, steps and epsilons; eq. 8 against a ranking by
// sorting; the values that were computed independently; what the two words leave open.
#include <numeric>

#include "mechanism/staircase/srr_groups.h"
#include "mechanism/staircase/staircase.h"
#include "mechanism/staircase/staircase_channel.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

/// Every value of the mechanism's grid.
std::vector<float> grid_inputs(const Mechanism& mechanism) {
  return spread(mechanism, mechanism.alphabet(0).size());
}

Parameters srr_of(double epsilon, double precision, double groups, double step) {
  return {{"epsilon", epsilon}, {"precision", precision}, {"groups", groups}, {"step", step}};
}

TEST(Srr, IsExactOverGroupsStepsAndEpsilons) {
  for (const double epsilon : {0.01, 0.3, 1.0, 5.0, 20.0}) {
    for (const std::int64_t groups : {1, 2, 3, 4, 7, 10, 20, 41}) {
      const StepInterval steps = step_interval(41, groups);
      for (const double step : {steps.low, steps.low / 3, 0.0, steps.high / 2, steps.high}) {
        const auto mechanism =
            made("srr", srr_of(epsilon, 2, static_cast<double>(groups), step), {0.3, 0.2});
        expect_exact(*mechanism, grid_inputs(*mechanism), epsilon);
        const double exact = mechanism->guarantee().unit_epsilon;
        EXPECT_GE(exact, groups == 1 ? 0.0 : epsilon - 1e-8) << mechanism->id();
      }
    }
  }
}

TEST(Srr, IsExactOnTheSmallestGrids) {
  for (const double epsilon : {0.01, 2.0, 20.0}) {
    const auto point = made("srr", srr_of(epsilon, 2, 1, 0), {0.301, 0.004});
    EXPECT_EQ(point->alphabet(0), std::vector<Symbol>{0});
    EXPECT_EQ(point->guarantee().epsilon, 0.0);
    EXPECT_EQ(decoded(*point, 0), 0.3);
    expect_exact(*point, {0.301F}, epsilon);
    for (const double radius : {1.0, 2.0, 3.0}) {  // d = 3, 5, 7 with m = d and without settings
      const auto every = made("srr", srr_of(epsilon, 0, 2 * radius + 1, 0), {0.0, radius});
      expect_exact(*every, grid_inputs(*every), epsilon);
      const auto srr = made("srr", {{"epsilon", epsilon}, {"precision", 0}}, {0.0, radius});
      expect_exact(*srr, grid_inputs(*srr), epsilon);
      const auto grr = made("grr", {{"epsilon", epsilon}, {"precision", 0}}, {0.0, radius});
      expect_exact(*grr, grid_inputs(*grr), epsilon);
    }
  }
  const auto point = made("grr", {{"epsilon", 1.0}, {"precision", 0}}, {3.0, 0.2});
  expect_exact(*point, {3.0F}, 1.0);
}

TEST(Srr, IsExactAtThePapersSettingAndAtVeryLargeEpsilon) {
  const auto paper = made("srr", srr_of(5.0, 4, 10, 20), {0.0, 0.075});
  expect_exact(*paper, grid_inputs(*paper), 5.0);
  EXPECT_GE(paper->guarantee().unit_epsilon, 5.0 - 1e-15);
  EXPECT_EQ(paper->symbol_bits(), 16U);
  // 2^64 words cannot hold a ratio of e^50 over 1501 values: the exact epsilon just is smaller.
  for (const double epsilon : {40.0, 50.0, 300.0, 1000.0}) {
    const auto sharp = made("srr", srr_of(epsilon, 4, 10, 20), {0.0, 0.075});
    expect_exact(*sharp, spread(*sharp, 11), epsilon);
    EXPECT_GT(sharp->guarantee().unit_epsilon, 35.0);
  }
}

TEST(Srr, HasTheProbabilitiesOfItsEquations) {
  for (const auto& [epsilon, groups, step] : std::vector<std::array<double, 3>>{
           {5, 10, 1.5}, {1, 2, 60}, {0.5, 7, -4.25}, {20, 3, 0}, {3, 101, 0}}) {
    const auto mechanism = made("srr", srr_of(epsilon, 2, groups, step), {0.0, 0.5});
    const auto sizes = group_sizes(101, static_cast<std::int64_t>(groups), step);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0}), 101);
    double weighted = 0.0;
    for (std::size_t j = 1; j < sizes->size(); ++j) {
      weighted += static_cast<double>(j) * static_cast<double>((*sizes)[j]);
    }
    const double k = std::exp(epsilon), last = groups - 1;
    const double a_m = last / (last * 101.0 * k - (k - 1.0) * weighted);
    for (const int input : {-50, -49, -7, 0, 1, 30, 50}) {
      std::vector<int> order(101);
      std::iota(order.begin(), order.end(), -50);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return std::abs(a - input) < std::abs(b - input); });
      std::size_t rank = 0;
      for (std::size_t j = 0; j < sizes->size(); ++j) {
        const auto at = static_cast<double>(j);
        const double a_j = a_m * ((last - at) * k + at) / last;
        for (std::int64_t n = 0; n < (*sizes)[j]; ++n, ++rank) {
          const Symbol symbol = order[rank];
          const auto weight = static_cast<float>(input / 100.0);
          EXPECT_NEAR(std::exp(mechanism->log_prob({&symbol, 1}, {&weight, 1})) / a_j, 1.0, 1e-9)
              << mechanism->id() << ' ' << input << " to " << symbol;
        }
      }
    }
  }
}

TEST(Srr, HasTheReferenceValues) {
  const double r = 0.075;
  const float centre = 0.0F, edge = 0.075F;
  const auto paper = made("srr", srr_of(5.0, 4, 10, 20), {0.0, r});
  EXPECT_NEAR(std::sqrt(paper->moments({&centre, 1}, 0).variance), 0.355 * r, 0.001 * r);
  const Moments worst = paper->moments({&edge, 1}, 0);
  EXPECT_NEAR(worst.mean, 0.43 * r, 0.005 * r);
  EXPECT_NEAR(std::sqrt(worst.variance + worst.bias * worst.bias), 0.709 * r, 0.001 * r);
  const auto narrow = made("srr", srr_of(5.0, 4, 2, 1000), {0.0, r});
  EXPECT_NEAR(std::sqrt(narrow->moments({&centre, 1}, 0).variance), 0.15 * r, 0.01 * r);
  const Moments end = narrow->moments({&edge, 1}, 0);
  EXPECT_NEAR(std::sqrt(end.variance + end.bias * end.bias), 0.296 * r, 0.001 * r);
  const auto best = made("srr", {{"epsilon", 5.0}}, {0.0, r});  // what srr chooses by itself
  EXPECT_NEAR(std::sqrt(best->moments({&centre, 1}, 0).variance), 0.15 * r, 0.01 * r);
  const Moments far = best->moments({&edge, 1}, 0);
  EXPECT_LT(std::sqrt(far.variance + far.bias * far.bias), 0.2937 * r);
}

TEST(Srr, DebiasDividesByTheLeastSquaresSlope) {
  for (const Parameters& given : {srr_of(5.0, 2, 10, 1), srr_of(0.7, 2, 2, 60),
                                  srr_of(3.0, 2, 5, -7.5), srr_of(2.0, 2, 101, 0)}) {
    const auto plain = made("srr", given, {0.25, 0.5});
    Parameters with = given;
    with["debias"] = 1;
    const auto debiased = made("srr", with, {0.25, 0.5});
    double cross = 0.0, squares = 0.0;
    for (const float input : grid_inputs(*plain)) {
      const double offset = static_cast<double>(input) - 0.25;
      cross += offset * (plain->moments({&input, 1}, 0).mean - 0.25);
      squares += offset * offset;
    }
    EXPECT_NEAR((decoded(*plain, 7) - 0.25) / (decoded(*debiased, 7) - 0.25), cross / squares, 1e-6)
        << debiased->id();
    expect_exact(*debiased, grid_inputs(*debiased), given.find("epsilon")->second);
  }
}

TEST(Srr, WorksAtPrecision7) {
  const auto fine = made("srr", srr_of(5.0, 7, 10, 20'000), {0.0, 0.075});
  const float edge = 0.075F;
  const Moments moments = fine->moments({&edge, 1}, 0);
  EXPECT_NEAR(moments.mean, 0.43 * 0.075, 0.005 * 0.075);
  EXPECT_EQ(fine->largest_symbol(), 750'000);
  EXPECT_TRUE(fine->sums_to_one({&edge, 1}, 0));
  EXPECT_LE(fine->guarantee().unit_epsilon, 5.0);
}

TEST(Srr, NamesTheWorstPairInRealValues) {
  const WorstCase worst = made("srr", srr_of(5.0, 4, 10, 20), {0.5, 0.075})->worst_case();
  EXPECT_EQ(worst.input, "0.425");
  EXPECT_EQ(worst.other_input, "0.575");
  EXPECT_EQ(worst.output, "0.425");
}

TEST(Srr, RefusesBadSettingsAndNamesTheValidOnes) {
  const auto complaint = [](const Parameters& parameters, Range range = {0.0, 0.075}) {
    const auto result = try_make("srr", parameters, range);
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
    return result.error().message;
  };
  const auto expect_in = [](const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  for (const double epsilon : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    expect_in("[1e-09, 1000]", complaint({{"epsilon", epsilon}}));
  }
  expect_in("radius above 0", complaint({{"epsilon", 1.0}}, {0.0, 0.0}));
  expect_in("[0, 10]", complaint({{"epsilon", 1.0}, {"precision", 12}}));
  expect_in("together", complaint({{"epsilon", 1.0}, {"groups", 4}}));
  expect_in("together", complaint({{"epsilon", 1.0}, {"step", 4}}));
  expect_in("[1, 1501]", complaint(srr_of(1.0, 4, 1502, 0)));
  expect_in("[-33.24444444, 33.24444444]", complaint(srr_of(1.0, 4, 10, 34)));
  expect_in("[-33.24444444, 33.24444444]", complaint(srr_of(1.0, 4, 10, -33.3)));
  expect_in("debias = 0", complaint({{"epsilon", 1.0}, {"groups", 1}, {"step", 0}, {"debias", 1}}));
  const auto tiny = Staircase::make({100, 1401}, 1e-25);
  ASSERT_FALSE(tiny);
  expect_in("too small", tiny.error().message);
  EXPECT_TRUE(try_make("srr", srr_of(1.0, 4, 10, 33.24444444), {0.0, 0.075}));
  EXPECT_TRUE(try_make("srr", srr_of(1.0, 4, 10, -33.24444444), {0.0, 0.075}));
}

TEST(Srr, StepIntervalEndsWhereAGroupWouldBeEmpty) {
  for (const std::int64_t outputs : {3, 5, 41, 101, 1501}) {
    for (const std::int64_t groups : {2, 3, 5, 10, 31, 41}) {
      if (groups > outputs) continue;
      const StepInterval steps = step_interval(outputs, groups);
      for (int i = 0; i <= 40; ++i) {
        const double step = steps.low + (steps.high - steps.low) * i / 40;
        EXPECT_TRUE(group_sizes(outputs, groups, std::clamp(step, steps.low, steps.high)))
            << outputs << ' ' << groups << ' ' << step;
      }
      EXPECT_FALSE(group_sizes(outputs, groups, std::nextafter(steps.high, 1e9)));
      EXPECT_FALSE(group_sizes(outputs, groups, std::nextafter(steps.low, -1e9)));
    }
  }
}

TEST(Grr, WithoutDebiasingMeansShrinkByPMinusQ) {
  const Parameters given{{"epsilon", 2.0}, {"precision", 2}};
  Parameters raw = given;
  raw["debias"] = 0;
  const auto mechanism = made("grr", given, {0.0, 0.05});
  const auto shrunk = made("grr", raw, {0.0, 0.05});
  EXPECT_NE(mechanism->id(), shrunk->id());  // never added to one another
  const double odds = std::exp(2.0);
  const double slope = (odds - 1.0) / (odds + 10.0);  // 11 values
  const std::vector<float> weight{0.04F};
  EXPECT_NEAR(mechanism->moments(weight, 0).mean, 0.04, 1e-8);
  EXPECT_NEAR(shrunk->moments(weight, 0).mean, 0.04 * slope, 1e-8);
  expect_exact(*shrunk, grid_inputs(*shrunk), 2.0);
}

TEST(Grr, HasItsProbabilitiesIsUnbiasedAndHasItsVariance) {
  for (const double epsilon : {0.01, 1.0, 5.0, 8.0, 20.0}) {
    for (const Range range : {Range{0.0, 0.5}, Range{-1.25, 0.2}, Range{7.0, 0.01}}) {
      const auto mechanism = made("grr", {{"epsilon", epsilon}, {"precision", 2}}, range);
      expect_exact(*mechanism, grid_inputs(*mechanism), epsilon);
      const auto d = static_cast<double>(mechanism->alphabet(0).size());
      const double p = std::exp(epsilon) / (d - 1.0 + std::exp(epsilon));
      const double q = 1.0 / (d - 1.0 + std::exp(epsilon));
      const double square = (d * d - 1.0) / 12.0;  // mean square of the centred indices
      for (const float input : grid_inputs(*mechanism)) {
        const Moments moments = mechanism->moments({&input, 1}, 0);
        const double s = std::round((static_cast<double>(input) - range.centre) * 100.0);
        EXPECT_NEAR(moments.bias, 0.0, 1e-9 * range.radius);
        const double variance = (p - q) * s * s + q * d * square - (p - q) * (p - q) * s * s;
        EXPECT_NEAR(moments.variance / (1e-4 * variance / (p - q) / (p - q)), 1.0, 1e-6);
      }
    }
  }
}

/// False alarm 1e-6. With 400,000 draws a cell of probability 1/41 that is off by 4 % is found.
TEST(Srr, DrawsWhatItClaims) {
  constexpr std::size_t kDraws = 400'000;
  std::uint64_t seed = 1;
  for (const auto& [name, parameters] : std::vector<std::pair<std::string, Parameters>>{
           {"srr", srr_of(1.0, 2, 5, 3)},
           {"srr", srr_of(5.0, 2, 10, -0.7)},
           {"srr", {{"epsilon", 3.0}, {"precision", 2}}},
           {"srr", srr_of(2.0, 2, 1, 0)},
           {"grr", {{"epsilon", 3.0}, {"precision", 2}}}}) {
    const auto single = made(name, parameters, {0.3, 0.2});
    const auto many = made(name, parameters, {0.3, 0.2}, kDraws);
    for (const float input : {0.1F, 0.13F, 0.3F, 0.42F, 0.5F}) {
      EXPECT_GT(frequency_p(*many, *single, input, ++seed), 1e-6) << name << ' ' << input;
    }
  }
}

class Slow : public testing::Test {
 protected:
  Slow() : bits_(BitSource::from_seed(5, "slow path")), key_(bits_), stream_(key_) {
    stream_.seek(0);
  }
  Symbol draw(const Channel& channel, float weight, std::uint32_t word0, std::uint32_t word1) {
    const std::uint32_t words[] = {word0, word1};
    MoreBits more = stream_.more(position_++);
    return channel.draw(weight, {words, 1}, more);
  }
  BitSource bits_;
  StreamKey key_;
  BlockStream stream_;
  std::uint64_t position_ = 0;
};

TEST_F(Slow, AWordThatMeetsAThresholdDrawsTheLowerHalf) {
  const auto grid = DecimalGrid::make({0.0, 5.0}, 0);
  // Two thresholds with the same upper half: of 2^32 lower halves 1/4, 1/2 and 1/4 go to a group.
  const StaircaseChannel channel(
      *grid, Staircase({1, 4, 6}, {0x80000000'40000000U, 0x80000000'C0000000U}));
  std::array<int, 3> counts{};
  for (int i = 0; i < 40'000; ++i) {
    const Symbol symbol = draw(channel, 0.0F, 0x80000000U, 0x12345678U);
    ++counts[symbol == 0 ? 0 : std::abs(symbol) <= 2 ? 1 : 2];
  }
  EXPECT_NEAR(counts[0], 10'000, 6 * std::sqrt(7500.0));  // six deviations
  EXPECT_NEAR(counts[1], 20'000, 6 * 100.0);
  EXPECT_EQ(draw(channel, 0.0F, 0x7FFFFFFFU, 5), 0);
  EXPECT_GT(std::abs(draw(channel, 0.0F, 0x80000001U, 5)), 2);
}

TEST_F(Slow, PlacesInALargeGroupAreUniform) {
  // A group of 2^31 - 2^29 - 1 has 2^32 mod g above a quarter of all words: without rejection some
  // places would have three words and some two. False alarm: six deviations.
  const auto grid = DecimalGrid::make({0.0, 805306367.0}, 0);
  ASSERT_TRUE(grid);
  const StaircaseChannel channel(*grid, Staircase({grid->size()}, {}));
  const auto size = static_cast<std::uint64_t>(grid->size());
  BitSource words = BitSource::from_seed(6, "words");
  const int draws = 200'000;
  int of_three = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t word = words.next_u64();
    const Symbol symbol = draw(channel, 0.0F, 0, static_cast<std::uint32_t>(word));
    const auto rank = static_cast<std::uint64_t>(DistanceRanks{grid->radius(), 0}.rank(symbol));
    const auto first_word = [&](std::uint64_t place) { return ((place << 32) + size - 1) / size; };
    of_three += first_word(rank + 1) - first_word(rank) == 3 ? 1 : 0;
  }
  // x places of three words and g - x of two: 3x + 2(g - x) = 2^32.
  const double share = (0x1p32 - 2.0 * static_cast<double>(size)) / static_cast<double>(size);
  EXPECT_NEAR(of_three, draws * share, 6 * std::sqrt(draws * share * (1.0 - share)));
}

}  // namespace
}  // namespace sotto
