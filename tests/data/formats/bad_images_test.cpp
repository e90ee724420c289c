// Broken pictures, and folders and tars that are no set of pictures.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "data/formats/expect.h"
#include "data/formats/image.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/readers.h"

namespace sotto {
namespace {

using make::Bytes;

Result<void> decode(ByteSpan file) {
  SOTTO_TRY(const SampleShape shape, image_shape(file));
  std::vector<std::uint8_t> pixels(shape.size());
  return decode_image(file, shape, pixels);
}

TEST(BadImage, TruncatedAnywhere) {
  for (const unsigned channels : {1U, 3U}) {
    expect_no_prefix_parses(make::sample_jpeg(20, channels), decode);
    expect_no_prefix_parses(make::sample_png(8, channels), decode);
  }
  const auto pixel = [](unsigned, unsigned y, unsigned x) {
    return static_cast<std::uint8_t>(x * y);
  };
  expect_no_prefix_parses(make::jpeg(20, 20, 1, pixel, true), decode);
}

TEST(BadImage, AnyByteChanged) {
  expect_total_on_changes(make::sample_jpeg(9, 3), decode);
  expect_total_on_changes(make::sample_png(8, 3), decode);
}

TEST(BadImage, DamagedInTheMiddle) {
  Bytes png = make::sample_png(8, 1);
  png[png.size() - 20] ^= std::byte{0xff};
  EXPECT_TRUE(fails_with(decode(png), "broken PNG: "));
  // A marker in the middle of the scan: libjpeg itself would only warn and fill the rest with grey.
  Bytes jpeg = make::sample_jpeg(64, 3);
  jpeg[jpeg.size() - 60] = std::byte{0xff};
  jpeg[jpeg.size() - 59] = std::byte{0xd9};
  EXPECT_TRUE(fails_with(decode(jpeg), "broken JPEG: "));
}

TEST(BadImage, NotAnImage) {
  EXPECT_TRUE(fails_with(decode({}), "neither JPEG nor PNG"));
  EXPECT_TRUE(fails_with(decode(make::bytes_of("GIF89a....")), "neither JPEG nor PNG"));
  EXPECT_TRUE(fails_with(decode(make::from_hex("ffd8ff")), "broken JPEG"));
  EXPECT_TRUE(fails_with(decode(make::from_hex("89504e470d0a1a0a")), "broken PNG"));
}

TEST(BadImage, FourColours) {
  EXPECT_TRUE(fails_with(decode(make::sample_jpeg(8, 4)), "JPEG with 4 components"));
}

// The frame header holds height and width, two bytes each, after FF C0, a length and a precision.
Bytes jpeg_claiming(unsigned width, unsigned height) {
  Bytes file = make::sample_jpeg(8, 1);
  for (std::size_t i = 0; i + 9 < file.size(); ++i) {
    if (load_big(&file[i], 2) != 0xffc0) continue;
    file[i + 5] = static_cast<std::byte>(height >> 8);
    file[i + 6] = static_cast<std::byte>(height);
    file[i + 7] = static_cast<std::byte>(width >> 8);
    file[i + 8] = static_cast<std::byte>(width);
    break;
  }
  return file;
}

TEST(BadImage, AbsurdSizes) {
  EXPECT_TRUE(fails_with(decode(jpeg_claiming(65500, 65500)), "more than 8192 a side"));
  EXPECT_TRUE(fails_with(decode(jpeg_claiming(8192, 8192)), "or 16777216 pixels"));
  EXPECT_TRUE(fails_with(decode(jpeg_claiming(4096, 4096)), "bytes cannot hold"));
  EXPECT_TRUE(fails_with(decode(jpeg_claiming(64, 64)), "broken JPEG"));
}

TEST(BadImage, ShapesThatDoNotFit) {
  std::vector<std::uint8_t> pixels(64);
  EXPECT_TRUE(fails_with(decode_image(make::sample_png(8, 3), {1, 8, 8}, pixels),
                         "is 8x8 colour, expected 8x8 grey"));
  EXPECT_TRUE(fails_with(decode_image(make::sample_jpeg(9, 1), {1, 8, 8}, pixels),
                         "is 9x9 grey, expected 8x8 grey"));
  EXPECT_TRUE(fails_with(decode_image(make::sample_png(8, 1), {3, 8, 8}, pixels), "wrong size"));
}

Result<Dataset> images_of(const std::vector<make::TarMember>& members,
                          const std::string& below = "") {
  return parse_image_tar(make::tar(members), below);
}

TEST(BadImages, FoldersThatAreNoSet) {
  const Bytes image = make::sample_png(4, 1);
  EXPECT_TRUE(fails_with(images_of({}), "no CLASS/IMAGE files"));
  EXPECT_TRUE(fails_with(images_of({{"a.png", image}}), "no CLASS/IMAGE files"));
  EXPECT_TRUE(fails_with(images_of({{"a/b.png", image}}, "train"), "files below 'train'"));
  EXPECT_TRUE(
      fails_with(images_of({{"train/a/b.png", image}}), "train/a/b.png: expected CLASS/IMAGE"));
  EXPECT_TRUE(fails_with(images_of({{"a/b.png", image}, {"a/c.gif", image}}),
                         "a/c.gif: not an image name"));
  EXPECT_TRUE(
      fails_with(images_of({{"a/b.png", image}, {"a/b.png", image}}), "a/b.png: occurs twice"));
  EXPECT_TRUE(fails_with(images_of({{"a/b.png", image}, {"c", {}, '5'}}),
                         "class folder 'c' has no images"));
  EXPECT_TRUE(
      fails_with(images_of({{"a/b.png", image}, {"a/link.png", {}, '2'}}), "symbolic link"));
}

TEST(BadImages, TogetherTheyAreABombToo) {
  const Bytes black = make::png(4096, 4096, 1, [](unsigned, unsigned, unsigned) { return 0; });
  EXPECT_LT(black.size(), 20'000U);
  std::vector<make::TarMember> members;
  for (int i = 0; i < 17; ++i) members.push_back({"a/" + std::to_string(i) + ".png", black});
  EXPECT_TRUE(fails_with(images_of(members), "unpacks to more than the limit of 268435456 bytes"));
}

TEST(BadImages, ErrorsNameTheFirstBadImage) {
  std::vector<make::TarMember> members;
  for (int i = 0; i < 300; ++i) {
    members.push_back({"a/" + std::to_string(1000 + i) + ".png", make::sample_png(4, 1)});
  }
  auto sizes = members;
  sizes[150].content = make::sample_png(5, 1);
  sizes[250].content = make::sample_png(6, 1);
  EXPECT_TRUE(fails_with(images_of(sizes), "a/1150.png: 5x5 pixels, but a/1000.png has 4x4"));
  auto broken = members;
  for (const std::size_t i : {299U, 200U, 120U}) broken[i].content.resize(60);
  for (int again = 0; again < 20; ++again) {
    ASSERT_TRUE(fails_with(images_of(broken), "a/1120.png: broken PNG"));
  }
}

TEST(ForEachInParallel, AnEarlyErrorIsNotReplacedByALateOneOfAHigherIndex) {
  using namespace std::chrono_literals;
  std::atomic<bool> high_started{false};
  std::atomic<bool> low_failed{false};
  const auto wait_for = [](const std::atomic<bool>& flag) {  // in vain where there is one core
    for (int i = 0; i < 100 && !flag; ++i) std::this_thread::sleep_for(2ms);
  };
  const auto result = for_each_in_parallel(128, [&](std::size_t i) -> Result<void> {
    if (i == 5) {
      wait_for(high_started);
      low_failed = true;
      return corrupt("low");
    }
    if (i == 64) {
      high_started = true;
      wait_for(low_failed);
      std::this_thread::sleep_for(20ms);
      return corrupt("high");
    }
    return {};
  });
  EXPECT_TRUE(fails_with(result, "low"));
}

TEST(BadImages, FoldersOnDisk) {
  const TemporaryFolder folder;
  EXPECT_TRUE(fails_with(read_images(folder.path()), "no CLASS/IMAGE files"));
  EXPECT_TRUE(fails_with(read_images(folder.path(), "train"), "train: "));
  EXPECT_TRUE(fails_with(read_images(folder.path() / "none.tar"), "none.tar: "));
  Bytes cut = make::sample_jpeg(16, 3);
  cut.resize(cut.size() - 10);
  folder.write("set/a/cut.jpg", cut);
  EXPECT_TRUE(fails_with(read_images(folder.path() / "set"), "set: a/cut.jpg: broken JPEG"));
  folder.write("set/a/deeper/b.png", make::sample_png(4, 1));
  EXPECT_TRUE(fails_with(read_images(folder.path() / "set"), "a/deeper: expected CLASS/IMAGE"));
  EXPECT_TRUE(
      fails_with(read_images(folder.write("set.tar", "not a tar")), "set.tar: not a tar archive"));
}

}  // namespace
}  // namespace sotto
