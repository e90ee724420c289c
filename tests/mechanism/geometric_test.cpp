// The sampler of em and laplace: enclosures that enclose, a fast way that is never wrong about what
// it calls certain, an exact way whose distribution is the closed form, and tails that no number of
// random bits cuts off.
#include "mechanism/value/geometric.h"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "mechanism_fixture.h"

namespace sotto {
namespace {

namespace mp = boost::multiprecision;
using Wide = mp::number<mp::cpp_bin_float<1200, mp::digit_base_2, void, std::int64_t>>;
using exact::Integer;

std::vector<GeometricDistribution> distributions() {
  return {{.rate = 0.3, .reach = 10, .bound = 10, .cut = true},
          {.rate = 1e-4, .reach = 50, .bound = 50, .cut = true},
          {.rate = 12.0, .reach = 2, .bound = 2, .cut = true},
          {.rate = 500.0, .reach = 1, .bound = 1, .cut = true},
          {.rate = 0.3, .reach = 10, .bound = 277, .cut = false},
          {.rate = 2.5e-4, .reach = 10'000, .bound = 330'000, .cut = false},
          {.rate = 2.1525e-7, .reach = 10'000'000'000, .bound = 10'000'000'000, .cut = true},
          {.rate = 1e-11, .reach = 10'000'000'000, .bound = 10'000'000'000, .cut = true}};
}

/// A channel whose grid has step one, around zero.
class PlainChannel final : public GeometricChannel {
 public:
  explicit PlainChannel(const GeometricDistribution& distribution)
      : GeometricChannel(
            *DecimalGrid::make({0.0, static_cast<double>(distribution.reach)}, 0.0, kMostSteps),
            distribution) {}
  double log_prob(Symbol, float) const override { return 0.0; }
  Moments moments(float) const override { return {}; }
};

template <class Int>
Wide scaled_wide(const Int& value, unsigned bits) {
  return ldexp(Wide(Integer(value)), -static_cast<int>(bits));
}

template <class Int>
void expect_enclosed(double rate, unsigned bits) {
  const Powers<Int> powers(rate, bits, 53);
  for (const std::uint64_t exponent :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{77},
        std::uint64_t{123'456'789}, std::uint64_t{20'000'000'001}, (std::uint64_t{1} << 51) + 5}) {
    const Wide exactly = exp(-Wide(rate) * Wide(exponent));
    const auto enclosure = powers.power(exponent);
    const Wide low = scaled_wide(enclosure.low, bits);
    const Wide high = scaled_wide(enclosure.high, bits);
    EXPECT_LE(low, exactly) << rate << ' ' << exponent;
    EXPECT_GE(high, exactly) << rate << ' ' << exponent;
    // 2^53 powers of something known to a few units.
    EXPECT_LE(high - low, ldexp(Wide(1), 58 - static_cast<int>(bits))) << rate << ' ' << exponent;
  }
}

TEST(Geometric, EnclosuresEnclosePowersAtEveryPrecision) {
  for (const double rate : {4e-25, 5e-16, 5e-12, 2.1525e-7, 0.01, 0.5, 0.500001, 3.0, 500.0, 5e5}) {
    expect_enclosed<DoubleWord>(rate, 120);
    expect_enclosed<Integer>(rate, 256);
    expect_enclosed<Integer>(rate, 640);
  }
}

TEST(Geometric, FastFunctionsKeepTheirProvenBounds) {
  if (std::numeric_limits<long double>::digits < 64)
    GTEST_SKIP() << "no wider type to compare with";
  constexpr std::size_t kCount = 1'000'003;
  constexpr long double kRounding = 0x1p-53L;
  BitSource bits = BitSource::from_seed(3, "functions");
  std::vector<double> x(kCount), z(kCount), e(kCount), l(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    // Large and tiny exponents; z from 2^-66 to 1, half of them close to one.
    x[i] = std::ldexp(bits.unit() * 200.0, -static_cast<int>(i % 3 == 0 ? bits.below(60) : 0));
    z[i] = i % 2 == 0 ? std::ldexp(0.5 + bits.unit() / 2.0, -static_cast<int>(bits.below(66)))
                      : 1.0 - std::ldexp(bits.unit(), -static_cast<int>(bits.below(53)));
  }
  const SimdLevel before = simd_level();
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    fast_exponentials(x, e);
    fast_logarithms(z, l);
    long double worst_exp = 0.0, worst_log = 0.0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const long double exactly = std::exp(-static_cast<long double>(x[i]));
      worst_exp = std::max(worst_exp, std::abs(e[i] - exactly) / exactly / kRounding);
      const long double log = -std::log(static_cast<long double>(z[i]));
      worst_log = std::max(worst_log, std::abs(l[i] - log) / (2.0L + log) / kRounding);
    }
    EXPECT_LT(worst_exp, 4.0L) << name_of(level);
    EXPECT_LT(worst_log, 1.0L) << name_of(level);
    EXPECT_GT(worst_exp, 0.4L) << "compared with itself?";
  }
  set_simd_level(before);
}

TEST(Geometric, TheFastWayAgreesWithTheExactWay) {
  BitSource bits = BitSource::from_seed(5, "agree");
  const StreamKey key(bits);
  constexpr std::size_t kCount = 4096;
  std::vector<std::uint32_t> words(2 * kCount);
  std::vector<float> weights(kCount);
  const SimdLevel before = simd_level();
  for (const GeometricDistribution& distribution : distributions()) {
    const PlainChannel sampler(distribution);
    BlockStream stream(key);
    std::size_t open = 0;
    for (std::uint64_t block = 0; block < 40; ++block) {
      stream.seek(block);
      stream.fill(std::span(words));
      for (float& weight : weights) {
        weight =
            static_cast<float>((2.0 * bits.unit() - 1.0) * static_cast<double>(distribution.reach));
      }
      const BlockDraw draw{weights, words.data(), &stream, 0};
      std::vector<std::int64_t> exactly(kCount), fast(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        MoreBits more = draw.more(i);
        exactly[i] = sampler.draw_exactly(weights[i], draw.words_of(i), more);
        const auto known = sampler.draw_fast(weights[i], draw.words_of(i));
        open += known ? 0 : 1;
        if (known) {
          ASSERT_EQ(*known, exactly[i]) << distribution.rate;
        }
      }
      for (const SimdLevel level : simd_levels()) {
        set_simd_level(level);
        sampler.draw_block_wide(draw, fast.data());
        ASSERT_EQ(fast, exactly) << distribution.rate << ' ' << name_of(level);
      }
    }
    // The fast way is of use: fewer than one in a thousand is open at a rate of 1e-11.
    EXPECT_LT(open, 40 * kCount / 200) << distribution.rate;
  }
  set_simd_level(before);
}

/// U's 64 bits at which X, or on the upper side X', meets q^k.
std::optional<std::uint64_t> bits_at(const GeometricDistribution& distribution, std::int64_t input,
                                     std::int64_t k, bool lower) {
  // 400 bits are enough here and much faster.
  using Real = mp::number<mp::cpp_bin_float<400, mp::digit_base_2>>;
  const Real a = distribution.rate;
  const Real q = exp(-a);
  const Real below = distribution.cut ? Real(exp(-a * (distribution.bound + input + 1))) : Real(0);
  const Real above = distribution.cut ? Real(exp(-a * (distribution.bound - input + 1))) : Real(0);
  const Real boundary = exp(-a * k);
  const Real x = lower ? boundary : Real(1 + q - boundary);
  const Real u = (x - below) / (1 + q - below - above);
  if (u <= 0 || u >= 1) return {};
  return static_cast<std::uint64_t>(Integer(Real(floor(ldexp(u, 64)))));
}

TEST(Geometric, TheFastWayIsNeverWrongNextToABoundary) {
  // Random draws seldom come close to a boundary; these all do, from 2^-64 to 2^-40 away.
  BitSource bits = BitSource::from_seed(6, "boundary");
  BlockStream stream{StreamKey(bits)};
  stream.seek(0);
  std::size_t certain = 0, all = 0;
  for (const GeometricDistribution& distribution : distributions()) {
    const PlainChannel sampler(distribution);
    for (int trial = 0; trial < 400; ++trial) {
      const auto weight =
          static_cast<float>((2.0 * bits.unit() - 1.0) * static_cast<double>(distribution.reach));
      const auto input = static_cast<std::int64_t>(std::ceil(static_cast<double>(weight) - 0.5));
      const bool lower = bits.below(2) == 0;
      const auto last =
          static_cast<double>(lower ? distribution.bound + input : distribution.bound - input);
      const double most = std::min(last, 60.0 / distribution.rate);
      const auto at = bits_at(distribution, input,
                              static_cast<std::int64_t>(bits.unit() * (most + 1.0)), lower);
      if (!at) continue;
      for (int shift = -1; shift < 24; ++shift) {
        const std::uint64_t away = shift < 0 ? 0 : std::uint64_t{1} << shift;
        for (const std::uint64_t word : {*at + away, *at - away}) {
          const std::uint32_t halves[2] = {static_cast<std::uint32_t>(word >> 32),
                                           static_cast<std::uint32_t>(word)};
          MoreBits more = stream.more(static_cast<std::uint64_t>(trial));
          const Words words{halves, 1};
          const auto fast = sampler.draw_fast(weight, words);
          ++all;
          if (!fast) continue;
          ++certain;
          ASSERT_EQ(*fast, sampler.draw_exactly(weight, words, more))
              << distribution.rate << ' ' << word;
        }
      }
    }
  }
  EXPECT_GT(certain, all / 20);
  EXPECT_LT(certain, all);
}

TEST(Geometric, WordsThatLeaveTheLogarithmOpenAreNotCertain) {
  // At a rate of 500 the next symbol begins at e^-500: no word may be taken for its neighbours.
  const PlainChannel sampler({.rate = 500.0, .reach = 1, .bound = 1, .cut = true});
  for (const std::uint32_t low : {0U, 1U, 5U, 1000U}) {
    const std::uint32_t zeros[2] = {0, low};
    const std::uint32_t ones[2] = {~0U, ~low};
    EXPECT_FALSE(sampler.draw_fast(1.0F, {zeros, 1}));
    EXPECT_FALSE(sampler.draw_fast(-1.0F, {ones, 1}));
  }
}

/// The first 64 bits from which on the sampler gives more than `symbol`.
Integer first_above(const ExactGeometric& sampler, std::int64_t input, Symbol symbol) {
  Integer low = 0, high = Integer(1) << 64;  // at `high` it does
  while (low < high) {
    const Integer middle = (low + high) / 2;
    const Symbol drawn =
        sampler.draw(input, {static_cast<std::uint64_t>(middle), [] { return std::uint64_t{0}; }});
    if (drawn > symbol) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The distribution function from the lowest symbol on, by summing powers of q in 1200 bits.
std::vector<Wide> cumulative(const GeometricDistribution& distribution, std::int64_t input) {
  const Wide q = exp(-Wide(distribution.rate));
  std::vector<Wide> powers = {Wide(1)};
  while (powers.size() <= static_cast<std::size_t>(distribution.bound + distribution.reach)) {
    powers.push_back(powers.back() * q);
  }
  std::vector<Wide> sums;
  for (Symbol y = -distribution.bound; y <= distribution.bound; ++y) {
    Wide mass = powers[static_cast<std::size_t>(std::abs(y - input))];
    // The tail beyond an end: 1 + q + q^2 + ...
    if (!distribution.cut && std::abs(y) == distribution.bound) mass /= 1 - q;
    sums.push_back(sums.empty() ? mass : Wide(sums.back() + mass));
  }
  const Wide total = sums.back();
  for (Wide& sum : sums) sum /= total;
  return sums;
}

TEST(Geometric, TheExactWayHasTheDistributionOfItsFormulaToTheLastBit) {
  // No statistics: the 64 bits at which the drawn symbol changes are the distribution function.
  for (const GeometricDistribution& distribution :
       {GeometricDistribution{0.01, 1, 1, true}, GeometricDistribution{1.0, 0, 0, true},
        GeometricDistribution{0.7, 3, 3, true}, GeometricDistribution{5e-4, 10, 10, true},
        GeometricDistribution{2.5, 5, 5, true}, GeometricDistribution{0.7, 3, 118, false},
        GeometricDistribution{4.0, 1, 21, false}}) {
    const ExactGeometric sampler(distribution);
    for (const std::int64_t input : {-distribution.reach, std::int64_t{0}, distribution.reach}) {
      EXPECT_TRUE(sampler.sums_to_one(input));
      const std::vector<Wide> sums = cumulative(distribution, input);
      for (Symbol symbol = -std::min<Symbol>(distribution.bound, 12);
           symbol < std::min<Symbol>(distribution.bound, 12); ++symbol) {
        const Wide expected =
            ldexp(sums[static_cast<std::size_t>(symbol + distribution.bound)], 64);
        const Wide seen = Wide(first_above(sampler, input, symbol));
        // Of the 64 bits at `expected` the next ones are zero in this test, so they do not exceed
        // it.
        ASSERT_GE(seen, expected) << distribution.rate << ' ' << input << ' ' << symbol;
        ASSERT_LT(seen, expected + 1) << distribution.rate << ' ' << input << ' ' << symbol;
      }
    }
  }
}

TEST(Geometric, TheFarthestTailIsReachedByDrawingOn) {
  struct Case {
    GeometricDistribution distribution;
    double bits_needed;
  };
  for (const auto& [distribution, bits_needed] :
       {Case{{.rate = 500.0, .reach = 1, .bound = 1, .cut = true}, 1000.0 / std::log(2.0)},
        Case{{.rate = 2.1525e-7, .reach = 10'000'000'000, .bound = 10'000'000'000, .cut = true},
             4305.0 / std::log(2.0)}}) {
    const ExactGeometric sampler(distribution);
    for (const bool ones : {false, true}) {
      std::size_t drawn = 64;
      const std::uint64_t word = ones ? ~std::uint64_t{0} : 0;
      const UnitBits bits{word, [&] {
                            drawn += 64;
                            return word;
                          }};
      const Symbol far = ones ? distribution.bound : -distribution.bound;
      EXPECT_EQ(sampler.draw(-far, bits), far);
      EXPECT_GE(static_cast<double>(drawn), bits_needed);
      EXPECT_LE(static_cast<double>(drawn), 2.2 * bits_needed + 256.0);
      // One bit of the other kind after 300 keeps it far from that end.
      std::size_t words = 1;
      const Symbol nearer = sampler.draw(-far, {word, [&] {
                                                  ++words;
                                                  return words == 5 ? ~word : word;
                                                }});
      EXPECT_NE(nearer, far);
    }
  }
}

TEST(Geometric, AWordWithoutEndIsAskedForNoMoreThanItNeeds) {
  // laplace gathers its tails: zeros are certain to be beyond the bound after 128 bits.
  const ExactGeometric sampler({.rate = 0.3, .reach = 10, .bound = 277, .cut = false});
  std::size_t drawn = 0;
  EXPECT_EQ(sampler.draw(10, {0,
                              [&] {
                                ++drawn;
                                return std::uint64_t{0};
                              }}),
            -277);
  EXPECT_GE(drawn, 1U);
  EXPECT_LE(drawn, 3U);
}

/// The largest log-ratio of a table of integer masses; infinite where only one input can.
double epsilon_of(const std::vector<std::vector<Integer>>& masses) {
  double epsilon = 0.0;
  for (const auto& one : masses) {
    for (const auto& other : masses) {
      for (std::size_t y = 0; y < one.size(); ++y) {
        if (one[y] == 0) continue;
        if (other[y] == 0) return std::numeric_limits<double>::infinity();
        epsilon = std::max(epsilon, exact::log_ratio_up(one[y], other[y]));
      }
    }
  }
  return epsilon;
}

TEST(Geometric, PlantedFixedThresholdsAreRefuted) {
  // The same distribution with thresholds of 64 and of 2048 bits: a = 25, D = 4, epsilon 100.
  const GeometricDistribution distribution{.rate = 25.0, .reach = 2, .bound = 2, .cut = true};
  const auto table = [&](unsigned bits) {
    std::vector<std::vector<Integer>> masses;
    for (std::int64_t input = -2; input <= 2; ++input) {
      const std::vector<Wide> sums = cumulative(distribution, input);
      std::vector<Integer> row;
      Integer before = 0;
      for (Symbol y = -2; y <= 2; ++y) {
        Integer until(Wide(floor(
            ldexp(sums[static_cast<std::size_t>(y + 2)], static_cast<int>(bits)) + Wide(0.5))));
        if (y == 2) until = Integer(1) << bits;
        row.push_back(until - before);
        before = until;
      }
      masses.push_back(row);
    }
    return masses;
  };
  EXPECT_TRUE(std::isinf(epsilon_of(table(64))));
  EXPECT_NEAR(epsilon_of(table(1000)), 100.0, 1e-9);
}

}  // namespace
}  // namespace sotto
