// What vector mechanisms are made of: normal deviates (accuracy, symmetry, distribution), sums that
// do not depend on the machine and are odd, and the distribution of one coordinate of a uniform
// direction.
#include "mechanism/vector/normal.h"

#include <boost/math/distributions/normal.hpp>
#include <numbers>

#include "base/exact/sums.h"
#include "mechanism/vector/sphere.h"
#include "mechanism/vector/vector_kernels.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

std::vector<std::uint64_t> random_words(std::size_t count, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "normal test");
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = bits.next_u64();
  return words;
}

/// The pair of (radius word, angle word) in long double, and the radius.
struct Pair {
  long double first, second, radius;
};
Pair reference(std::uint64_t radius_word, std::uint64_t angle_word) {
  const long double below = (static_cast<long double>(radius_word >> 1) + 0.5L) * 0x1p-63L;
  // Near 1 the logarithm needs the distance from 1, which is exact here.
  const long double from_one = -(static_cast<long double>((~radius_word) >> 1) + 0.5L) * 0x1p-63L;
  const long double radius =
      std::sqrt(-2.0L * (below > 0.5L ? std::log1p(from_one) : std::log(below)));
  const long double angle = static_cast<long double>(angle_word & ((kTop >> 2) - 1)) * 0x1p-61L *
                            std::numbers::pi_v<long double> / 4.0L;
  long double first = radius * std::cos(angle), second = radius * std::sin(angle);
  if ((angle_word & (kTop >> 2)) != 0) std::swap(first, second);
  if ((angle_word & kTop) != 0) first = -first;
  if ((angle_word & (kTop >> 1)) != 0) second = -second;
  return {first, second, radius};
}

/// The largest error in units of the bound 10 u r + 2 u + u / (2 r) that normal.h states for the
/// middle of the numbers that share a word.
double largest_error(const std::vector<std::uint64_t>& words) {
  const std::size_t pairs = words.size() / 2;
  std::vector<double> out(2 * pairs);
  normals(words.data(), pairs, out.data());
  double largest = 0.0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const Pair ideal = reference(words[i], words[pairs + i]);
    const auto r = static_cast<double>(ideal.radius);
    const double bound = 10.0 * kUnit * r + 2.0 * kUnit + (r < 0x1p-20 ? 1.0 : 0.5) * kUnit / r;
    const auto off = static_cast<double>(
        std::max(std::abs(out[i] - ideal.first), std::abs(out[pairs + i] - ideal.second)));
    largest = std::max(largest, off / bound);
  }
  return largest;
}

TEST(Normal, KeepsItsErrorBound) {
  EXPECT_LE(largest_error(random_words(2'000'000 / 32 * 32, 1)), 1.0);
  // Radii and angles where a series or a rounding has its ends: powers of two and their
  // neighbours, sqrt(1/2), 0 and pi / 4.
  std::vector<std::uint64_t> radii, angles;
  for (int power = 1; power < 64; ++power) {
    for (const std::int64_t near : {-2, -1, 0, 1, 2}) {
      radii.push_back((std::uint64_t{1} << power) + static_cast<std::uint64_t>(near));
      radii.push_back(~((std::uint64_t{1} << power) + static_cast<std::uint64_t>(near)));
      radii.push_back(static_cast<std::uint64_t>(std::ldexp(std::sqrt(0.5), power)) +
                      static_cast<std::uint64_t>(near));
    }
  }
  while (radii.size() % 16 != 0) radii.push_back(radii.size());
  for (std::size_t i = 0; i < radii.size(); ++i) {
    const std::uint64_t ends[] = {0, 1, (kTop >> 2) - 1, (kTop >> 2) - 2, kTop >> 3};
    angles.push_back(ends[i % 5] | (static_cast<std::uint64_t>(i % 8) << 61));
  }
  radii.insert(radii.end(), angles.begin(), angles.end());
  EXPECT_LE(largest_error(radii), 1.0);
}

TEST(Normal, IsMirroredExactlyByTwoBits) {
  constexpr std::size_t kPairs = 4096;
  auto words = random_words(2 * kPairs, 2);
  std::vector<double> there(2 * kPairs), back(2 * kPairs);
  normals(words.data(), kPairs, there.data());
  std::vector<std::uint32_t> narrow(2 * kPairs);
  for (std::size_t i = 0; i < narrow.size(); ++i) narrow[i] = static_cast<std::uint32_t>(words[i]);
  std::vector<std::int16_t> lattice_there(2 * kPairs), lattice_back(2 * kPairs);
  lattice_normals(narrow.data(), kPairs, lattice_there.data());
  for (std::size_t i = kPairs; i < 2 * kPairs; ++i) {
    words[i] ^= kTop | kTop >> 1;
    narrow[i] ^= 0xC0000000U;
  }
  normals(words.data(), kPairs, back.data());
  lattice_normals(narrow.data(), kPairs, lattice_back.data());
  for (std::size_t i = 0; i < 2 * kPairs; ++i) {
    ASSERT_EQ(there[i], -back[i]);
    ASSERT_EQ(lattice_there[i], -lattice_back[i]);
  }
}

/// P of the counts of values in cells of a quarter against the normal distribution (the last cells
/// are open, from 4.5 on). 2^21 values, false alarm 1e-6: it finds a cell of probability p that is
/// off by 6 sqrt(p / 2^21), 0.2 % of itself in the middle and 40 % beyond 4.
double normal_p(const std::vector<double>& values) {
  const boost::math::normal distribution;
  std::map<Symbol, std::uint64_t> counts;
  std::map<Symbol, double> log_probs;
  for (const double value : values) {
    ++counts[std::clamp<Symbol>(static_cast<Symbol>(std::floor(4.0 * value)), -18, 17)];
  }
  for (Symbol cell = -18; cell < 18; ++cell) {
    const double low = cell == -18 ? 0.0 : cdf(distribution, static_cast<double>(cell) / 4.0);
    const double high = cell == 17 ? 1.0 : cdf(distribution, static_cast<double>(cell + 1) / 4.0);
    log_probs[cell] = std::log(high - low);
  }
  return chi_square_p(counts, log_probs, values.size());
}

std::vector<double> from_lattice(const std::vector<std::uint64_t>& words, std::uint32_t cleared) {
  const std::size_t pairs = words.size() / 2;
  std::vector<std::uint32_t> narrow(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    narrow[i] = static_cast<std::uint32_t>(words[i]) & (i < pairs ? ~0U : ~cleared);
  }
  std::vector<std::int16_t> out(words.size());
  lattice_normals(narrow.data(), pairs, out.data());
  std::vector<double> values;
  BitSource bits = BitSource::from_seed(3, "jitter");
  // Spread over the lattice cell, so that cells of the test cut the distribution where they should.
  for (const std::int16_t value : out) values.push_back((value + bits.unit() - 0.5) / kNormalScale);
  return values;
}

TEST(Normal, HasTheNormalDistribution) {
  const auto words = random_words(std::size_t{1} << 21, 4);
  std::vector<double> values(words.size());
  normals(words.data(), words.size() / 2, values.data());
  EXPECT_GT(normal_p(values), 1e-6);
  EXPECT_GT(normal_p(from_lattice(words, 0)), 1e-6);
  // First and second value of a pair: no correlation of values or of squares.
  const std::size_t pairs = words.size() / 2;
  double product = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < pairs; ++i) {
    product += values[i] * values[pairs + i];
    squares += (values[i] * values[i] - 1.0) * (values[pairs + i] * values[pairs + i] - 1.0);
  }
  const double n = std::sqrt(static_cast<double>(pairs));
  EXPECT_LT(std::abs(product), 4.9 * n);
  EXPECT_LT(std::abs(squares), 4.9 * 2.0 * n);
}

TEST(Normal, PlantedDefectsAreFound) {
  const auto words = random_words(std::size_t{1} << 18, 5);
  EXPECT_LT(normal_p(from_lattice(words, 0x80000000U)), 1e-6);  // the first value never negative
  EXPECT_LT(normal_p(from_lattice(words, 0x10000000U)), 1e-6);  // half of each octant
  auto scaled = from_lattice(words, 0);
  for (double& value : scaled) value *= 1.02;
  EXPECT_LT(normal_p(scaled), 1e-6);
}

TEST(Sums, AreTheSameOnEveryLevelAndOdd) {
  const SimdLevel before = simd_level();
  BitSource bits = BitSource::from_seed(6, "sums");
  for (const std::size_t count : {std::size_t{32}, std::size_t{96}, std::size_t{4096}}) {
    std::vector<double> a(count), minus(count);
    std::vector<float> b(count);
    long double exact = 0.0L, magnitude = 0.0L;
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = bits.normal() * std::ldexp(1.0, static_cast<int>(bits.below(20)));
      b[i] = static_cast<float>(bits.normal());
      minus[i] = -a[i];
      exact += static_cast<long double>(a[i]) * b[i];
      magnitude += std::abs(static_cast<long double>(a[i]) * b[i]);
    }
    set_simd_level(SimdLevel::kScalar);
    const WideSum expected = dot(a.data(), b.data(), count);
    EXPECT_LE(std::abs(expected.value() - exact), 0x1p-51L * magnitude);
    for (const SimdLevel level : simd_levels()) {
      set_simd_level(level);
      const WideSum there = dot(a.data(), b.data(), count);
      const WideSum back = dot(minus.data(), b.data(), count);
      EXPECT_EQ(there.high, expected.high);
      EXPECT_EQ(there.low, expected.low);
      EXPECT_EQ(back.high, -expected.high);
      EXPECT_EQ(back.low, -expected.low);
    }
  }
  set_simd_level(before);
}

TEST(Sums, KeepWhatPlainAdditionLoses) {
  // In each lane 1 and then 127 times 2^-53, every one of which rounds away when added alone.
  std::vector<double> a(4096, 0x1p-53), ones(4096, 1.0);
  std::fill(a.begin(), a.begin() + kSumLanes, 1.0);
  EXPECT_EQ(dot(a.data(), ones.data(), 4096).value(), 32.0 * (1.0 + 127.0 * 0x1p-53));
}

TEST(Lattice, RoundingIsOdd) {
  const SimdLevel before = simd_level();
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    // 0.5 and 1.5 make ties; 3.7 is cut off from 8,856 on.
    for (const float factor : {0.0F, 0.5F, 1.5F, 1.00001F, 0.3F, 3.7F}) {
      std::vector<std::int16_t> there(65'536), back(65'536);
      for (int i = 0; i < 65'536; ++i) {
        there[static_cast<std::size_t>(i)] =
            static_cast<std::int16_t>(std::max(i - 32'768, -32'767));
        back[static_cast<std::size_t>(i)] =
            static_cast<std::int16_t>(-there[static_cast<std::size_t>(i)]);
      }
      const auto from = there;
      rescale(there.data(), there.size(), factor);
      rescale(back.data(), back.size(), factor);
      for (std::size_t i = 0; i < there.size(); ++i) {
        ASSERT_EQ(there[i], -back[i]) << from[i] << " times " << factor;
        const double real = std::clamp(static_cast<double>(from[i]) * factor, -32767.0, 32767.0);
        ASSERT_LE(std::abs(there[i] - real), 0.502) << from[i] << " times " << factor;
      }
    }
  }
  set_simd_level(before);
}

// Computed with 40 digits.
struct Tail {
  std::size_t dimension;
  double psi;
  double probability;
};
constexpr Tail kTails[] = {{2, 0.3, 0.40450703414486280207},
                           {2, 1.2, 0.11802813657945120829},
                           {3, 0.3, 0.35223989666933021775},
                           {3, 1.4, 0.0072751350057699172183},
                           {10, 0.1, 0.38512472863501399572},
                           {10, 1.0, 0.0005824631706674073419},
                           {1000, 0.02, 0.26369274426725092226},
                           {1000, 0.1, 0.0007819824963266139104},
                           {1000, 0.25, 9.9869715066187570437e-16},
                           {8340, 0.04, 0.00012954526674826227815},
                           {5611878, 0.0005, 0.11811353227397654299},
                           {5611878, 0.002, 1.079820229914732026e-6},
                           {5611878, 0.0035, 5.6009480872694283876e-17},
                           {10000000, 0.0001, 0.37591482592321380331},
                           {10000000, 0.0028, 4.2074152080804593338e-19}};

TEST(Sphere, HasATableOfAngles) {
  for (const std::size_t dimension : {64UL, 8'340UL, 5'611'878UL}) {
    const Sphere sphere(dimension);
    const AngleTable starts(sphere);
    const double unit = std::sqrt(static_cast<double>(dimension));
    for (double deviate = 0.01; deviate < 8.0; deviate += 0.0917) {
      const double angle = sphere.angle(0.5 * std::erfc(deviate / std::numbers::sqrt2));
      ASSERT_NEAR(starts.angle(deviate) * unit, angle * unit, 1e-9) << dimension << ' ' << deviate;
    }
  }
}

TEST(Sphere, HasTheTailsOfOneCoordinate) {
  for (const Tail& tail : kTails) {
    const Sphere sphere(tail.dimension);
    EXPECT_NEAR(sphere.tail(tail.psi) / tail.probability, 1.0, 0x1p-46) << tail.dimension;
    const double unit = std::sqrt(static_cast<double>(tail.dimension));
    // In units of 1 / sqrt d, as the error budget of privunit counts it.
    EXPECT_NEAR(sphere.angle(tail.probability) * unit, tail.psi * unit, 0x1p-46) << tail.dimension;
    if (tail.dimension == 2) continue;
    const AngleTable starts(sphere);
    EXPECT_NEAR(sphere.angle(tail.probability, starts) * unit, tail.psi * unit, 0x1p-46)
        << tail.dimension;
  }
  EXPECT_EQ(Sphere(17).angle(0.5), 0.0);
}

TEST(Sphere, HasTheMeanOfTheFormula) {
  const std::pair<std::size_t, double> expected[] = {{2, 1.57079632679489662},
                                                     {3, 2.0},
                                                     {10, 3.8656315854718159},
                                                     {1000, 39.623365897903642},
                                                     {10'000'000, 3963.32719852282981}};
  for (const auto& [dimension, value] : expected) {
    const Sphere sphere(dimension);
    EXPECT_NEAR(sphere.inverse_mean() / value, 1.0, 1e-14);
    EXPECT_NEAR(2.0 * sphere.partial_mean(0.0) * value, 1.0, 1e-14);
  }
}

}  // namespace
}  // namespace sotto
