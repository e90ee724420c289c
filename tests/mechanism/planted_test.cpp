// Planted defects: those of the published srr-fl code, and what a careless sampler would do. Each
// broken channel goes through the very checks that sound mechanisms pass, and must fail them; the
// sound one beside it must pass. Table defects are given to the real channel as broken integers.
#include <gtest/gtest-spi.h>

#include <functional>

#include "mechanism/staircase/srr_groups.h"
#include "mechanism/staircase/staircase_channel.h"
#include "mechanism/value/value.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

constexpr double kEps = 3.0;
const Range kRange{0.0, 0.5};  // at precision 2: d = 101, R = 50

DecimalGrid grid() { return DecimalGrid::make(kRange, 2).value(); }

std::vector<std::int64_t> sound_sizes() { return group_sizes(101, 4, 10).value(); }
Staircase sound_staircase() { return Staircase::make(sound_sizes(), kEps).value(); }

std::unique_ptr<Mechanism> mechanism_of(std::shared_ptr<const Channel> channel,
                                        std::size_t size = 1, Range range = kRange) {
  auto made = ValueMechanism::make(
      "planted.v1", Domain{flat_layout(size), {range}}, {}, kEps, "planted",
      [&](const Range&, const Parameters&) -> Result<std::shared_ptr<const Channel>> {
        return channel;
      });
  return std::move(made).value();
}

/// How many of the expectations of `check` fail.
int failures_of(const std::function<void()>& check) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check();
  }
  int failures = 0;
  for (int i = 0; i < results.size(); ++i) failures += results.GetTestPartResult(i).failed();
  return failures;
}

/// The `exact` check on every grid value (and beyond, when the range is wider than the grid).
bool exact_refutes(std::shared_ptr<const Channel> channel, Range range = kRange) {
  const auto mechanism = mechanism_of(std::move(channel), 1, range);
  const auto inputs = spread(*mechanism, 101);
  return failures_of([&] { expect_exact(*mechanism, inputs, kEps); }) > 0;
}

/// The largest log-ratio that enumeration finds: infinite where supports differ.
double enumerated_epsilon(std::shared_ptr<const Channel> channel, Range range = kRange) {
  const auto mechanism = mechanism_of(std::move(channel), 1, range);
  return tally(*mechanism, spread(*mechanism, 101)).epsilon;
}

/// The `statistical` check at three inputs, with the false alarm that sound mechanisms are given.
bool frequencies_refute(const std::shared_ptr<const Channel>& channel) {
  const auto single = mechanism_of(channel);
  const auto many = mechanism_of(channel, 300'000);
  bool refuted = false;
  std::uint64_t seed = 40;
  for (const float input : {-0.5F, 0.03F, 0.4F}) {
    refuted = refuted || frequency_p(*many, *single, input, ++seed) < 1e-6;
  }
  return refuted;
}

std::shared_ptr<const StaircaseChannel> channel_of(Staircase staircase) {
  return std::make_shared<StaircaseChannel>(grid(), std::move(staircase));
}

/// A sound channel of which subclasses replace a part.
class Broken : public Channel {
 public:
  Symbol smallest() const noexcept override { return sound_.smallest(); }
  Symbol largest() const noexcept override { return sound_.largest(); }
  Decoding decoding() const noexcept override { return sound_.decoding(); }
  WorstCase worst_case() const override { return sound_.worst_case(); }
  unsigned words() const noexcept override { return 2; }
  Symbol draw(float weight, Words words, MoreBits& more) const override {
    return sound_.draw(weight, words, more);
  }
  double log_prob(Symbol symbol, float weight) const override {
    return sound_.log_prob(symbol, weight);
  }
  Moments moments(float weight) const override { return sound_.moments(weight); }
  bool sums_to_one(float weight) const override { return sound_.sums_to_one(weight); }
  std::vector<Constant> constants() const override { return sound_.constants(); }

 protected:
  const StaircaseChannel sound_{grid(), sound_staircase()};
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
};

TEST(Planted, TheSoundChannelPassesEveryCheck) {
  EXPECT_FALSE(exact_refutes(channel_of(sound_staircase())));
  EXPECT_FALSE(frequencies_refute(channel_of(sound_staircase())));
  EXPECT_FALSE(exact_refutes(std::make_shared<Broken>()));
  EXPECT_FALSE(frequencies_refute(std::make_shared<Broken>()));
  EXPECT_FALSE(exact_refutes(channel_of(sound_staircase()), {0.0, 0.8}));  // clips what is beyond
  EXPECT_NEAR(enumerated_epsilon(channel_of(sound_staircase())), kEps, 1e-9);
}

/// M_2 .. M_m rounded down to multiples of `unit`, and group 1 gets what is left.
Staircase remainder_on_group_1(std::uint64_t unit) {
  const Staircase sound = sound_staircase();
  std::vector<std::uint64_t> masses;
  for (std::size_t j = 0; j < sound.groups(); ++j) {
    masses.push_back(static_cast<std::uint64_t>(sound.mass(j)));
  }
  std::vector<std::uint64_t> thresholds(sound.groups() - 1);
  std::uint64_t at = 0;  // 2^64
  for (std::size_t j = sound.groups() - 1; j > 0; --j) {
    at -= (masses[j] - 1) / unit * unit;
    thresholds[j - 1] = at;
  }
  return {sound_sizes(), thresholds};
}

TEST(Planted, RoundingRemainderOnGroup1) {
  const auto coarse = channel_of(remainder_on_group_1(std::uint64_t{1} << 50));
  EXPECT_TRUE(exact_refutes(coarse));
  EXPECT_GT(enumerated_epsilon(coarse), kEps + 1e-5);
  // By one word of 2^64: no enumeration in doubles sees it, the exact guarantee does.
  EXPECT_TRUE(exact_refutes(channel_of(remainder_on_group_1(1))));
  EXPECT_GT(remainder_on_group_1(1).epsilon(), kEps);
  EXPECT_LT(remainder_on_group_1(1).epsilon(), kEps + 1e-15);
  EXPECT_LE(sound_staircase().epsilon(), kEps);
}

TEST(Planted, GroupSizesThatDoNotSumToTheGrid) {
  const Staircase sound = sound_staircase();
  const std::vector<std::uint64_t> thresholds(sound.thresholds().begin(), sound.thresholds().end());
  for (const std::int64_t change : {-1, 1}) {
    std::vector<std::int64_t> sizes = sound_sizes();
    sizes[2] += change;
    EXPECT_TRUE(exact_refutes(channel_of({sizes, thresholds}))) << change;
  }
}

/// Groups are laid half to each side of the input, whatever their size: an odd one puts its outputs
/// between grid values. Symbols are half steps.
class HalfGrid final : public Broken {
 public:
  Symbol smallest() const noexcept override { return 2 * sound_.smallest() - 1; }
  Symbol largest() const noexcept override { return 2 * sound_.largest() + 1; }
  Decoding decoding() const noexcept override { return {0.0, 0.005}; }
  double log_prob(Symbol symbol, float weight) const override {
    for (const Symbol half : {0, 1}) {
      if ((symbol - half) % 2 != 0) continue;
      const Symbol whole = (symbol - half) / 2;
      if (whole < sound_.smallest() || whole > sound_.largest()) continue;
      const DistanceRanks ranks{50, grid().centred(weight)};
      const std::size_t j = sound_.staircase().group_of_rank(ranks.rank(whole));
      if (sound_.staircase().size(j) % 2 == half) return sound_.log_prob(whole, weight);
    }
    return kNever;
  }
};

TEST(Planted, HalfGridOutputsFromOddGroupSizes) {
  bool odd = false;
  for (const std::int64_t size : sound_sizes()) odd = odd || size % 2 == 1;
  ASSERT_TRUE(odd);
  EXPECT_TRUE(exact_refutes(std::make_shared<HalfGrid>()));
  EXPECT_TRUE(std::isinf(enumerated_epsilon(std::make_shared<HalfGrid>())));
}

/// Ranks around the weight where it is, even beyond the range.
class Unclipped final : public Broken {
 public:
  Symbol smallest() const noexcept override { return -200; }
  Symbol largest() const noexcept override { return 200; }
  double log_prob(Symbol symbol, float weight) const override {
    const auto s = static_cast<Symbol>(std::lround(100.0 * static_cast<double>(weight)));
    const Symbol distance = std::abs(symbol - s);
    const std::int64_t rank = symbol < s ? 2 * distance - 1 : 2 * distance;
    if (std::abs(s) <= 50) return sound_.log_prob(symbol, weight);
    if (rank >= 101) return kNever;
    return sound_.staircase().log_probability(sound_.staircase().group_of_rank(rank));
  }
  bool sums_to_one(float /*weight*/) const override { return true; }
};

TEST(Planted, AWeightThatIsNotClippedFirst) {
  EXPECT_TRUE(exact_refutes(std::make_shared<Unclipped>(), {0.0, 0.8}));
  EXPECT_TRUE(std::isinf(enumerated_epsilon(std::make_shared<Unclipped>(), {0.0, 0.8})));
}

/// grr that keeps the weight as it came, to 10^-4, where it should answer with its grid value.
class RawGrr final : public Broken {
 public:
  Symbol smallest() const noexcept override { return -5000; }
  Symbol largest() const noexcept override { return 5000; }
  Decoding decoding() const noexcept override { return {0.0, 1e-4}; }
  double log_prob(Symbol symbol, float weight) const override {
    const double keep = std::exp(kEps) / (100.0 + std::exp(kEps));
    if (symbol == std::lround(1e4 * static_cast<double>(weight))) return std::log(keep);
    const bool other = symbol % 100 == 0 && symbol / 100 != grid().centred(weight);
    return other ? std::log((1.0 - keep) / 100.0) : kNever;
  }
};

TEST(Planted, TheRawGrrValue) {
  const auto mechanism = mechanism_of(std::make_shared<RawGrr>());
  const std::vector<float> off_grid{-0.4967F, -0.1234F, 0.0F, 0.1234F, 0.4967F};
  EXPECT_GT(failures_of([&] { expect_exact(*mechanism, off_grid, kEps); }), 0);
  EXPECT_TRUE(std::isinf(tally(*mechanism, off_grid).epsilon));
  const auto sound = made("grr", {{"epsilon", kEps}, {"precision", 2}}, kRange);
  EXPECT_EQ(failures_of([&] { expect_exact(*sound, off_grid, kEps, false); }), 0);
}

/// One in sixteen first words has its highest bit set.
class BiasedWords final : public Broken {
 public:
  Symbol draw(float weight, Words words, MoreBits& more) const override {
    const std::uint32_t set = words[1] % 16 == 0 ? 0x80000000U : 0U;
    const std::uint32_t biased[] = {words[0] | set, words[1]};
    return sound_.draw(weight, {biased, 1}, more);
  }
};

/// A place by the remainder of 8 bits: groups whose size does not divide 256 are not uniform.
class BiasedPlaces final : public Broken {
 public:
  Symbol draw(float weight, Words words, MoreBits& /*more*/) const override {
    const Staircase& staircase = sound_.staircase();
    const std::size_t j = staircase.group_of_bits(std::uint64_t{words[0]} << 32);
    const std::int64_t place = static_cast<std::int64_t>(words[1] % 256) % staircase.size(j);
    return DistanceRanks{50, grid().centred(weight)}.output(staircase.begin(j) + place);
  }
};

TEST(Planted, ABiasedGenerator) {
  EXPECT_TRUE(frequencies_refute(std::make_shared<BiasedWords>()));
  EXPECT_TRUE(frequencies_refute(std::make_shared<BiasedPlaces>()));
}

/// Uniform within ten grid steps of the input: each input has outputs that another never has.
class Window final : public Broken {
 public:
  double log_prob(Symbol symbol, float weight) const override {
    const Symbol s = grid().centred(weight);
    const Symbol low = std::max<Symbol>(s - 10, -50), high = std::min<Symbol>(s + 10, 50);
    if (symbol < low || symbol > high) return kNever;
    return -std::log(static_cast<double>(high - low + 1));
  }
};

TEST(Planted, DisjointSupports) {
  EXPECT_TRUE(exact_refutes(std::make_shared<Window>()));
  EXPECT_TRUE(std::isinf(enumerated_epsilon(std::make_shared<Window>())));
  // The same by a table: a group in the middle that is never drawn.
  const Staircase sound = sound_staircase();
  std::vector<std::uint64_t> thresholds(sound.thresholds().begin(), sound.thresholds().end());
  thresholds[1] = thresholds[0];
  EXPECT_TRUE(exact_refutes(channel_of({sound_sizes(), thresholds})));
  EXPECT_TRUE(std::isinf(enumerated_epsilon(channel_of({sound_sizes(), thresholds}))));
}

/// The sampler counts ranks from one: the input itself is the last instead of the first.
class RankFromOne final : public Broken {
 public:
  Symbol draw(float weight, Words words, MoreBits& more) const override {
    const DistanceRanks ranks{50, grid().centred(weight)};
    return ranks.output((ranks.rank(sound_.draw(weight, words, more)) + 1) % 101);
  }
};

/// log_prob and with it every claim is off by one rank; the sampler is sound.
class ClaimFromOne final : public Broken {
 public:
  double log_prob(Symbol symbol, float weight) const override {
    const DistanceRanks ranks{50, grid().centred(weight)};
    return sound_.log_prob(ranks.output((ranks.rank(symbol) + 1) % 101), weight);
  }
};

TEST(Planted, AnOffByOneInTheRank) {
  EXPECT_TRUE(frequencies_refute(std::make_shared<RankFromOne>()));
  EXPECT_TRUE(frequencies_refute(std::make_shared<ClaimFromOne>()));
  EXPECT_TRUE(exact_refutes(std::make_shared<ClaimFromOne>()));
}

}  // namespace
}  // namespace sotto
