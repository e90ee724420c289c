// JPEG and PNG to pixels, and folders and tars of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/formats/expect.h"
#include "data/formats/image.h"
#include "data/formats/parsers.h"
#include "data/readers.h"

namespace sotto {
namespace {

using make::Bytes;

std::uint8_t pixel_of(unsigned c, unsigned y, unsigned x) {
  return static_cast<std::uint8_t>(60 * c + 4 * y + x);
}

// Every pixel of `data`'s sample within `slack` of pixel_of.
void expect_pixels(const SampleShape& shape, std::span<const std::uint8_t> pixels, int slack) {
  ASSERT_EQ(pixels.size(), shape.size());
  for (unsigned c = 0; c < shape.channels; ++c) {
    for (unsigned y = 0; y < shape.height; ++y) {
      for (unsigned x = 0; x < shape.width; ++x) {
        const int found = pixels[(std::size_t{c} * shape.height + y) * shape.width + x];
        EXPECT_LE(std::abs(found - pixel_of(c, y, x)), slack) << c << " " << y << " " << x;
      }
    }
  }
}

TEST(Image, DecodesPngExactly) {
  for (const unsigned channels : {1U, 3U}) {
    const Bytes file = make::png(5, 4, channels, pixel_of);
    const auto shape = image_shape(file);
    ASSERT_TRUE(succeeds(shape));
    ASSERT_EQ(*shape, (SampleShape{channels, 4, 5}));
    std::vector<std::uint8_t> pixels(shape->size());
    ASSERT_TRUE(succeeds(decode_image(file, *shape, pixels)));
    expect_pixels(*shape, pixels, 0);
  }
}

TEST(Image, DecodesJpegClosely) {
  for (const bool progressive : {false, true}) {
    for (const unsigned channels : {1U, 3U}) {
      const Bytes file = make::jpeg(16, 24, channels, pixel_of, progressive);
      const auto shape = image_shape(file);
      ASSERT_TRUE(succeeds(shape));
      ASSERT_EQ(*shape, (SampleShape{channels, 24, 16}));
      std::vector<std::uint8_t> pixels(shape->size());
      ASSERT_TRUE(succeeds(decode_image(file, *shape, pixels)));
      expect_pixels(*shape, pixels, 12);
    }
  }
}

TEST(Image, DropsTransparency) {
  const Bytes file = make::png(3, 2, 4, [](unsigned c, unsigned y, unsigned x) {
    return c == 3 ? std::uint8_t{255} : pixel_of(c, y, x);
  });
  const SampleShape shape{3, 2, 3};
  std::vector<std::uint8_t> pixels(shape.size());
  ASSERT_TRUE(succeeds(decode_image(file, shape, pixels)));
  expect_pixels(shape, pixels, 0);
}

TEST(Image, RepeatsGreyWhereColourIsWanted) {
  const auto grey = [](unsigned, unsigned y, unsigned x) { return pixel_of(0, y, x); };
  const SampleShape shape{3, 4, 4};
  for (const Bytes& file : {make::png(4, 4, 1, grey), make::jpeg(4, 4, 1, grey)}) {
    std::vector<std::uint8_t> pixels(shape.size());
    ASSERT_TRUE(succeeds(decode_image(file, shape, pixels)));
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(pixels[i], pixels[16 + i]);
      EXPECT_EQ(pixels[i], pixels[32 + i]);
    }
  }
}

// A 2x2 grey PNG of one value.
Bytes flat(std::uint8_t value) {
  return make::png(2, 2, 1, [value](unsigned, unsigned, unsigned) { return value; });
}

// Two classes out of order, with things to pass over.
std::vector<make::TarMember> mixed_members(const std::string& top) {
  return {{top + "dog/b.png", flat(40), '0'},  {top + "dog/a.PNG", flat(30), '0'},
          {top + "readme.txt", flat(0), '0'},  {top + "cat/z.png", flat(20), '0'},
          {top + "cat/.hidden", flat(0), '0'}, {top + "cat/10.png", flat(10), '0'},
          {"__MACOSX/cat/x.png", flat(0), '0'}};
}

void expect_mixed(const Dataset& data) {
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(data.shape, (SampleShape{1, 2, 2}));
  const auto& pixels = bytes_in(data);
  ASSERT_EQ(pixels.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(pixels[i], 10 * (i / 4 + 1));
}

TEST(Images, SortsByClassAndNameWhateverTheOrder) {
  const auto data = parse_image_tar(make::tar(mixed_members("")));
  ASSERT_TRUE(succeeds(data));
  expect_mixed(*data);
}

TEST(Images, ReadsTarGzAndFolderAlike) {
  const TemporaryFolder folder;
  auto members = mixed_members("train/");
  members.push_back({"test/cat/1.png", flat(1), '0'});
  const auto packed = folder.write("set.tar.gz", make::gzip(make::tar(members)));
  for (const auto& member : members) folder.write("set/" + member.name, member.content);
  const auto unpacked = folder.path() / "set";
  for (const auto& source : {packed, unpacked}) {
    EXPECT_TRUE(*images_are_split(source));
    const auto data = read_images(source, "train");
    ASSERT_TRUE(succeeds(data));
    expect_mixed(*data);
    const auto test = read_images(source, "test");
    ASSERT_TRUE(succeeds(test));
    EXPECT_EQ(test->size(), 1U);
  }
  EXPECT_FALSE(*images_are_split(unpacked / "train"));
  const auto direct = read_images(unpacked / "train");
  ASSERT_TRUE(succeeds(direct));
  expect_mixed(*direct);
}

TEST(Images, OneColourImageMakesAllColour) {
  const auto data = parse_image_tar(
      make::tar({{"a/1.png", flat(9), '0'}, {"a/2.jpg", make::sample_jpeg(2, 3), '0'}}));
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->shape, (SampleShape{3, 2, 2}));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(bytes_in(*data)[i], 9);
}

}  // namespace
}  // namespace sotto
