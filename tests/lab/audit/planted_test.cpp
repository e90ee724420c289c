// Broken mechanisms, each of which an audit must refute with the stated number of trials, while the
// sound one beside it passes. Claims are what their authors would say.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "fake_randomizers.h"

namespace sotto {
namespace {

struct Planted {
  std::string name;
  double claim;
  std::uint64_t trials;
  FakeRandomizer broken;
  FakeRandomizer sound;
};

/// The raw value once in a thousand.
Draw leaking(const Draw& draw) {
  return [=](double x, BitSource& bits) { return bits.below(1000) == 0 ? x : draw(x, bits); };
}

/// An integer threshold of 8 bits, `off` by some: P(1) = threshold / 256.
Draw eight_bits(double epsilon, int off) {
  const int least = static_cast<int>(std::ceil(256 / (1 + std::exp(epsilon))));
  return [=](double x, BitSource& bits) {
    const auto word = static_cast<int>(bits.below(256));
    return word < (x > 0 ? 256 - least - off : least + off) ? 1.0 : 0.0;
  };
}

/// Staircase over the grid 0 .. 100 (m = 4 groups). The broken one has probabilities of three
/// decimals, and what rounding left over goes to the first group.
Draw staircase(double epsilon, bool remainder_on_first) {
  const std::vector<int> sizes = {10, 20, 30, 41};
  const int d = 101;
  const double e = std::exp(epsilon);
  double weighted = 0.0;
  for (int j = 0; j < 4; ++j) weighted += j * sizes[j];
  const double least = 3 / (3 * d * e - (e - 1) * weighted);
  std::vector<double> probabilities;
  double sum = 0.0;
  for (int j = 0; j < 4; ++j) {
    const double ideal = least * (e - j * (e - 1) / 3);
    const double rounded = remainder_on_first ? std::floor(ideal * 1e3) / 1e3 : ideal;
    for (int k = 0; k < sizes[j]; ++k) probabilities.push_back(rounded);
    sum += sizes[j] * rounded;
  }
  if (remainder_on_first) {
    for (int k = 0; k < sizes[0]; ++k) probabilities[k] += (1 - sum) / sizes[0];
  }
  return [probabilities](double x, BitSource& bits) {
    // Ranks by distance from the input, the lower one first.
    double u = bits.unit();
    std::size_t rank = 0;
    while (rank + 1 < probabilities.size() && u >= probabilities[rank]) u -= probabilities[rank++];
    std::vector<int> outputs(101);
    for (int i = 0; i < 101; ++i) outputs[static_cast<std::size_t>(i)] = i;
    const int input = static_cast<int>(x);
    std::stable_sort(outputs.begin(), outputs.end(),
                     [input](int a, int b) { return std::abs(a - input) < std::abs(b - input); });
    return static_cast<double>(outputs[rank]);
  };
}

std::vector<Planted> planted() {
  const auto rounded_noise = [](double x, BitSource& bits) {
    return x + std::round(laplace_noise(2, bits) * 1e4) / 1e4;
  };
  // The last bit of the double is the sign of the input, half of the time.
  const auto last_bit = [](double x, BitSource& bits) {
    const double y = laplace_noise(2, bits) + x;
    const auto code = std::bit_cast<std::uint64_t>(y);
    const std::uint64_t bit = bits.below(2) == 0 ? bits.below(2) : (x > 0 ? 1 : 0);
    return std::bit_cast<double>((code & ~std::uint64_t{1}) | bit);
  };
  // Inputs that are no grid values: a sound randomizer rounds them first.
  const auto on_grid = [](bool round_first) {
    return [=](double x, BitSource& bits) {
      const double cell = std::round(x);
      const double drawn = grr(2, 11)(cell, bits);
      // The code's authors returned the input itself where it stays.
      return drawn == cell && !round_first ? x : drawn;
    };
  };
  // Off the grid by half a step, once in a thousand, for inputs above the centre.
  const auto half_steps = [](double x, BitSource& bits) {
    const double y = grr(1, 11)(x, bits);
    return x > 5 && bits.below(1000) == 0 ? y + 0.5 : y;
  };
  const auto bounded_noise = [](double x, BitSource& bits) { return x + 40 * bits.unit() - 20; };
  // Noise of the right size, of which large values are left out: supports differ.
  const auto cut_laplace = [](double x, BitSource& bits) {
    double noise = laplace_noise(2, bits);
    while (std::abs(noise) > 6) noise = laplace_noise(2, bits);
    return std::nearbyint((x + noise) * 0x1p20) * 0x1p-20;
  };
  const auto noisy_vector = [](const std::vector<double>& x, BitSource& bits) {
    std::vector<double> y;
    for (const double v : x) y.push_back(laplace(3)(v, bits));
    return y;
  };
  const auto leaking_vector = [=](const std::vector<double>& x, BitSource& bits) {
    return bits.below(1000) == 0 ? x : noisy_vector(x, bits);
  };
  const NumberPair vectors = {{0, 0, 0}, {1, 1, 1}};
  const auto scalar = [](double zero, double one, const Draw& draw) {
    return FakeRandomizer(zero, one, draw);
  };
  return {
      {"too little noise", 1, 60'000, scalar(-1, 1, laplace(1.6)), scalar(-1, 1, laplace(2))},
      {"threshold off by one", 4, 100'000, scalar(-1, 1, eight_bits(4, -1)),
       scalar(-1, 1, eight_bits(4, 0))},
      {"low bits of a float", 1, 60'000, scalar(-1, 1, rounded_noise), scalar(-1, 1, laplace(2))},
      {"last bit of a double", 1, 60'000, scalar(-1, 1, last_bit), scalar(-1, 1, laplace(2))},
      {"raw value once in 1,000, two-point", 1, 200'000, scalar(-1, 1, leaking(two_point(1))),
       scalar(-1, 1, two_point(1))},
      {"raw value once in 1,000, laplace", 1, 200'000, scalar(-1, 1, leaking(laplace(2))),
       scalar(-1, 1, laplace(2))},
      {"raw vector once in 1,000", 1, 200'000, FakeRandomizer(vectors, leaking_vector),
       FakeRandomizer(vectors, noisy_vector)},
      {"raw value that is off the grid", 2, 20'000, scalar(3.2, 6.7, on_grid(false)),
       scalar(3.2, 6.7, on_grid(true))},
      {"half steps once in 1,000", 1, 400'000, scalar(0, 10, half_steps),
       scalar(0, 10, grr(1, 11))},
      {"supports that differ, uniform", 1, 20'000, scalar(-1, 1, bounded_noise),
       scalar(-1, 1, laplace(2))},
      {"supports that differ, cut noise", 1, 60'000, scalar(-1, 1, cut_laplace),
       scalar(-1, 1, laplace(2))},
      {"remainder on the first group", 3, 200'000, scalar(0, 100, staircase(3, true)),
       scalar(0, 100, staircase(3, false))},
      {"two-point that does not clip", 1, 60'000, scalar(-1.2, 1.2, two_point(1)),
       scalar(-1, 1, two_point(1))},
  };
}

class PlantedAudit : public testing::TestWithParam<std::size_t> {};

TEST_P(PlantedAudit, IsRefutedAndTheSoundOneIsNot) {
  std::vector<Planted> all = planted();
  Planted& one = all.at(GetParam());
  SCOPED_TRACE(one.name);
  const auto found = one.broken.audit(one.claim, one.trials);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->verdict, Verdict::kViolated) << found->epsilon_lower;
  EXPECT_GT(found->epsilon_lower, one.claim);
  EXPECT_LE(found->trials, one.trials);
  std::printf("%s: %.3f by '%s' after %llu trials\n", one.name.c_str(), found->epsilon_lower,
              found->events.front().event.text.c_str(),
              static_cast<unsigned long long>(found->trials));
  const auto sound = one.sound.audit(one.claim, one.trials);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->verdict, Verdict::kConsistent)
      << sound->epsilon_lower << ": " << sound->events.front().event.text;
  EXPECT_EQ(sound->trials, one.trials);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedAudit, testing::Range(std::size_t{0}, planted().size()));

}  // namespace
}  // namespace sotto
