// DP-SGD's step: what one sample can do to the noisy sum, and how large the noise is.
#include "train/private_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sotto {
namespace {

TrainOptions options_of(double clip, double noise) {
  TrainOptions options;
  options.clip = clip;
  options.noise = noise;
  return options;
}

std::vector<float> gradient_of(std::uint64_t seed, std::size_t size, double scale) {
  BitSource bits = BitSource::from_seed(seed, "gradient");
  std::vector<float> gradient(size);
  for (float& value : gradient) value = static_cast<float>(scale * bits.normal());
  return gradient;
}

/// The sum of a lot without noise, times 1.
std::vector<float> sum_of(const std::vector<std::vector<float>>& lot, double clip) {
  PrivateStep step(lot.front().size(), options_of(clip, 0.0));
  for (const auto& gradient : lot) step.add(gradient);
  std::vector<float> sum(lot.front().size());
  BitSource bits = BitSource::from_seed(1, "unused");
  step.finish(bits, 1.0, sum);
  return sum;
}

double norm_of(std::span<const float> values) {
  double square = 0.0;
  for (const float value : values) {
    square += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(square);
}

TEST(PrivateStep, ClipsLongGradientsAndLeavesShortOnes) {
  for (const double clip : {1e-3, 0.7, 1.0, 50.0}) {
    for (const double scale : {1e-6, 1.0, 1e6, 1e30}) {
      const auto gradient = gradient_of(3, 1001, scale);
      const std::vector<float> alone = sum_of({gradient}, clip);
      const double expected = std::min(clip, norm_of(gradient));
      EXPECT_NEAR(norm_of(alone), expected, 1e-6 * expected + 1e-9 * clip);
      EXPECT_LE(norm_of(alone), clip * (1.0 + 1e-7));  // float32 of the output
      // The direction stays.
      const double factor = expected / norm_of(gradient);
      EXPECT_NEAR(alone[7], factor * static_cast<double>(gradient[7]), 1e-6 * clip);
    }
  }
}

// Adjacency: a lot with one sample changed, however extreme, is at most two clips away; with one
// sample more or less, one clip.
TEST(PrivateStep, OneSampleMovesTheSumByTheClipAtMost) {
  constexpr double kClip = 0.5;
  std::vector<std::vector<float>> lot;
  for (std::uint64_t i = 0; i < 20; ++i) lot.push_back(gradient_of(i, 300, i < 10 ? 0.001 : 9.0));
  const std::vector<float> before = sum_of(lot, kClip);
  const std::vector<std::vector<float>> extremes = {
      gradient_of(99, 300, 1e30), std::vector<float>(300, 1e-30F),
      std::vector<float>(300, std::numeric_limits<float>::max()),
      std::vector<float>(300, std::numeric_limits<float>::infinity()),
      std::vector<float>(300, std::numeric_limits<float>::quiet_NaN())};
  const auto distance = [&](const std::vector<float>& after) {
    std::vector<float> difference(before.size());
    for (std::size_t i = 0; i < before.size(); ++i) difference[i] = after[i] - before[i];
    return norm_of(difference);
  };
  for (const auto& extreme : extremes) {
    auto more = lot;
    more.push_back(extreme);
    EXPECT_LE(distance(sum_of(more, kClip)), kClip * (1.0 + 1e-5));
    auto changed = lot;
    changed[4] = extreme;
    EXPECT_LE(distance(sum_of(changed, kClip)), 2.0 * kClip * (1.0 + 1e-5));
  }
}

TEST(PrivateStep, OrderOfSamplesNeverChangesABit) {
  std::vector<std::vector<float>> lot;
  for (std::uint64_t i = 0; i < 30; ++i) lot.push_back(gradient_of(i, 100, 0.3));
  const std::vector<float> forward = sum_of(lot, 1.0);
  std::reverse(lot.begin(), lot.end());
  EXPECT_EQ(sum_of(lot, 1.0), forward);
}

// A group's float32 chain of additions rounds, so that one sample more moves what is computed by
// more than the sample's own norm. With the share of the clip that products_of sets aside it stays
// within the clip; without it, it does not (so this test would see a share of 0, or one for a
// single addition).
TEST(PrivateStep, ASampleMovesAChainOfFloatsByTheClipAtMost) {
  constexpr std::size_t kSize = 64;
  constexpr double kClip = 1.0;
  const Lots lots{.samples = 1000, .size = 32, .steps = 1};
  const Products products = products_of(lots, kSize, kClip, 32);
  ASSERT_EQ(products.group, 32U);
  ASSERT_EQ(products.most % products.group, 0U);
  BitSource bits = BitSource::from_seed(5, "chains");
  double worst = 0.0;
  for (int turn = 0; turn < 2000; ++turn) {
    // Equal elements err together, which is the worst that they can do.
    const auto element =
        static_cast<float>(kClip * (1.0 - products.slack) / std::sqrt(static_cast<double>(kSize)) *
                           (1.0 - 0.01 * bits.unit()));
    float sum = 0.0F;
    for (std::size_t i = 0; i < products.group; ++i) {
      const float before = sum;
      sum = sum + element;
      const double moved = (double{sum} - double{before}) * std::sqrt(double{kSize});
      worst = std::max(worst, moved / (double{element} * std::sqrt(double{kSize})));
    }
  }
  EXPECT_GT(worst, 1.0 + 1e-7);
  EXPECT_LE(worst * (1.0 - products.slack), 1.0);
}

TEST(PrivateStep, WhatProductsTakeOfTheClip) {
  const auto of = [](std::uint64_t samples, std::uint64_t size) {
    return products_of({.samples = samples, .size = size, .steps = 1}, 160000, 1.0, 32);
  };
  EXPECT_EQ(of(600, 10).most, 96U);  // 2 * 10 + 64, in groups of 32
  EXPECT_NEAR(of(600, 10).slack, 96 * 35 * 0x1p-24, 2e-6);
  EXPECT_EQ(of(20, 10).most, 32U);
  // Large lots go in smaller groups, and at last not at all.
  EXPECT_LT(of(10000, 400).group, 32U);
  EXPECT_GE(of(10000, 400).group, 4U);
  EXPECT_LT(of(10000, 400).slack, 0.0011);
  EXPECT_EQ(of(60000, 10000).group, 0U);
  EXPECT_EQ(of(60000, 10000).slack, 0.0);
  EXPECT_EQ(products_of({.samples = 10, .size = 10, .steps = 1}, 10, 1e-30, 32).group, 0U);
}

// Parts of gradients and a product make the sum that whole gradients make.
TEST(PrivateStep, WrittenPartsAndProductsAddUp) {
  constexpr std::size_t kSize = 96;
  constexpr std::size_t kFirst = 32;
  const Products products = products_of({.samples = 40, .size = 10, .steps = 1}, kSize, 0.5, 32);
  for (const double noise : {0.0, 1.5}) {
    PrivateStep whole;
    whole.begin(kSize, options_of(0.5, noise), {}, products);
    PrivateStep parts;
    parts.begin(kSize, options_of(0.5, noise), {}, products);
    std::vector<float> out(kSize);
    for (std::size_t lot = 0; lot < 3; ++lot) {
      bool has_product = false;
      for (std::uint64_t i = 0; i < 3; ++i) {
        const auto gradient = gradient_of(10 * lot + i, kSize, i == 1 ? 1e-3 : 2.0);
        whole.add(gradient);
        const double square = norm_of(gradient) * norm_of(gradient);
        const double factor = parts.factor(square);
        EXPECT_TRUE(parts.fits(factor * factor * square));
        EXPECT_FALSE(parts.fits(1.01 * 0.25));
        if (has_product && i <= lot) parts.add_product(out, kFirst);
        for (std::size_t at = kFirst; at < kSize; ++at) {
          const auto scaled = static_cast<float>(factor * static_cast<double>(gradient[at]));
          out[at] = (has_product && i > lot ? out[at] : 0.0F) + scaled;
        }
        has_product = true;
        parts.add_written(std::span(gradient).first(kFirst), factor);
      }
      BitSource first = BitSource::from_seed(lot, "noise");
      BitSource second = BitSource::from_seed(lot, "noise");
      std::vector<float> expected(kSize);
      TrainOptions options;
      whole.finish(first, 10.0, expected);
      parts.finish(second, 10.0, out, kFirst);
      for (std::size_t at = 0; at < kSize; ++at) {
        // A noisy sum may round to the next point of the lattice.
        EXPECT_NEAR(out[at], expected[at], noise > 0.0 ? 0.04 : 2e-7) << at;
      }
    }
  }
  EXPECT_EQ(PrivateStep(8, options_of(1.0, 0.0)).factor(std::nan("")), 0.0);
}

// 20,000 deviates of one step. Their variance is (clip noise)^2 (1 + 1 / (12 * 2^2)); its estimate
// deviates by 1 %, so 6 % is six deviations (2e-9), and noise that was 4 % off would mostly be
// seen. The mean is within 6 deviations too.
TEST(PrivateStep, NoiseHasTheDeviationThatTheAccountantAssumes) {
  constexpr std::size_t kSize = 20000;
  for (const bool rounds : {true, false}) {
    TrainOptions options = options_of(0.25, 3.0);
    options.rounds_noise = rounds;
    PrivateStep step(kSize, options);
    std::vector<float> out(kSize);
    BitSource bits = BitSource::from_seed(11, "noise");
    step.finish(bits, 10.0, out);
    double sum = 0.0;
    double square = 0.0;
    for (const float value : out) {
      const double units = static_cast<double>(value) * 10.0 / (0.25 * 3.0);
      sum += units;
      square += units * units;
    }
    const double variance = 1.0 + (rounds ? 1.0 / (12.0 * kNoiseLattice * kNoiseLattice) : 0.0);
    EXPECT_NEAR(square / kSize, variance, 0.06);
    EXPECT_NEAR(sum / kSize, 0.0, 6.0 / std::sqrt(static_cast<double>(kSize)));
    // A new step, new noise.
    std::vector<float> second(kSize);
    step.finish(bits, 10.0, second);
    EXPECT_NE(second, out);
  }
}

TEST(PrivateStep, NoisySumsLieOnTheLattice) {
  const TrainOptions options = options_of(1.0, 1.5);
  PrivateStep step(500, options);
  step.add(gradient_of(1, 500, 1.0));
  std::vector<float> out(500);
  BitSource bits = BitSource::from_seed(12, "noise");
  step.finish(bits, 1.0, out);
  for (const float value : out) {
    const double points = static_cast<double>(value) / (1.5 / kNoiseLattice);
    EXPECT_NEAR(points, std::nearbyint(points), 1e-5);
  }
}

TEST(Lots, StepsAndSamplingAsTheAccountantAssumes) {
  TrainOptions options = options_of(1.0, 1.0);
  options.batch_size = 64;
  options.epochs = 1;
  const Lots lots = lots_of(options, 1200);
  EXPECT_EQ(lots.steps, 19U);  // 18.75
  EXPECT_EQ(lots.size, 64U);
  EXPECT_DOUBLE_EQ(lots.sampling(), 64.0 / 1200.0);
  options.epochs = 3;
  EXPECT_EQ(lots_of(options, 1200).steps, 56U);  // 56.25
  options.epochs = 1;
  EXPECT_EQ(lots_of(options, 10).size, 10U);  // never more than there are
  EXPECT_EQ(lots_of(options, 10).steps, 1U);
  EXPECT_EQ(lots_of(options, 0).steps, 0U);
}

TEST(Lots, CouplingGrowsWithWhatDoublesMustHold) {
  TrainOptions options = options_of(1.0, 1.0);
  options.batch_size = 64;
  const Lots lots = lots_of(options, 1200);
  const double small = step_coupling(1000, lots, 1.0);
  EXPECT_GT(small, 0.0);
  EXPECT_LT(small, 1e-9);
  EXPECT_GT(step_coupling(30000, lots, 1.0), small);
  EXPECT_GT(step_coupling(1000, lots, 0.01), small);
}

TEST(CheckPrivate, NamesTheLayerWithStatistics) {
  const auto refused = check_private(find_network("ldp-fed", {1, 28, 28}, 10)->layout());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().message.find("layer 1 "), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("ldp-fed-nobn"), std::string::npos);
  const Layout without = find_network("ldp-fed-nobn", {1, 28, 28}, 10)->layout();
  EXPECT_TRUE(check_private(without));
  EXPECT_EQ(without.parameter_count(), 28938U);
}

}  // namespace
}  // namespace sotto
