// Hostile IDX, CIFAR and MATLAB files.
#include <gtest/gtest.h>

#include <string>

#include "data/formats/expect.h"
#include "data/formats/mat5.h"
#include "data/formats/parsers.h"
#include "data/readers.h"

namespace sotto {
namespace {

using make::Bytes;

TEST(BadIdx, TruncatedAnywhere) {
  expect_no_prefix_parses(make::idx(0x803, {2, 2, 3}, make::counting(12)), parse_idx_images);
  expect_no_prefix_parses(make::idx(0x804, {2, 1, 2, 3}, make::counting(12)), parse_idx_images);
  expect_no_prefix_parses(make::idx(0x801, {5}, make::counting(5)), parse_idx_labels);
}

TEST(BadIdx, WrongMagicNamesFileAndBothMagics) {
  const TemporaryFolder folder;
  const auto labels = folder.write("labels", make::idx(0x801, {2}, make::counting(2)));
  const auto images = folder.write("images", make::idx(0x803, {2, 1, 1}, make::counting(2)));
  EXPECT_TRUE(fails_with(read_idx(labels, labels),
                         "labels: wrong magic 0x00000801, expected 0x00000803 (images)"));
  EXPECT_TRUE(fails_with(read_idx(images, images),
                         "images: wrong magic 0x00000803, expected 0x00000801 (labels)"));
}

TEST(BadIdx, CountsThatDoNotMatch) {
  const TemporaryFolder folder;
  const auto labels = folder.write("labels", make::idx(0x801, {3}, make::counting(3)));
  const auto images = folder.write("images", make::idx(0x803, {2, 1, 1}, make::counting(2)));
  const auto result = read_idx(images, labels);
  EXPECT_TRUE(fails_with(result, "labels: 3 labels, but "));
  EXPECT_TRUE(fails_with(result, "images has 2 images"));
}

TEST(BadIdx, AbsurdSizes) {
  const Bytes twelve = make::counting(12);
  constexpr std::uint32_t kMost = 0xffffffff;
  EXPECT_TRUE(fails_with(parse_idx_images(make::idx(0x803, {kMost, kMost, kMost}, twelve)),
                         "more than 8589934592 bytes, found 12"));
  // 2^16 * 2^16 * 2^32 = 2^64 would wrap to nothing.
  EXPECT_TRUE(fails_with(parse_idx_images(make::idx(0x804, {65536, 65536, 65536, 65536}, twelve)),
                         "more than"));
  EXPECT_TRUE(fails_with(parse_idx_images(make::idx(0x803, {kMost, 1, 1}, twelve)),
                         "4294967295 bytes, found 12"));
  EXPECT_TRUE(fails_with(parse_idx_labels(make::idx(0x801, {kMost}, twelve)), "found 12"));
  EXPECT_TRUE(
      fails_with(parse_idx_images(make::idx(0x803, {0, kMost, kMost}, {})), "holds nothing"));
  EXPECT_TRUE(
      fails_with(parse_idx_images(make::idx(0x803, {1, 2, 3}, twelve)), "= 6 bytes, found 12"));
  EXPECT_TRUE(fails_with(parse_idx_labels(make::idx(0x801, {0}, {})), "holds nothing"));
}

TEST(BadCifar, TruncatedAnywhere) {
  expect_no_prefix_parses(make::cifar_record(3), [](ByteSpan bytes) {
    Dataset data;
    return parse_cifar(bytes, data);
  });
}

TEST(BadCifar, LabelOutOfRange) {
  const TemporaryFolder folder;
  Bytes batch = make::cifar_record(9);
  make::put(batch, make::cifar_record(10));
  EXPECT_TRUE(fails_with(read_cifar({folder.write("data_batch_1.bin", batch)}),
                         "data_batch_1.bin: record 1: label 10, expected 0 to 9"));
}

TEST(BadCifar, MissingFiles) {
  const TemporaryFolder folder;
  EXPECT_TRUE(fails_with(read_cifar({}), "no CIFAR-10 batches"));
  EXPECT_TRUE(fails_with(find_cifar_batches(folder.path()), "has no data_batch_*.bin"));
  EXPECT_TRUE(fails_with(find_cifar_batches(folder.path() / "none"), "none: "));
}

TEST(BadMat, TruncatedAnywhere) {
  expect_no_prefix_parses(make::svhn({10, 3}, false), parse_svhn);
  expect_no_prefix_parses(make::svhn({10, 3}, true), parse_svhn);
}

TEST(BadMat, AnyByteChanged) {
  expect_total_on_changes(make::svhn({10, 3}, false), parse_svhn);
  expect_total_on_changes(make::svhn({10, 3}, true), parse_svhn);
}

TEST(BadMat, OtherVersions) {
  Bytes big = make::svhn({1}, false);
  big[126] = std::byte{'M'};
  big[127] = std::byte{'I'};
  EXPECT_TRUE(fails_with(parse_svhn(big), "big-endian"));
  Bytes hdf = make::svhn({1}, false);
  hdf[125] = std::byte{2};
  EXPECT_TRUE(fails_with(parse_svhn(hdf), "not -v7.3"));
}

Result<Dataset> svhn_of(const Bytes& x, const Bytes& y) {
  Bytes file = make::mat_header();
  make::put(file, x);
  make::put(file, y);
  return parse_svhn(file);
}

TEST(BadMat, ArraysThatDoNotFit) {
  const Bytes x = make::mat_array("X", 9, {1, 1, 3, 2}, 2, make::counting(6));
  const Bytes y = make::mat_array("y", 6, {2, 1}, 2, make::from_hex("0102"));
  ASSERT_TRUE(succeeds(svhn_of(x, y)));
  EXPECT_TRUE(fails_with(svhn_of(x, {}), "no array 'y'; found: X"));
  EXPECT_TRUE(fails_with(svhn_of(y, {}), "no array 'X'; found: y"));
  EXPECT_TRUE(fails_with(svhn_of(x, make::mat_array("y", 6, {3, 1}, 2, make::counting(3))),
                         "'y' has 3 labels, but X has 2 images"));
  EXPECT_TRUE(fails_with(svhn_of(x, make::mat_array("y", 6, {2, 1}, 2, make::from_hex("010b"))),
                         "'y', element 1: label is not a whole number from 0 to 10"));
  EXPECT_TRUE(fails_with(svhn_of(make::mat_array("X", 9, {2, 3}, 2, make::counting(6)), y),
                         "'X' is 2 x 3, expected height x width x 3 x N"));
  EXPECT_TRUE(fails_with(svhn_of(make::mat_array("X", 9, {1, 1, 3, 0}, 2, {}), y), "'X' is"));
  EXPECT_TRUE(fails_with(svhn_of(make::mat_array("X", 6 | 0x800, {1, 1}, 2, make::counting(1)), y),
                         "complex"));
  EXPECT_TRUE(fails_with(svhn_of(make::mat_array("X", 9, {1, 1}, 99, make::counting(1)), y),
                         "elements of type 99"));
}

TEST(BadMat, MissingPadding) {
  // X without the two bytes that fill its last element up to a multiple of 8.
  Bytes x = make::mat_array("X", 9, {1, 1, 3, 2}, 2, make::counting(6));
  x.resize(x.size() - 2);
  x[4] = static_cast<std::byte>(x.size() - 8);
  EXPECT_TRUE(fails_with(svhn_of(x, {}), "byte 128: element: truncated padding"));
  x.resize(x.size() + 2);  // now the outer element is padded, the inner one is not
  EXPECT_TRUE(fails_with(svhn_of(x, {}), "byte 128: array 'X': truncated padding"));
}

TEST(BadMat, AbsurdSizes) {
  const auto array = [](const std::vector<std::uint32_t>& dimensions, std::uint32_t type = 2) {
    return svhn_of(make::mat_array("X", 9, dimensions, type, make::counting(8)), {});
  };
  constexpr std::uint32_t kMost = 0x7fffffff;
  EXPECT_TRUE(fails_with(array({kMost, kMost, kMost, kMost}), "do not fit the 8 bytes stored"));
  EXPECT_TRUE(fails_with(array({0x10000, 0x10000, 0x10000, 0x10000}), "do not fit"));
  // 2^61 doubles of 8 bytes each would wrap to nothing.
  EXPECT_TRUE(fails_with(array({0x40000000, 0x40000000, 2}, 9), "do not fit"));
  EXPECT_TRUE(fails_with(array({0xffffffff, 1}), "negative dimension"));
  EXPECT_TRUE(fails_with(array({8}), "malformed dimensions"));
  EXPECT_TRUE(fails_with(array(std::vector<std::uint32_t>(33, 1)), "malformed dimensions"));

  Bytes file = make::mat_header();
  make::put_little(file, 14, 4);
  make::put_little(file, 0xfffffff8, 4);
  EXPECT_TRUE(fails_with(parse_mat5(file), "byte 128: element: claims 4294967288 bytes"));

  // A compressed element whose content claims four gigabytes.
  Bytes tag;
  make::put_little(tag, 14, 4);
  make::put_little(tag, 0xfffffff8, 4);
  file = make::mat_header();
  make::put(file, make::mat_element(15, make::zlib(tag)));
  EXPECT_TRUE(fails_with(parse_mat5(file), "unpacks to more than the limit"));
}

TEST(BadMat, ElementsTogetherAreABombToo) {
  constexpr std::uint32_t kSize = 140'000'000;
  const Bytes element =
      make::mat_element(15, make::zlib(make::mat_array("a", 9, {kSize, 1}, 2, Bytes(kSize))));
  Bytes file = make::mat_header();
  make::put(file, element);
  make::put(file, element);
  EXPECT_LT(file.size(), 400'000U);
  EXPECT_TRUE(fails_with(parse_mat5(file), "unpacks to more than the limit of 268435456 bytes"));
}

}  // namespace
}  // namespace sotto
