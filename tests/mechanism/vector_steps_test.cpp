// The steps that a device's kernels are made of (vector_steps.h), computed here one by one: the
// bits of the processor's vector kernels, and with them the symbols of privunit.
#include "mechanism/vector/vector_steps.h"

#include <limits>

#include "base/exact/sums.h"
#include "bound/fill_ball.h"
#include "mechanism/privunit.h"
#include "mechanism/vector/normal.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr double kAlways = std::numeric_limits<double>::infinity();

TEST(VectorSteps, PairsAreThoseOfNormals) {
  BitSource bits = BitSource::from_seed(1, "pairs");
  std::vector<std::uint64_t> words;
  for (int i = 0; i < 4096; ++i) words.push_back(bits.next_u64() >> (i < 512 ? i % 64 : 0));
  for (int i = 0; i < 4096; ++i) words.push_back(bits.next_u64() << (i < 512 ? i % 64 : 0));
  for (std::size_t i = 0; i < 64; ++i) words[600 + i] = ~(std::uint64_t{1} << i);
  const std::size_t pairs = words.size() / 2;
  std::vector<double> expected(words.size());
  const RadiusRange range = normals(words.data(), pairs, expected.data());
  double least = 16.0, most = 0.0;
  for (std::size_t i = 0; i < pairs; ++i) {
    double first = 0.0, second = 0.0;
    const double r = steps::normal_pair(words[i], words[pairs + i], first, second);
    least = std::min(least, r);
    most = std::max(most, r);
    ASSERT_EQ(steps::bits_of(first), steps::bits_of(expected[i])) << i;
    ASSERT_EQ(steps::bits_of(second), steps::bits_of(expected[pairs + i])) << i;
  }
  EXPECT_EQ(least, range.least);
  EXPECT_EQ(most, range.most);
}

/// dot() with a thread for each lane, as a warp computes it.
template <class A, class B>
WideSum dot_by_lanes(const A* a, const B* b, std::size_t count) {
  WideSum total;
  std::array<steps::LaneSum, kSumLanes> lanes;
  for (std::size_t i = 0; i < count; ++i) lanes[i % kSumLanes].add_product(a[i], b[i]);
  for (const steps::LaneSum& lane : lanes) {
    steps::add_wide(total.high, total.low, lane.sum);
    steps::add_wide(total.high, total.low, -lane.lost);
  }
  return total;
}

TEST(VectorSteps, LanesAddUpToDot) {
  BitSource bits = BitSource::from_seed(2, "lanes");
  for (const std::size_t count : {std::size_t{32}, std::size_t{160}, kBlock}) {
    std::vector<double> g(count);
    std::vector<float> x(count);
    for (std::size_t i = 0; i < count; ++i) {
      g[i] = bits.normal() * std::exp2(static_cast<double>(bits.below(40)));
      x[i] = static_cast<float>(bits.normal());
    }
    const WideSum expected = dot(g.data(), x.data(), count);
    const WideSum sum = dot_by_lanes(g.data(), x.data(), count);
    EXPECT_EQ(sum.high, expected.high);
    EXPECT_EQ(sum.low, expected.low);
    EXPECT_NE(sum.low, 0.0);
  }
}

std::vector<float> normal_values(std::size_t size, double scale, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "values");
  std::vector<float> x(size);
  for (float& value : x) value = static_cast<float>(scale * bits.normal());
  return x;
}

TEST(VectorSteps, FillingIsThatOfTheBall) {
  for (const std::size_t size : {1UL, 15UL, 16UL, 100UL, 8'340UL}) {
    for (const double scale : {0.0, 1e-30, 1e-6, 1.0, 1e30, 1e37}) {
      for (const double norm : {1.0, 0.25, 1e20}) {
        for (const double floor : {0.0, 1e-3}) {
          std::vector<float> x = normal_values(size, scale, size);
          std::vector<float> expected = x;
          fill_ball(expected, norm, floor);
          std::array<double, 16> lanes{};
          for (std::size_t i = 0; i < size; ++i) lanes[i % 16] += double{x[i]} * double{x[i]};
          double square = 0.0;
          for (const double lane : lanes) square += lane;
          const steps::Scaling scaling = steps::filling(square, norm, floor);
          for (std::size_t i = 0; i < size; ++i) x[i] = scaling.of(x[i], i);
          EXPECT_EQ(x, expected) << size << ' ' << scale << ' ' << norm << ' ' << floor;
        }
      }
    }
  }
}

/// The squares as the device adds them: whole lanes block by block, then the rest one by one.
double bound_square(const std::vector<float>& x) {
  WideSum sum;
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, x.size() - first);
    const WideSum block =
        dot_by_lanes(x.data() + first, x.data() + first, count / kSumLanes * kSumLanes);
    steps::add_wide(sum.high, sum.low, block.low);
    steps::add_wide(sum.high, sum.low, block.high);
  }
  for (std::size_t i = x.size() / kSumLanes * kSumLanes; i < x.size(); ++i) {
    steps::add_wide(sum.high, sum.low, double{x[i]} * double{x[i]});
  }
  return sum.value();
}

TEST(VectorSteps, ProjectingIsThatOfBound) {
  for (const std::size_t size : {1UL, 31UL, 33UL, 4'095UL, 8'340UL}) {
    for (const double scale : {0.0, 1e-3, 1.0, 1e37}) {
      const auto mechanism = made("privunit", {{"epsilon", 1.0}}, {0.0, 1.0}, size);
      std::vector<float> x = normal_values(size, scale, size);
      const Bounded expected = bound(Update(mechanism->domain().layout, x), mechanism->domain());
      const steps::Scaling scaling = steps::projecting(bound_square(x), 1.0);
      for (std::size_t i = 0; i < size; ++i) x[i] = scaling.of(x[i], i);
      EXPECT_TRUE(std::ranges::equal(x, expected.values())) << size << ' ' << scale;
    }
  }
}

struct Drawn {
  std::vector<Symbol> symbols;
  bool sure = true;
};

/// A report as a device draws it: nothing of the processor's but the parts for a whole vector.
Drawn drawn_by_steps(const Mechanism& mechanism, const std::vector<float>& bounded,
                     const StreamKey& key) {
  const PrivUnitParts& parts = *privunit_parts(mechanism);
  const std::size_t size = bounded.size(), blocks = (size + kBlock - 1) / kBlock;
  std::vector<float> x = bounded;
  x.resize(padded(size), 0.0F);
  const bool is_zero = bound_square(bounded) == 0.0;
  if (is_zero) x[0] = 1.0F;
  std::vector<double> noise(x.size());
  std::vector<PrivUnitParts::BlockSums> sums(blocks);
  BlockStream stream(key);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * kBlock, count = std::min(kBlock, size - first);
    const std::size_t all = padded(count), pairs = all / 2;
    std::vector<std::uint64_t> words(all);
    stream.seek(block);
    stream.fill(std::span(words));
    RadiusRange& range = sums[block].radii;
    range = {16.0, 0.0};
    double* const g = noise.data() + first;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double r = steps::normal_pair(words[i], words[pairs + i], g[i], g[pairs + i]);
      range = {std::min(range.least, r), std::max(range.most, r)};
    }
    std::fill(g + count, g + all, 0.0);
    sums[block].square = dot_by_lanes(g, g, all);
    sums[block].product = dot_by_lanes(g, x.data() + first, all);
    sums[block].input = dot_by_lanes(x.data() + first, x.data() + first, all);
  }
  std::vector<Uncertainty> off(blocks);
  const Combination how = parts.plan_of(parts.coins_of(key), is_zero, sums, off);
  Drawn drawn;
  for (std::size_t i = 0; i < size; ++i) {
    const Uncertainty& here = off[i / kBlock];
    std::int32_t symbol = 0;
    const double distance = steps::round_surely(
        {how.a, how.b, how.most, here.flat, here.of_value, here.of_input}, noise[i], x[i], symbol);
    drawn.sure = drawn.sure && steps::is_sure(distance);
    drawn.symbols.push_back(symbol);
  }
  return drawn;
}

std::unique_ptr<Mechanism> privunit(std::size_t size, Parameters parameters, double caution) {
  parameters.try_emplace("norm", 1.0);
  auto mechanism = make_privunit(Domain{flat_layout(size), {Range{0.0, 1.0}}}, parameters, caution);
  EXPECT_TRUE(mechanism);
  return mechanism ? std::move(*mechanism) : nullptr;
}

StreamKey key_of(std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "mechanism test");  // as drawn() does
  return StreamKey(bits);
}

TEST(VectorSteps, DrawPrivUnitsSymbols) {
  const Parameters settings[] = {
      {{"epsilon", 0.5}}, {{"epsilon", 3.2}, {"cap", 0.01}}, {{"epsilon", 12.0}, {"norm", 0.25}}};
  std::size_t sure = 0, all = 0;
  for (const std::size_t size : {1UL, 2UL, 37UL, 64UL, 4'096UL, 4'097UL, 8'340UL}) {
    for (const Parameters& parameters : settings) {
      if (size == 1 && parameters.contains("cap")) continue;
      const auto mechanism = privunit(size, parameters, 1.0);
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        // Inside the ball, on it, and zero.
        const double length = seed == 5 ? 0.0 : seed % 2 == 0 ? 3.0 : 0.05;
        const auto x = normal_values(size, length / std::sqrt(static_cast<double>(size)), seed);
        const Bounded bounded = bound(Update(mechanism->domain().layout, x), mechanism->domain());
        const std::vector<float> values(bounded.values().begin(), bounded.values().end());
        const std::vector<Symbol> expected = drawn(*mechanism, x, seed);
        const Drawn by_steps = drawn_by_steps(*mechanism, values, key_of(seed));
        EXPECT_EQ(privunit_parts(*mechanism)->symbols_of(values, key_of(seed)).unpacked(),
                  expected);
        ++all;
        if (!by_steps.sure && size > 1) continue;
        ++sure;
        EXPECT_EQ(by_steps.symbols, expected) << size << ' ' << seed;
      }
    }
  }
  EXPECT_GT(sure, all - 6);
}

/// Where doubles are wrong, the steps know that they may be; with no caution they do not.
TEST(VectorSteps, KnowWhatTheyLeaveUndecided) {
  int wrong = 0;
  for (const std::size_t size : {2UL, 3UL, 64UL}) {
    const auto usual = privunit(size, {{"epsilon", 3.0}}, 1.0);
    const auto bold = privunit(size, {{"epsilon", 3.0}}, 0.0);
    const auto slow = privunit(size, {{"epsilon", 3.0}}, kAlways);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      // Almost parallel to the noise that it will meet.
      BlockStream stream(key_of(seed));
      stream.seek(0);
      std::vector<std::uint64_t> words(padded(size));
      stream.fill(std::span(words));
      std::vector<double> noise(words.size());
      normals(words.data(), words.size() / 2, noise.data());
      std::vector<float> x;
      for (std::size_t i = 0; i < size; ++i) x.push_back(static_cast<float>(0.01 * noise[i]));
      const std::vector<Symbol> expected = drawn(*usual, x, seed);
      const Drawn steps = drawn_by_steps(*usual, x, key_of(seed));
      const Drawn boldly = drawn_by_steps(*bold, x, key_of(seed));
      EXPECT_TRUE(boldly.sure);
      EXPECT_FALSE(drawn_by_steps(*slow, x, key_of(seed)).sure);
      if (steps.sure) {
        EXPECT_EQ(steps.symbols, expected);
      }
      wrong += boldly.symbols != expected ? 1 : 0;
    }
  }
  EXPECT_GT(wrong, 5);
}

}  // namespace
}  // namespace sotto
