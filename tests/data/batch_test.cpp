// What fill_batch writes: normalised values, resized and repeated channels, augmentation that is a
// function of its bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "data/toy_data.h"

namespace sotto {
namespace {

std::vector<float> batch(const Dataset& data, const std::vector<std::uint32_t>& indices,
                         const Preprocess& preprocess, BitSource* bits = nullptr) {
  EXPECT_TRUE(check_preprocess(data, preprocess));
  std::vector<float> x(indices.size() * output_shape(data, preprocess).size(), -99.0F);
  std::vector<std::int64_t> y(indices.size(), -1);
  fill_batch(data, indices, preprocess, bits, x, y);
  for (std::size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(y[i], data.labels[indices[i]]);
  return x;
}

float byte_at(const Dataset& data, std::size_t at) {
  return static_cast<float>(std::get<0>(data.values)[at]) / 255.0F;
}

Dataset constant(SampleShape shape, std::uint8_t value) {
  Dataset data = toy_images(shape, 1);
  std::ranges::fill(std::get<0>(data.values), value);
  return data;
}

TEST(FillBatch, ScalesBytesToTheUnitInterval) {
  const Dataset data = toy_images({1, 3, 5}, 4);
  const auto x = batch(data, {2, 0, 2}, {});
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_FLOAT_EQ(x[i], byte_at(data, 30 + i));
    EXPECT_FLOAT_EQ(x[15 + i], byte_at(data, i));
    EXPECT_FLOAT_EQ(x[30 + i], x[i]);
  }
}

TEST(FillBatch, NormalisesEachChannelByItsOwnNumbers) {
  const Dataset data = toy_images({3, 2, 2}, 2);
  const auto x = batch(data, {1}, {.mean = {0.1F, 0.2F, 0.3F}, .deviation = {0.5F, 0.25F, 2.0F}});
  for (std::size_t i = 0; i < 12; ++i) {
    const float mean = 0.1F * static_cast<float>(i / 4 + 1);
    const float deviation = i < 4 ? 0.5F : i < 8 ? 0.25F : 2.0F;
    EXPECT_NEAR(x[i], (byte_at(data, 12 + i) - mean) / deviation, 1e-6F) << i;
  }
}

TEST(FillBatch, OneNumberNormalisesAllChannels) {
  const Dataset data = toy_images({3, 2, 2}, 1);
  const auto x = batch(data, {0}, {.mean = {0.5F}, .deviation = {0.5F}});
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(x[i], byte_at(data, i) * 2.0F - 1.0F, 1e-6F);
}

TEST(FillBatch, PackedBitsBecomeTheirNormalisedValues) {
  Dataset data;
  data.shape = {1, 1, 11};
  data.packed = true;
  data.classes = 2;
  data.labels = {0, 1};
  data.values = std::vector<std::uint8_t>{0x00, 0x00, 0b0100'0101, 0b0000'0110};
  const auto x = batch(data, {1, 0, 1}, {.mean = {0.5F}, .deviation = {0.25F}});
  const std::vector<int> bits = {1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1};
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(x[i], bits[i] == 1 ? 2.0F : -2.0F) << i;
    EXPECT_EQ(x[11 + i], -2.0F) << i;
    EXPECT_EQ(x[22 + i], x[i]) << i;
  }
  EXPECT_FALSE(check_preprocess(data, {.resize = SampleShape{1, 1, 22}}));
  EXPECT_FALSE(check_preprocess(data, {.flip = true}));
}

TEST(FillBatch, FloatsAreNotScaled) {
  Dataset data = toy_images({1, 1, 3}, 1);
  data.values = std::vector<float>{10.0F, -4.0F, 300.0F};
  EXPECT_EQ(batch(data, {0}, {.mean = {4.0F}, .deviation = {2.0F}}),
            (std::vector<float>{3.0F, -4.0F, 148.0F}));
}

TEST(FillBatch, ResizedConstantStaysConstant) {
  const Dataset data = constant({1, 7, 5}, 51);
  for (const SampleShape to : {SampleShape{1, 13, 17}, {1, 3, 2}, {3, 224, 224}, {1, 1, 1}}) {
    const auto x = batch(data, {0}, {.resize = to});
    ASSERT_EQ(x.size(), to.size());
    for (const float value : x) EXPECT_FLOAT_EQ(value, 0.2F);
  }
}

TEST(FillBatch, EnlargesAsBilinearInterpolationWithPixelCentres) {
  // By hand: output i of 4 lies at (i + 0.5) / 2 - 0.5 = -0.25, 0.25, 0.75, 1.25 of the input.
  Dataset data = toy_images({1, 2, 2}, 1);
  data.values = std::vector<float>{0.0F, 4.0F, 8.0F, 12.0F};
  const auto x = batch(data, {0}, {.resize = SampleShape{1, 4, 4}});
  const std::vector<float> expected = {0, 1, 3, 4, 2, 3, 5, 6, 6, 7, 9, 10, 8, 9, 11, 12};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_FLOAT_EQ(x[i], expected[i]) << i;
}

TEST(FillBatch, BuffersFollowTheShapeFromCallToCall) {
  const Preprocess enlarge{.resize = SampleShape{1, 6, 6}};
  const Dataset small = toy_images({1, 3, 3}, 1);
  const Dataset large = toy_images({1, 9, 4}, 1);
  std::vector<float> fresh;  // from a thread whose buffers have seen nothing else
  std::thread([&] { fresh = batch(large, {0}, enlarge); }).join();
  const auto first = batch(small, {0}, enlarge);
  EXPECT_EQ(batch(large, {0}, enlarge), fresh);
  EXPECT_EQ(batch(small, {0}, enlarge), first);
}

TEST(FillBatch, GreyIsRepeatedAndNormalisedPerChannel) {
  const Dataset data = toy_images({1, 2, 2}, 1);
  const auto same = batch(data, {0}, {.mean = {0.5F}, .resize = SampleShape{3, 2, 2}});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(same[4 + i], same[i]);
    EXPECT_EQ(same[8 + i], same[i]);
  }
  const auto each = batch(data, {0},
                          {.mean = {0.1F, 0.2F, 0.3F},
                           .deviation = {1.0F, 2.0F, 4.0F},
                           .resize = SampleShape{3, 2, 2}});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(each[i], byte_at(data, i) - 0.1F, 1e-6F);
    EXPECT_NEAR(each[4 + i], (byte_at(data, i) - 0.2F) / 2.0F, 1e-6F);
    EXPECT_NEAR(each[8 + i], (byte_at(data, i) - 0.3F) / 4.0F, 1e-6F);
  }
}

TEST(Augmentation, IsAFunctionOfItsBitsAndChangesSomething) {
  const Dataset data = toy_images({3, 16, 16}, 8);
  std::vector<std::uint32_t> all(8);
  std::iota(all.begin(), all.end(), 0U);
  const Preprocess plain;
  for (const Preprocess& how :
       {Preprocess{.crop_padding = 3}, Preprocess{.flip = true},
        Preprocess{.rotation_degrees = 10.0F},
        Preprocess{.crop_padding = 2, .flip = true, .rotation_degrees = 5}}) {
    BitSource a = BitSource::from_seed(1, "test");
    BitSource b = BitSource::from_seed(1, "test");
    BitSource c = BitSource::from_seed(2, "test");
    const auto x = batch(data, all, how, &a);
    EXPECT_EQ(x, batch(data, all, how, &b));
    EXPECT_NE(x, batch(data, all, how, &c));
    EXPECT_NE(x, batch(data, all, plain));
    EXPECT_EQ(batch(data, all, how), batch(data, all, plain)) << "no bits, no augmentation";
  }
}

TEST(Augmentation, DrawsNothingWhenNothingIsAskedFor) {
  const Dataset data = toy_images({1, 4, 4}, 2);
  BitSource used = BitSource::from_seed(1, "test");
  BitSource fresh = BitSource::from_seed(1, "test");
  batch(data, {0, 1}, {}, &used);
  EXPECT_EQ(used.next_u64(), fresh.next_u64());
}

TEST(Augmentation, FlipMirrorsRows) {
  const Dataset data = toy_images({2, 3, 4}, 1);
  const auto plain = batch(data, {0}, {});
  bool seen_flipped = false;
  bool seen_plain = false;
  BitSource bits = BitSource::from_seed(3, "test");
  for (int trial = 0; trial < 64; ++trial) {
    const auto x = batch(data, {0}, {.flip = true}, &bits);
    std::vector<float> mirrored = x;
    for (std::size_t row = 0; row < 6; ++row) {
      std::ranges::reverse(std::span(mirrored).subspan(row * 4, 4));
    }
    EXPECT_TRUE(x == plain || mirrored == plain);
    seen_plain |= x == plain;
    seen_flipped |= mirrored == plain;
  }
  EXPECT_TRUE(seen_plain && seen_flipped);
}

TEST(Augmentation, CropShiftsAllChannelsAlikeAndPadsWithNormalisedZero) {
  const Dataset data = toy_images({2, 5, 5}, 1);
  const Preprocess how{.mean = {0.5F}, .deviation = {0.5F}, .crop_padding = 2};
  const auto plain = batch(data, {0}, {.mean = {0.5F}, .deviation = {0.5F}});
  BitSource bits = BitSource::from_seed(4, "test");
  std::vector<bool> seen(25, false);
  for (int trial = 0; trial < 400; ++trial) {
    const auto x = batch(data, {0}, how, &bits);
    int matches = 0;
    for (int dy = -2; dy <= 2; ++dy) {
      for (int dx = -2; dx <= 2; ++dx) {
        std::vector<float> shifted(50, -1.0F);
        for (int c = 0; c < 2; ++c) {
          for (int py = 0; py < 5; ++py) {
            for (int px = 0; px < 5; ++px) {
              const int sy = py + dy;
              const int sx = px + dx;
              if (sy < 0 || sy > 4 || sx < 0 || sx > 4) continue;
              shifted[static_cast<std::size_t>(c * 25 + py * 5 + px)] =
                  plain[static_cast<std::size_t>(c * 25 + sy * 5 + sx)];
            }
          }
        }
        if (x != shifted) continue;
        ++matches;
        seen[static_cast<std::size_t>((dy + 2) * 5 + dx + 2)] = true;
      }
    }
    EXPECT_EQ(matches, 1);
  }
  // A given shift is missed with probability (24/25)^400 < 1e-7; any of 25 with < 3e-6.
  EXPECT_TRUE(std::ranges::all_of(seen, [](bool s) { return s; }));
}

TEST(Augmentation, RotationKeepsADiscAndTurnsABar) {
  Dataset disc = constant({1, 33, 33}, 0);
  Dataset bar = disc;
  for (int y = 0; y < 33; ++y) {
    for (int x = 0; x < 33; ++x) {
      const int r2 = (y - 16) * (y - 16) + (x - 16) * (x - 16);
      // A smooth hill: a sharp rim would show the grid.
      std::get<0>(disc.values)[static_cast<std::size_t>(y * 33 + x)] =
          static_cast<std::uint8_t>(r2 < 200 ? 255 - r2 : 0);
      if (y == 16) std::get<0>(bar.values)[static_cast<std::size_t>(y * 33 + x)] = 255;
    }
  }
  const Preprocess how{.rotation_degrees = 90.0F};
  BitSource bits = BitSource::from_seed(5, "test");
  const auto plain = batch(disc, {0}, {});
  bool steep = false;
  for (int trial = 0; trial < 50; ++trial) {
    const auto x = batch(disc, {0}, how, &bits);
    for (int py = 8; py < 25; ++py) {
      for (int px = 8; px < 25; ++px) {
        const auto at = static_cast<std::size_t>(py * 33 + px);
        EXPECT_NEAR(x[at], plain[at], 0.02F);
      }
    }
    const auto turned = batch(bar, {0}, how, &bits);
    EXPECT_GT(turned[16 * 33 + 16], 0.9F) << "the centre stays";
    steep |= turned[4 * 33 + 16] > 0.3F;
  }
  EXPECT_TRUE(steep) << "50 angles in +-90 degrees, none within 3 degrees of upright";
}

TEST(CheckPreprocess, SaysWhatIsWrong) {
  const Dataset colour = toy_images({3, 4, 4}, 1);
  const auto message = [&](const Preprocess& p) {
    const auto result = check_preprocess(colour, p);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(message({}), "");
  EXPECT_NE(message({.resize = SampleShape{1, 4, 4}}).find("3 channels cannot become 1"),
            std::string::npos);
  EXPECT_NE(message({.resize = SampleShape{3, 0, 4}}).find("at least 1"), std::string::npos);
  EXPECT_NE(message({.mean = {0.1F, 0.2F}}).find("2 numbers for 3 channels"), std::string::npos);
  EXPECT_NE(message({.deviation = {0.0F}}).find("positive"), std::string::npos);
  EXPECT_NE(message({.rotation_degrees = 200.0F}).find("[0, 180]"), std::string::npos);
  EXPECT_NE(message({.crop_padding = 5}).find("[0, 4]"), std::string::npos);
}

TEST(Select, TakesSamplesInTheirOrder) {
  Dataset data = toy_images({1, 2, 2}, 6);
  data.users = {5, 4, 3, 2, 1, 0};
  const Dataset some = select(data, std::vector<std::uint32_t>{4, 1});
  EXPECT_EQ(some.labels, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(some.users, (std::vector<std::uint32_t>{1, 4}));
  const auto& all = std::get<std::vector<std::uint8_t>>(data.values);
  const auto& values = std::get<std::vector<std::uint8_t>>(some.values);
  ASSERT_EQ(values.size(), 8U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values[i], all[16 + i]);
    EXPECT_EQ(values[4 + i], all[4 + i]);
  }
}

/// Samples of bits take whole bytes.
TEST(Select, TakesPackedSamples) {
  Dataset data;
  data.shape = {1, 1, 12};
  data.packed = true;
  data.classes = 2;
  data.labels = {0, 1, 0};
  data.values = std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6};
  const Dataset some = select(data, std::vector<std::uint32_t>{2, 0});
  EXPECT_TRUE(some.packed);
  EXPECT_EQ(std::get<std::vector<std::uint8_t>>(some.values),
            (std::vector<std::uint8_t>{5, 6, 1, 2}));
}

}  // namespace
}  // namespace sotto
