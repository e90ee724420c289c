// privunit's two paths: doubles whose error bound holds against 384 bits, the quantile in real
// arithmetic, planted vectors that doubles get wrong and the mechanism does not.
#include "mechanism/privunit.h"

#include <boost/math/special_functions/beta.hpp>
#include <limits>

#include "base/exact/sums.h"
#include "mechanism/vector/normal.h"
#include "mechanism/vector/privunit_bound.h"
#include "mechanism/vector/privunit_exact.h"
#include "mechanism/vector/sphere.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

constexpr double kAlways = std::numeric_limits<double>::infinity();
constexpr std::size_t kBlock = 4096;

std::unique_ptr<Mechanism> privunit(std::size_t size, double epsilon, double caution) {
  auto mechanism = make_privunit(Domain{flat_layout(size), {Range{0.0, 1.0}}},
                                 {{"epsilon", epsilon}, {"norm", 1.0}}, caution);
  EXPECT_TRUE(mechanism);
  return mechanism ? std::move(*mechanism) : nullptr;
}

/// Inputs of every kind: an axis, all equal, normal, one large coordinate among tiny ones.
enum class Input { kAxis, kEqual, kNormal, kUneven };
std::vector<float> input_of(Input kind, std::size_t size, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "privunit input");
  std::vector<float> x(size, 0.0F);
  const auto scale = static_cast<float>(0.9 / std::sqrt(static_cast<double>(size)));
  for (float& value : x) {
    if (kind == Input::kEqual) value = scale;
    if (kind == Input::kNormal) value = scale * 0.5F * static_cast<float>(bits.normal());
    if (kind == Input::kUneven) value = static_cast<float>(1e-20 * bits.normal());
  }
  if (kind == Input::kAxis || kind == Input::kUneven) x[size / 2] = -0.8F;
  return x;
}

double to_double(const Real& value) { return value.convert_to<double>(); }

// ---- the quantile

TEST(PrivUnitExact, QuantileHasItsClosedForms) {
  const Real& pi = boost::math::constants::pi<Real>();
  for (const double exponent : {1.0, 1.01, 1.5, 2.0, 3.0, 10.0, 40.0, 100.0, 160.0}) {
    const Real p = exp(Real(-exponent) * log(Real(2)));
    const RealAngle two = exact_angle(2, p);
    EXPECT_LT(abs(two.sine - cos(pi * p)), ldexp(Real(1), -360)) << exponent;
    EXPECT_LT(abs(two.cosine / sin(pi * p) - 1), ldexp(Real(1), -180)) << exponent;
    const RealAngle three = exact_angle(3, p);
    EXPECT_LT(abs(three.sine - (1 - 2 * p)), ldexp(Real(1), -360)) << exponent;
    EXPECT_LT(abs(three.cosine / sqrt(4 * p * (1 - p)) - 1), ldexp(Real(1), -180)) << exponent;
  }
}

/// Against Boost's incomplete beta function, which keeps 50 of 120 digits; both sides of the change
/// of series.
TEST(PrivUnitExact, QuantileInvertsTheBetaFunction) {
  using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<120>,
                                             boost::multiprecision::et_off>;
  for (const std::size_t size : {std::size_t{4}, std::size_t{7}, std::size_t{63}, std::size_t{64},
                                 std::size_t{1000}, std::size_t{8340}}) {
    for (const double p : {0.5, 0.499, 0.3, 0.1, 0.01, 1e-6, 1e-19, 1e-40}) {
      const RealAngle angle = exact_angle(size, Real(p));
      EXPECT_LT(abs(angle.sine * angle.sine + angle.cosine * angle.cosine - 1),
                ldexp(Real(1), -370));
      const Wide s(angle.sine);
      const Wide two_sided = boost::math::ibetac(Wide(0.5), Wide(size - 1) / 2, Wide(s * s)) / 2;
      EXPECT_LT(abs(two_sided / Wide(p) - 1), Wide(1e-50)) << size << " at " << p;
    }
  }
}

/// The double's error, in the units of 2^-42 / sqrt(d) that angle_error() allows.
TEST(PrivUnitExact, QuantileInDoublesKeepsItsBound) {
  double largest = 0.0;
  for (const std::size_t size : {std::size_t{2}, std::size_t{3}, std::size_t{4}, std::size_t{5},
                                 std::size_t{10}, std::size_t{63}, std::size_t{64},
                                 std::size_t{1000}, std::size_t{8340}, std::size_t{200'000}}) {
    const Sphere sphere(size);
    BitSource bits = BitSource::from_seed(size, "quantile");
    for (int i = 0; i < 24; ++i) {
      const double p = i == 0 ? 0.5 : i < 8 ? 0.5 * bits.unit() : std::exp2(-3.0 * i);
      if (!(p > 0.0)) continue;
      const Real psi = sphere.angle(p);
      const RealAngle angle = exact_angle(size, Real(p));
      const double off = std::abs(to_double(sin(psi) * angle.cosine - cos(psi) * angle.sine));
      largest = std::max(largest, off / angle_error(size, 0.0));
    }
  }
  EXPECT_LT(largest, 0.0625);
  EXPECT_GT(largest, 0x1p-14) << "nothing was compared";
}

// ---- deviates

TEST(PrivUnitExact, UniformNumbersBeginWithTheirWords) {
  BitSource bits = BitSource::from_seed(1, "uniform");
  const StreamKey key(bits);
  BlockStream stream(key);
  stream.seek(3);
  std::uint64_t words[40];
  stream.fill(std::span<std::uint64_t>(words));
  for (std::size_t i = 0; i < 40; ++i) {
    const Real whole = uniform_from(words[i], 64, stream.more(i));
    EXPECT_EQ(Real(floor(ldexp(whole, 64))), Real(words[i]));
    EXPECT_NE(Real(ldexp(whole, 64) - words[i]), Real(0.5));  // the further bits are there
    const Real part = uniform_from(words[i], 61, stream.more(i));
    EXPECT_EQ(Real(floor(ldexp(part, 61))), Real(words[i] << 3 >> 3));
  }
}

/// No two words share what follows them: position i of the block has the further bits i.
TEST(PrivUnitExact, EveryWordHasFurtherBitsOfItsOwn) {
  BitSource bits = BitSource::from_seed(5, "further");
  const StreamKey key(bits);
  BlockStream stream(key);
  const std::size_t count = 50, pairs = padded(count) / 2;
  const std::vector<Real> noise = exact_normals(stream, 2, count);
  std::vector<std::uint64_t> words(2 * pairs);
  stream.seek(2);
  stream.fill(std::span(words));
  ASSERT_EQ(noise.size(), count);
  for (std::size_t i = 0; i < pairs; ++i) {
    const RealPair pair = exact_pair(uniform_from(words[i], 64, stream.more(i)), words[pairs + i],
                                     uniform_from(words[pairs + i], 61, stream.more(pairs + i)));
    EXPECT_EQ(noise[i], pair.first);
    if (pairs + i < count) {
      EXPECT_EQ(noise[pairs + i], pair.second);
    }
  }
}

/// The real numbers that begin with `word`: the first, the last and the middle one.
Real beginning_with(std::uint64_t word, unsigned bits, int which) {
  const std::uint64_t used = bits == 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
  const Real open = which == 0   ? ldexp(Real(1), -300)
                    : which == 1 ? Real(1 - ldexp(Real(1), -300))
                                 : Real(0.5);
  return ldexp(Real(used) + open, -static_cast<int>(bits));
}

TEST(PrivUnitExact, DeviatesKeepTheirBoundAtTheEndsOfTheirWords) {
  BitSource bits = BitSource::from_seed(2, "deviates");
  std::vector<std::uint64_t> radii, turns;
  for (int power = 18; power < 64; ++power) {
    for (const std::int64_t near : {-1, 0, 1}) {
      const auto word = (std::uint64_t{1} << power) + static_cast<std::uint64_t>(near);
      for (const std::uint64_t radius : {word, ~word}) {
        radii.push_back(radius);
        const std::uint64_t angles[] = {0, 1, (std::uint64_t{1} << 61) - 1, bits.next_u64()};
        turns.push_back(angles[radii.size() % 4] ^ bits.next_u64() << 61);
      }
    }
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < radii.size(); ++i) {
    std::vector<std::uint64_t> words(2 * kPairGroup, std::uint64_t{1} << 62);
    std::fill(words.begin(), words.begin() + kPairGroup, radii[i]);
    words[kPairGroup] = turns[i];
    std::vector<double> out(words.size());
    const RadiusRange range = normals(words.data(), kPairGroup, out.data());
    const double bound = deviate_error(range);
    if (std::isinf(bound)) continue;
    for (const int which : {0, 1, 2}) {
      const RealPair pair = exact_pair(beginning_with(radii[i], 64, which), turns[i],
                                       beginning_with(turns[i], 61, which));
      const double off = std::max(std::abs(to_double(pair.first - out[0])),
                                  std::abs(to_double(pair.second - out[kPairGroup])));
      largest = std::max(largest, off / bound);
    }
  }
  EXPECT_LT(largest, 1.0);
  EXPECT_GT(largest, 0.1);
  // Radii at which 63 bits say too little are not bounded at all.
  EXPECT_TRUE(std::isinf(deviate_error({0x1p-21, 1.0})));
  EXPECT_TRUE(std::isinf(deviate_error({1.0, 8.1})));
  EXPECT_TRUE(std::isinf(deviate_error({std::nan(""), 1.0})));
}

// ---- the whole vector

/// The sampler's arithmetic in doubles beside the same in real arithmetic.
struct Both {
  double largest = 0.0;  // |double - real| in units of the bound
  double largest_bound = 0.0;
  bool bounded = false;
};

struct Drawing {
  std::vector<double> noise;
  std::vector<Real> real;
  std::vector<RadiusRange> radii;
};

Drawing draw(std::size_t size, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "vector");
  const StreamKey key(bits);
  BlockStream stream(key);
  Drawing drawing;
  for (std::size_t first = 0; first < size; first += kBlock) {
    const std::size_t count = std::min(kBlock, size - first), all = padded(count);
    std::vector<std::uint64_t> words(all);
    std::vector<double> noise(all);
    stream.seek(first / kBlock);
    stream.fill(std::span(words));
    drawing.radii.push_back(normals(words.data(), all / 2, noise.data()));
    drawing.noise.insert(drawing.noise.end(), noise.begin(),
                         noise.begin() + static_cast<std::ptrdiff_t>(count));
    for (Real& value : exact_normals(stream, first / kBlock, count)) drawing.real.push_back(value);
  }
  return drawing;
}

/// `probability` is the tail that t belongs to; `relative` what is open about it.
Both compare(const Drawing& drawing, const std::vector<float>& x, double probability, bool minus) {
  const std::size_t size = x.size();
  FastVector fast;
  fast.dimension = size;
  fast.psi = Sphere(size).angle(probability);
  fast.psi_error = angle_error(size, 0x1p-60);
  fast.minus = minus;
  WideSum squares, products, inputs;
  std::vector<double> errors;
  for (std::size_t first = 0; first < size; first += kBlock) {
    const std::size_t count = std::min(kBlock, size - first), all = padded(count);
    std::vector<double> noise(all, 0.0);
    std::vector<float> input(all, 0.0F);
    std::copy_n(drawing.noise.begin() + static_cast<std::ptrdiff_t>(first), count, noise.begin());
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), count, input.begin());
    squares.add(dot(noise.data(), noise.data(), all));
    products.add(dot(noise.data(), input.data(), all));
    inputs.add(dot(input.data(), input.data(), all));
    errors.push_back(deviate_error(drawing.radii[first / kBlock]));
    fast.noise.add(drawing.radii[first / kBlock], errors.back(), count);
  }
  fast.square = squares.value();
  fast.length = std::sqrt(inputs.value());
  fast.along = products.value() / fast.length;
  const FastPlan plan = plan_fast(fast);

  // The real probability may be anywhere in what is open: here at its end.
  RealAngle angle = exact_angle(size, Real(probability) * (1 + ldexp(Real(1), -60)));
  if (minus) angle.sine = -angle.sine;
  RealSums sums;
  sums.add(drawing.real, x);
  const RealPlan real = plan_exactly(size, sums, angle);
  Both both;
  both.bounded = std::isfinite(plan.off.flat + plan.off.of_value + plan.off.of_input);
  if (!both.bounded) return both;
  for (std::size_t i = 0; i < size; ++i) {
    const double value = drawing.noise[i] * plan.a + static_cast<double>(x[i]) * plan.b;
    const double bound = plan.off.flat * errors[i / kBlock] + plan.off.of_value * std::abs(value) +
                         plan.off.of_input * std::abs(static_cast<double>(x[i]));
    const double off = std::abs(to_double(real.a * drawing.real[i] + real.b * Real(x[i]) - value));
    both.largest = std::max(both.largest, off / bound);
    both.largest_bound = std::max(both.largest_bound, bound);
  }
  return both;
}

TEST(PrivUnitBound, HoldsForEveryCoordinate) {
  std::size_t bounded = 0, all = 0;
  for (const std::size_t size :
       {std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{32}, std::size_t{63},
        std::size_t{64}, std::size_t{1000}, std::size_t{8340}}) {
    const std::uint64_t seeds = size < 10 ? 40 : size < 1000 ? 8 : 1;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Drawing drawing = draw(size, seed);
      BitSource bits = BitSource::from_seed(seed, "tails");
      for (const Input kind : {Input::kAxis, Input::kEqual, Input::kNormal, Input::kUneven}) {
        for (const double p : {0.49, 0.3 * bits.unit() + 1e-9, 1e-12}) {
          const Both both = compare(drawing, input_of(kind, size, seed), p, (seed & 1) != 0);
          ++all;
          bounded += both.bounded ? 1 : 0;
          EXPECT_LT(both.largest, 1.0) << size << ' ' << seed << ' ' << p;
          // The slow path must stay a rarity: 2 d times the bound is its probability.
          if (size >= 64 && both.bounded && kind != Input::kAxis && kind != Input::kUneven) {
            EXPECT_LT(both.largest_bound, 0x1p-37) << size;
          }
        }
      }
    }
  }
  EXPECT_GT(bounded, all * 9 / 10);  // tails of 1e-12 in two dimensions are not
}

/// Noise that is almost parallel to x: what is left of it has lost its digits.
TEST(PrivUnitBound, HoldsForNoiseAlongTheInput) {
  double widest = 0.0;
  for (const std::size_t size : {std::size_t{2}, std::size_t{3}, std::size_t{64}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Drawing drawing = draw(size, seed);
      for (const double apart : {0.1, 1e-3, 1e-5, 1e-7}) {
        std::vector<float> x;
        for (std::size_t i = 0; i < size; ++i) {
          const double bend = (i % 2 == 0 ? apart : -apart);
          x.push_back(static_cast<float>(0.01 * (drawing.noise[i] + bend)));
        }
        const Both both = compare(drawing, x, 0.01, false);
        EXPECT_LT(both.largest, 1.0) << size << ' ' << seed << ' ' << apart;
        widest = std::max(widest, both.largest_bound);
      }
    }
  }
  EXPECT_GT(widest, 1e-6);
}

// ---- symbols

TEST(PrivUnitKernel, IsSureOfWhatCannotRoundOtherwise) {
  const SimdLevel before = simd_level();
  const Combination how{1.0, 1.0, 127.0};
  const auto sure = [&](double value, const Uncertainty& off, float x = 0.0F) {
    std::vector<double> noise(32, 0.25);
    std::vector<float> input(32, 0.0F);
    std::vector<std::int32_t> out(32), plain(32);
    noise[13] = value - static_cast<double>(x);
    input[13] = x;
    const bool answer = combine_surely(how, off, noise.data(), input.data(), 32, out.data());
    combine(how, noise.data(), input.data(), 32, plain.data());
    EXPECT_EQ(out, plain);
    return answer;
  };
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    for (const double boundary : {0.5, -0.5, 17.5, -126.5, 126.5}) {
      for (const double side : {-1.0, 1.0}) {
        EXPECT_FALSE(sure(boundary, {1e-9, 0.0, 0.0}));
        EXPECT_FALSE(sure(boundary + side * 0.99e-9, {1e-9, 0.0, 0.0})) << boundary;
        EXPECT_TRUE(sure(boundary + side * 1.01e-9, {1e-9, 0.0, 0.0})) << boundary;
        const double size = std::abs(boundary);
        EXPECT_FALSE(sure(boundary + side * 0.99e-9 * size, {0.0, 1e-9, 0.0})) << boundary;
        EXPECT_TRUE(sure(boundary + side * 1.01e-9 * size, {0.0, 1e-9, 0.0})) << boundary;
        EXPECT_FALSE(sure(boundary + side * 1.99e-9, {0.0, 0.0, 1e-9}, -2.0F)) << boundary;
        EXPECT_TRUE(sure(boundary + side * 2.01e-9, {0.0, 0.0, 1e-9}, -2.0F)) << boundary;
      }
    }
    // Beyond the cut-off there is no boundary.
    for (const double far : {127.5, 128.5, -300.5}) EXPECT_TRUE(sure(far, {1e-3, 1e-6, 0.0}));
    EXPECT_FALSE(sure(0.25, {kAlways, 0.0, 0.0}));
    EXPECT_FALSE(sure(0.25, {0.0, 0.0, kAlways}));
    EXPECT_FALSE(sure(0.25, {0.0, std::nan(""), 0.0}));
    EXPECT_FALSE(sure(0.25, {0.3, 0.0, 0.0}));
  }
  set_simd_level(before);
}

TEST(PrivUnit, BothPathsGiveTheSameSymbols) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7},
                                 std::size_t{64}, std::size_t{100}, std::size_t{4097}}) {
    for (const double epsilon : {0.5, 5.0, 40.0}) {
      const auto fast = privunit(size, epsilon, 0.0), usual = privunit(size, epsilon, 1.0);
      const auto slow = privunit(size, epsilon, kAlways), often = privunit(size, epsilon, 0x1p28);
      const std::uint64_t seeds = size < 10 ? 60 : size < 1000 ? 6 : epsilon == 5.0 ? 1 : 0;
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        for (const Input kind : {Input::kEqual, Input::kUneven}) {
          const auto x = input_of(kind, size, seed);
          const auto expected = drawn(*slow, x, seed);
          EXPECT_EQ(drawn(*usual, x, seed), expected) << size << ' ' << seed;
          EXPECT_EQ(drawn(*fast, x, seed), expected) << size << ' ' << seed;
          EXPECT_EQ(drawn(*often, x, seed), expected) << size << ' ' << seed;
        }
      }
      if (size < 100) {
        const std::vector<float> zero(size, 0.0F);
        EXPECT_EQ(drawn(*usual, zero, 1), drawn(*slow, zero, 1));
      }
    }
  }
  // Any number of threads, any instruction set.
  const SimdLevel before = simd_level();
  const auto slow = privunit(5000, 3.0, kAlways);
  const auto x = input_of(Input::kNormal, 5000, 9);
  const auto expected = drawn(*slow, x, 9);
  set_simd_level(SimdLevel::kScalar);
  EXPECT_EQ(drawn(*slow, x, 9, 3), expected);
  set_simd_level(before);
}

/// Planted: x lies so close to the noise that it will meet that doubles have lost what is left. The
/// doubles alone are wrong, the mechanism is not.
TEST(PrivUnit, IsRightWhereDoublesAreWrong) {
  int wrong = 0;
  for (const std::size_t size : {std::size_t{2}, std::size_t{3}, std::size_t{64}}) {
    const auto fast = privunit(size, 3.0, 0.0), usual = privunit(size, 3.0, 1.0);
    const auto slow = privunit(size, 3.0, kAlways);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      BitSource bits = BitSource::from_seed(seed, "mechanism test");  // as drawn() does
      const StreamKey key(bits);
      BlockStream stream(key);
      stream.seek(0);
      std::vector<std::uint64_t> words(padded(size));
      stream.fill(std::span(words));
      std::vector<double> noise(words.size());
      normals(words.data(), words.size() / 2, noise.data());
      std::vector<float> x;
      for (std::size_t i = 0; i < size; ++i) x.push_back(static_cast<float>(0.01 * noise[i]));
      const auto expected = drawn(*slow, x, seed);
      EXPECT_EQ(drawn(*usual, x, seed), expected) << size << ' ' << seed;
      wrong += drawn(*fast, x, seed) != expected ? 1 : 0;
    }
  }
  EXPECT_GT(wrong, 5);
}

}  // namespace
}  // namespace sotto
