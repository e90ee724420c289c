// The bit-sliced sampler against a plain comparison of 64-bit numbers made from the same words,
// where chains of equal bits are long; its thresholds against their definitions; and samplers that
// were broken on purpose.
#include "mechanism/bit/bit_sampler.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sotto/bits.h"

namespace sotto {
namespace {

constexpr std::size_t kTogether = SlicedSampler::kTogether;
using Bits = SlicedSampler::Bits;
using Numbers = std::array<std::uint64_t, 64 * kTogether>;

/// The words in which the sampler reads these numbers, highest bits first.
std::vector<std::uint64_t> sliced(const Numbers& numbers) {
  std::vector<std::uint64_t> words(SlicedSampler::kMostRandom);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (unsigned level = 0; level < 64; ++level) {
      words[level * kTogether + i / 64] |= (numbers[i] >> (63 - level) & 1) << i % 64;
    }
  }
  return words;
}

Bits compared(const BitThresholds& thresholds, const Bits& input, const Numbers& numbers) {
  Bits result{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t bit = input[i / 64] >> i % 64 & 1;
    const std::uint64_t threshold = thresholds.one[i % 2][bit];
    result[i / 64] |= static_cast<std::uint64_t>(numbers[i] < threshold) << i % 64;
  }
  return result;
}

/// Numbers at, beside, and in their first bits equal to the threshold of their position.
Numbers close_ones(const BitThresholds& thresholds, const Bits& input, BitSource& bits) {
  Numbers numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t threshold = thresholds.one[i % 2][input[i / 64] >> i % 64 & 1];
    switch (bits.below(5)) {
      case 0:
        numbers[i] = threshold;
        break;
      case 1:
        numbers[i] = threshold - 1;
        break;
      case 2:
        numbers[i] = threshold + 1;
        break;
      case 3:
        numbers[i] = threshold ^ (bits.next_u64() >> bits.below(64));
        break;
      default:
        numbers[i] = bits.next_u64();
    }
  }
  return numbers;
}

/// Whether `draw` agrees with the plain comparison in all of many trials.
template <class Draw>
bool agrees(const BitThresholds& thresholds, const Draw& draw) {
  BitSource bits = BitSource::from_seed(4, "sampler");
  for (int trial = 0; trial < 200; ++trial) {
    Bits input;
    for (std::uint64_t& word : input) word = bits.next_u64();
    const Numbers numbers = close_ones(thresholds, input, bits);
    const std::vector<std::uint64_t> words = sliced(numbers);
    if (draw(input, words.data()) != compared(thresholds, input, numbers)) return false;
  }
  return true;
}

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::vector<BitThresholds> hard_thresholds() {
  BitSource bits = BitSource::from_seed(5, "sampler");
  std::vector<BitThresholds> all = {
      BitThresholds::everywhere(kHalf, 1), BitThresholds::everywhere(1, kMost),
      BitThresholds::everywhere(kMost, kHalf), BitThresholds{{{{1, kMost}, {kHalf, kHalf - 1}}}},
      BitThresholds{{{{kHalf + 1, 0xAAAAAAAAAAAAAAAA}, {0x5555555555555555, 2}}}}};
  for (int i = 0; i < 20; ++i) {
    all.push_back({{{{bits.next_u64(), bits.next_u64()}, {bits.next_u64(), bits.next_u64()}}}});
  }
  return all;
}

TEST(SlicedSampler, IsTheComparisonOf64BitNumbers) {
  for (const BitThresholds& thresholds : hard_thresholds()) {
    const SlicedSampler sampler(thresholds);
    EXPECT_TRUE(agrees(thresholds, [&](Bits input, const std::uint64_t* words) {
      const std::uint64_t* const end = sampler.draw(input, words);
      EXPECT_LE(end - words, static_cast<std::ptrdiff_t>(SlicedSampler::kMostRandom));
      return input;
    }));
  }
}

TEST(SlicedSampler, ReadsNoMoreThanItNeeds) {
  BitSource bits = BitSource::from_seed(6, "sampler");
  const SlicedSampler sampler(BitThresholds::everywhere(largest_threshold(1.0), kHalf));
  std::vector<std::uint64_t> words(SlicedSampler::kMostRandom);
  double read = 0.0;
  for (int trial = 0; trial < 2000; ++trial) {
    for (std::uint64_t& word : words) word = bits.next_u64();
    Bits input{bits.next_u64(), 0, ~std::uint64_t{0}, 1};
    read += static_cast<double>(sampler.draw(input, words.data()) - words.data());
  }
  // The largest of 256 geometric variables: 9.3 levels on average, and 0.04 is its deviation here.
  EXPECT_NEAR(read / 2000.0 / kTogether, 9.34, 0.3);
}

/// A sampler whose thresholds have only their first `levels` bits.
BitThresholds cut_off(BitThresholds thresholds, unsigned levels) {
  for (auto& of_parity : thresholds.one) {
    for (std::uint64_t& one : of_parity) one = one >> (64 - levels) << (64 - levels);
  }
  return thresholds;
}

TEST(SlicedSampler, PlantedDefectsAreRefuted) {
  std::size_t cut = 0, parity = 0, flipped = 0;
  const std::vector<BitThresholds> all = hard_thresholds();
  for (const BitThresholds& thresholds : all) {
    const auto run = [&](const BitThresholds& with) {
      return [sampler = SlicedSampler(with)](Bits input, const std::uint64_t* words) {
        static_cast<void>(sampler.draw(input, words));
        return input;
      };
    };
    cut += agrees(thresholds, run(cut_off(thresholds, 16))) ? 1 : 0;
    parity += agrees(thresholds, run({{thresholds.one[1], thresholds.one[0]}})) ? 1 : 0;
    const SlicedSampler sampler(thresholds);
    flipped += agrees(thresholds, [&](Bits input, const std::uint64_t* words) {
      for (std::uint64_t& word : input) word = ~word;
      static_cast<void>(sampler.draw(input, words));
      return input;
    });
  }
  EXPECT_EQ(cut, 0U) << "a sampler that stops after 16 levels";
  EXPECT_EQ(flipped, 0U) << "inputs complemented";
  EXPECT_EQ(parity, 3U) << "parity off by one is no defect where thresholds are the same";
}

/// How often the sampler says 1 for a 0 in 2^26 trials.
std::uint64_t ones_in(const BitThresholds& thresholds) {
  BitSource bits = BitSource::from_seed(7, "sampler");
  const SlicedSampler sampler(thresholds);
  std::vector<std::uint64_t> words(SlicedSampler::kMostRandom * 64);
  std::uint64_t ones = 0;
  const std::uint64_t* next = words.data() + words.size();
  for (int draw = 0; draw < 1 << 18; ++draw) {
    if (words.data() + words.size() - next < static_cast<std::ptrdiff_t>(64 * kTogether)) {
      bits.fill(std::as_writable_bytes(std::span(words)));
      next = words.data();
    }
    Bits input{};
    next = sampler.draw(input, next);
    for (const std::uint64_t word : input) ones += static_cast<std::uint64_t>(std::popcount(word));
  }
  return ones;
}

TEST(SlicedSampler, RareOnesAreAsRareAsTheyShould) {
  const BitThresholds rare = BitThresholds::everywhere(kHalf, 3 * (std::uint64_t{1} << 42));
  // 48 expected; outside 18 .. 88 with a probability of 1e-6.
  const auto expected = static_cast<double>(3 * (std::uint64_t{1} << 42)) * 0x1p-64 * 0x1p26;
  EXPECT_NEAR(expected, 48.0, 1e-9);
  const std::uint64_t ones = ones_in(rare);
  EXPECT_GE(ones, 18U);
  EXPECT_LE(ones, 88U);
  EXPECT_EQ(ones_in(cut_off(rare, 16)), 0U) << "planted: 16 levels make what is rare impossible";
}

TEST(Thresholds, AreTheLargestThatHold) {
  const exact::Integer whole = exact::Integer(1) << 64;
  const auto holds = [&](const exact::Integer& one, double epsilon) {
    return exact::at_most_exp(exact::Rational(one), exact::Rational(exact::Integer(whole - one)),
                              epsilon);
  };
  for (const double epsilon : {1e-9, 0.01, 0.5, 1.0, 5.0, 20.0, 43.0}) {
    const exact::Integer best = largest_threshold(epsilon);
    EXPECT_TRUE(holds(best, epsilon)) << epsilon;
    EXPECT_FALSE(holds(best + 1, epsilon)) << epsilon;
    const double share = static_cast<double>(largest_threshold(epsilon)) * 0x1p-64;
    EXPECT_NEAR(share, 1.0 / (1.0 + std::exp(-epsilon)), 1e-15);
  }
  EXPECT_EQ(largest_threshold(0.0), kHalf);
  EXPECT_EQ(largest_threshold(-1.0), kHalf);
  EXPECT_EQ(largest_threshold(std::numeric_limits<double>::quiet_NaN()), kHalf);
  EXPECT_EQ(largest_threshold(1e-300), kHalf);
  EXPECT_EQ(largest_threshold(1000.0), kMost) << "no symbol is ever certain";

  EXPECT_EQ(nearest_threshold(1), kHalf);
  EXPECT_EQ(nearest_threshold(3), kHalf / 2);
  EXPECT_EQ(nearest_threshold(2), 0x5555555555555555) << "2^64 / 3 is just above it";
  EXPECT_EQ(nearest_threshold(exact::Rational(1, 2)), 0xAAAAAAAAAAAAAAAB) << "and here just below";
  EXPECT_EQ(nearest_threshold(exact::Rational(whole * whole)), 1U);
  EXPECT_EQ(nearest_threshold(exact::Rational(1, whole * whole)), kMost);
}

TEST(Thresholds, QuotientsRoundDownAndNoFurther) {
  EXPECT_EQ(exact::divide_down(2.0, 4.0), 0.5);
  EXPECT_EQ(exact::divide_down(1e-300, 2.0), 5e-301);
  const double low = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(exact::divide_down(low, 2.0), 0.0);
  EXPECT_EQ(exact::divide_down(3.0 * low, 2.0), low);
  BitSource bits = BitSource::from_seed(8, "quotients");
  for (int i = 0; i < 1000; ++i) {
    const double a = 20.0 * bits.unit(), b = static_cast<double>(1 + bits.below(1 << 24));
    const double down = exact::divide_down(a, b);
    const double above = std::nextafter(down, std::numeric_limits<double>::infinity());
    EXPECT_LE(exact::rational(down) * exact::rational(b), exact::rational(a));
    EXPECT_GT(exact::rational(above) * exact::rational(b), exact::rational(a));
  }
}

}  // namespace
}  // namespace sotto
