// The encoder of bit mechanisms: it is inverted by decode_features, saturates, takes every float,
// and reads the same bits one by one as 64 at a time.
#include "mechanism/bit/bit_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sotto/bits.h"

namespace sotto {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::string bits_of(const FeatureCode& code, float value) {
  const BitView view({BitInput::kFeatures, code, 1}, {&value, 1});
  std::string text;
  for (std::size_t i = 0; i < code.bits(); ++i) text += view[i] ? '1' : '0';
  return text;
}

TEST(FeatureCode, IsSignWholeFraction) {
  const FeatureCode code{4, 5};
  EXPECT_EQ(code.bits(), 10U);
  EXPECT_EQ(code.largest(), 15.96875);
  EXPECT_EQ(bits_of(code, 0.0F), "0000000000");
  EXPECT_EQ(bits_of(code, 1.0F), "0000100000");
  EXPECT_EQ(bits_of(code, -1.0F), "1000100000");
  EXPECT_EQ(bits_of(code, 8.5F), "0100010000");
  EXPECT_EQ(bits_of(code, 5.15625F), "0010100101");
  EXPECT_EQ(bits_of(code, 0.0624F), "0000000001") << "what lies below the last bit is cut off";
  EXPECT_EQ(bits_of(code, -0.0F), "1000000000");
  EXPECT_EQ(bits_of({0, 3}, -0.875F), "1111");
  EXPECT_EQ(bits_of({2, 0}, 2.9F), "010");
}

TEST(FeatureCode, SaturatesAndTakesEveryFloat) {
  for (const FeatureCode code : {FeatureCode{4, 5}, FeatureCode{15, 16}, FeatureCode{0, 1}}) {
    const std::string most(code.bits() - 1, '1'), none(code.bits() - 1, '0');
    for (const float large : {static_cast<float>(std::exp2(code.whole)), 1e9F, 3e38F}) {
      EXPECT_EQ(bits_of(code, large), "0" + most);
      EXPECT_EQ(bits_of(code, -large), "1" + most);
    }
    EXPECT_EQ(bits_of(code, 1e-40F), "0" + none);
    for (const float other : {kNan, -kNan, kInfinite, -kInfinite}) {
      EXPECT_EQ(bits_of(code, other), "0" + none) << "not finite: the centre of the domain";
    }
  }
}

TEST(FeatureCode, DecodeInvertsEncode) {
  for (const FeatureCode code : {FeatureCode{4, 5}, FeatureCode{0, 7}, FeatureCode{10, 0}}) {
    for (std::uint32_t pattern = 0; pattern < 1U << code.bits(); ++pattern) {
      const float value = code.decode(pattern);
      EXPECT_EQ(code.encode(value), pattern) << value;
      EXPECT_LE(std::abs(value), code.largest());
    }
  }
  BitSource bits = BitSource::from_seed(1, "code");
  const FeatureCode code{4, 5};
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<float>(31.0 * bits.unit() - 15.5);
    const float back = code.decode(code.encode(value));
    EXPECT_LE(std::abs(back), std::abs(value));
    EXPECT_LT(std::abs(value - back), 0x1p-5);
  }
}

TEST(FeatureCode, FeaturesComeBackFromPackedBits) {
  BitSource bits = BitSource::from_seed(2, "code");
  for (const FeatureCode code : {FeatureCode{4, 5}, FeatureCode{3, 3}, FeatureCode{15, 16}}) {
    std::vector<float> values(101);
    for (float& value : values) {
      value = code.decode(static_cast<std::uint32_t>(bits.below(std::uint64_t{1} << code.bits())));
    }
    const BitView view({BitInput::kFeatures, code, values.size()}, values);
    std::vector<std::int32_t> symbols(values.size() * code.bits());
    for (std::size_t i = 0; i < symbols.size(); ++i) symbols[i] = view[i] ? 1 : 0;
    PackedSymbols packed(symbols.size(), 1);
    packed.write(0, std::span<const std::int32_t>(symbols));
    EXPECT_EQ(decode_features(code, packed, 0, values.size()), values);
    const auto some = decode_features(code, packed, std::size_t{7} * code.bits(), 20);
    EXPECT_EQ(some, std::vector<float>(values.begin() + 7, values.begin() + 27));
  }
}

TEST(BitView, WordsHoldTheSameBits) {
  BitSource bits = BitSource::from_seed(3, "code");
  std::vector<float> values(3000);
  for (float& value : values) value = static_cast<float>(4.0 * bits.unit() - 1.5);
  values[5] = kNan;
  std::vector<BitCode> codes = {{BitInput::kRaw, {}, values.size()},
                                {BitInput::kRaw, {}, 63},
                                {BitInput::kOneHot, {}, values.size()},
                                {BitInput::kOneHot, {}, 0},
                                {BitInput::kFeatures, {4, 5}, 0}};
  for (unsigned length = 2; length <= 32; ++length) {
    const unsigned whole = std::min(length - 1, FeatureCode::kMostWhole);
    codes.push_back({BitInput::kFeatures, {whole, length - 1 - whole}, values.size()});
  }
  for (const BitCode& code : codes) {
    const BitView view(code, values);
    for (const std::size_t first : {0, 64, 320, 64 * 31, 64 * 44}) {
      std::vector<std::uint64_t> words(49, ~std::uint64_t{0});
      view.read(first, words);
      for (std::size_t i = 0; i < 64 * words.size(); ++i) {
        const bool expected = first + i < code.bits() && view[first + i];
        ASSERT_EQ((words[i / 64] >> i % 64 & 1) != 0, expected)
            << code.bits_a_value() << " bits a value, from " << first << ", bit " << i;
      }
    }
  }
}

TEST(BitView, OneHotIsOneWhateverTheValues) {
  const auto ones_of = [](std::vector<float> values) {
    const BitView view({BitInput::kOneHot, {}, values.size()}, values);
    std::vector<std::size_t> ones;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (view[i]) ones.push_back(i);
    }
    return ones;
  };
  using Ones = std::vector<std::size_t>;
  EXPECT_EQ(ones_of({0, 1, 0}), Ones{1});
  EXPECT_EQ(ones_of({0, 1, 1}), Ones{1}) << "two ones: the first";
  EXPECT_EQ(ones_of({0, 0, 0}), Ones{0}) << "none: the first";
  EXPECT_EQ(ones_of({-0.0F, 0, 0}), Ones{0});
  EXPECT_EQ(ones_of({kNan, 0.1F, 0.2F}), Ones{2});
  EXPECT_EQ(ones_of({0.1F, kNan, kInfinite}), Ones{2});
  EXPECT_EQ(ones_of({kNan, kNan}).size(), 1U);
  std::vector<float> long_one(1000, 0.5F);
  long_one[777] = long_one[900] = 0.75F;
  EXPECT_EQ(ones_of(long_one), Ones{777});
}

}  // namespace
}  // namespace sotto
