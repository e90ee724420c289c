// IDX, CIFAR, SVHN, CSV, NumPy and LEAF as they should be. Expected values are written out.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "data/formats/expect.h"
#include "data/formats/mat5.h"
#include "data/formats/npy.h"
#include "data/formats/parsers.h"
#include "data/readers.h"

namespace sotto {
namespace {

using make::Bytes;
using Labels = std::vector<std::int32_t>;

// Written by NumPy 1.24: numpy.save of arange(6, uint8).reshape(2, 3), and of a float64 array.
constexpr std::string_view kNumpyBytes =
    "934e554d5059010076007b276465736372273a20277c7531272c2027666f727472616e5f6f72646572273a20"
    "46616c73652c20277368617065273a2028322c2033292c207d2020202020202020202020202020202020202020"
    "20202020202020202020202020202020202020202020202020202020202020202020202020200a000102030405";
constexpr std::string_view kNumpyDoubles =
    "934e554d5059010076007b276465736372273a20273c6638272c2027666f727472616e5f6f72646572273a20"
    "46616c73652c20277368617065273a2028322c2032292c207d2020202020202020202020202020202020202020"
    "20202020202020202020202020202020202020202020202020202020202020202020202020200a00000000000"
    "0e03f000000000000f0bf00000000000000400000000000000a40";
// numpy.savez and numpy.savez_compressed of x (the first array above) and y = [1, 0] (int64).
constexpr std::string_view kNumpySavez =
    "504b0304140000000000000021007e9ed7cf860000008600000005001400782e6e707901001000860000000000"
    "00008600000000000000934e554d5059010076007b276465736372273a20277c7531272c2027666f727472616e"
    "5f6f72646572273a2046616c73652c20277368617065273a2028322c2033292c207d2020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "20200a000102030405504b03041400000000000000210071fb39ab900000009000000005001400792e6e707901"
    "00100090000000000000009000000000000000934e554d5059010076007b276465736372273a20273c6938272c"
    "2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c292c207d20202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "20202020202020202020200a01000000000000000000000000000000504b01021403140000000000000021007e"
    "9ed7cf8600000086000000050000000000000000000000800100000000782e6e7079504b010214031400000000"
    "000000210071fb39ab90000000900000000500000000000000000000008001bd000000792e6e7079504b050600"
    "0000000200020066000000840100000000";
constexpr std::string_view kNumpySavezCompressed =
    "504b0304140000000800000021007e9ed7cf4c0000008600000005001400782e6e707901001000860000000000"
    "00004c000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f54529498"
    "179f5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e06462666165600504b0304"
    "1400000008000000210071fb39ab480000009000000005001400792e6e70790100100090000000000000004800"
    "0000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f54529498179f5f94"
    "920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14002e4606540000504b01021403140000000800"
    "000021007e9ed7cf4c00000086000000050000000000000000000000800100000000782e6e7079504b01021403"
    "1400000008000000210071fb39ab4800000090000000050000000000000000000000800183000000792e6e7079"
    "504b0506000000000200020066000000020100000000";

TEST(Idx, ReadsImagesAndLabelsPlainOrPacked) {
  const TemporaryFolder folder;
  const auto images =
      folder.write("images.gz", make::gzip(make::idx(0x803, {2, 2, 3}, make::counting(12))));
  const auto labels = folder.write("labels", make::idx(0x801, {2}, make::from_hex("0700")));
  const auto data = read_idx(images, labels);
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->shape, (SampleShape{1, 2, 3}));
  EXPECT_EQ(data->labels, (Labels{7, 0}));
  EXPECT_EQ(data->classes, 8);
  EXPECT_EQ(bytes_in(*data), (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Idx, PutsChannelsFirst) {
  const auto images = parse_idx_images(make::idx(0x804, {2, 1, 2, 3}, make::counting(12)));
  ASSERT_TRUE(succeeds(images));
  EXPECT_EQ(images->shape, (SampleShape{3, 1, 2}));
  EXPECT_EQ(images->pixels, (std::vector<std::uint8_t>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
}

TEST(Cifar, ReadsBatchesInOrder) {
  const TemporaryFolder folder;
  Bytes first = make::cifar_record(9);
  make::put(first, make::cifar_record(0));
  folder.write("data_batch_2.bin", make::cifar_record(4));
  folder.write("data_batch_1.bin", first);
  folder.write("test_batch.bin", make::cifar_record(1));
  folder.write("readme.html", "not a batch");
  const auto batches = find_cifar_batches(folder.path());
  ASSERT_TRUE(succeeds(batches));
  const auto train = read_cifar(batches->train);
  ASSERT_TRUE(succeeds(train));
  EXPECT_EQ(train->labels, (Labels{9, 0, 4}));
  EXPECT_EQ(train->shape, (SampleShape{3, 32, 32}));
  EXPECT_EQ(train->class_names.at(9), "truck");
  EXPECT_EQ(bytes_in(*train).size(), 3U * 3072U);
  EXPECT_EQ(bytes_in(*train)[3072 + 257], 1);
  const auto test = read_cifar(batches->test);
  ASSERT_TRUE(succeeds(test));
  EXPECT_EQ(test->labels, (Labels{1}));
}

TEST(Cifar, ReadsTheOfficialArchiveInTheOrderOfItsNames) {
  const TemporaryFolder folder;
  const std::string top = "cifar-10-batches-bin/";
  const auto archive =
      folder.write("all.tar", make::tar({{top + "data_batch_2.bin", make::cifar_record(4)},
                                         {top + "readme.html", make::counting(9)},
                                         {top + "test_batch.bin", make::cifar_record(1)},
                                         {top + "data_batch_1.bin", make::cifar_record(9)}}));
  const auto train = read_cifar_tar(archive, false);
  ASSERT_TRUE(succeeds(train));
  EXPECT_EQ(train->labels, (Labels{9, 4}));
  const auto test = read_cifar_tar(archive, true);
  ASSERT_TRUE(succeeds(test));
  EXPECT_EQ(test->labels, (Labels{1}));

  const auto cut =
      folder.write("cut.tar", make::tar({{top + "test_batch.bin", make::counting(9)}}));
  EXPECT_TRUE(fails_with(read_cifar_tar(cut, true), "test_batch.bin"));
  EXPECT_TRUE(fails_with(read_cifar_tar(cut, false), "has no data_batch_*.bin"));
}

TEST(Svhn, ReadsColumnsAsRows) {
  for (const bool compressed : {false, true}) {
    const auto data = parse_svhn(make::svhn({10, 3}, compressed));
    ASSERT_TRUE(succeeds(data));
    EXPECT_EQ(data->shape, (SampleShape{3, 2, 3}));
    EXPECT_EQ(data->labels, (Labels{0, 3}));
    EXPECT_EQ(data->classes, 10);
    const auto& pixels = bytes_in(*data);
    ASSERT_EQ(pixels.size(), 36U);
    // The first plane is 0 2 4 / 1 3 5: MATLAB counts down the columns.
    EXPECT_EQ((std::vector<std::uint8_t>(pixels.begin(), pixels.begin() + 6)),
              (std::vector<std::uint8_t>{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(pixels[18], 18);
  }
}

TEST(Mat5, PassesOverWhatIsNoNumberArray) {
  Bytes file = make::mat_header();
  make::put(file, make::mat_array("text", 4, {1, 2}, 4, make::counting(4)));
  Bytes doubles;
  make::put_little(doubles, std::bit_cast<std::uint64_t>(-2.5), 8);
  make::put(file, make::mat_array("longer_name", 6, {1, 1}, 9, doubles));
  make::put(file, make::mat_array("i", 8, {1, 1}, 1, make::from_hex("ff")));
  const auto arrays = parse_mat5(file);
  ASSERT_TRUE(succeeds(arrays));
  ASSERT_EQ(arrays->size(), 2U);
  EXPECT_EQ((*arrays)[0].name, "longer_name");
  EXPECT_EQ((*arrays)[0].value(0), -2.5);
  EXPECT_EQ((*arrays)[1].value(0), -1.0);
}

TEST(Csv, ReadsWithHeaderAndNamedLabelColumn) {
  const auto data = parse_csv(
      "\xef\xbb\xbf"
      "a,Label,b\r\n1.5,2,-3\r\n\r\n+4,0,5e-1\r\n");
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->shape, (SampleShape{1, 1, 2}));
  EXPECT_EQ(data->labels, (Labels{2, 0}));
  EXPECT_EQ(data->classes, 3);
  EXPECT_EQ(floats_in(*data), (std::vector<float>{1.5F, -3.0F, 4.0F, 0.5F}));
}

TEST(Csv, ReadsWithoutHeaderAndSortsClassNames) {
  const auto data = parse_csv("1, 2 ,\"virginica\"\n3,\"4\",setosa\n5,6,virginica");
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"setosa", "virginica"}));
  EXPECT_EQ(data->labels, (Labels{1, 0, 1}));
  EXPECT_EQ(floats_in(*data), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Csv, TakesTheLastColumnOfAHeaderWithoutALabelName) {
  const auto data = parse_csv("a,b\n1,0\n2,1\n");
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->labels, (Labels{0, 1}));
}

TEST(Npy, ReadsWhatNumpyWrote) {
  const Bytes bytes = make::from_hex(kNumpyBytes);
  const auto array = parse_npy_array(bytes);
  ASSERT_TRUE(succeeds(array));
  EXPECT_EQ(array->shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(array->value(5), 5.0);
  const Bytes doubles = make::from_hex(kNumpyDoubles);
  const auto real = parse_npy_array(doubles);
  ASSERT_TRUE(succeeds(real));
  EXPECT_EQ(real->value(1), -1.0);
  EXPECT_EQ(real->value(3), 3.25);
}

TEST(Npy, ColumnMajorValuesComeRowByRow) {
  // What numpy.asfortranarray([[0, 1, 2], [3, 4, 5]]) holds in this order: 0 3 1 4 2 5.
  const Bytes bytes = make::npy("|u1", "(2, 3)", make::from_hex("000301040205"), "True");
  const auto array = parse_npy_array_any_order(bytes);
  ASSERT_TRUE(succeeds(array));
  EXPECT_TRUE(array->column_major);
  EXPECT_EQ(values_row_by_row(*array), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, ReadsWhatItWrites) {
  const std::vector<float> values = {1.5F, -2.0F, 0.0F, 3.25F, 5.0F, 6.0F};
  for (const std::vector<std::uint64_t>& shape : std::vector<std::vector<std::uint64_t>>{
           {6}, {2, 3}, {1, 6, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6}}) {
    const auto file = npy_file('f', 4, shape, std::as_bytes(std::span(values)));
    const auto array = parse_npy_array(file);
    ASSERT_TRUE(succeeds(array));
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->kind, 'f');
    EXPECT_EQ(array->value(3), 3.25);
    EXPECT_EQ((file.size() - array->elements.size()) % 64, 0U);
  }
  const auto scalar = npy_file('f', 4, {}, std::as_bytes(std::span(values).first(1)));
  EXPECT_TRUE(succeeds(parse_npy_array(scalar)));
  const std::vector<std::uint64_t> nothing = {0, 3};
  const auto empty = npy_file('i', 8, nothing, {});
  ASSERT_TRUE(succeeds(parse_npy_array(empty)));
  EXPECT_EQ(parse_npy_array(empty)->shape, nothing);
}

TEST(Npy, ReadsFeaturesAndLabelsFromTwoFiles) {
  const TemporaryFolder folder;
  const auto x = folder.write("x.npy", make::from_hex(kNumpyDoubles));
  const auto y = folder.write("y.npy", make::npy("|i1", "(2, 1)", make::from_hex("0301")));
  const auto data = read_npy(x, y);
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->shape, (SampleShape{1, 1, 2}));
  EXPECT_EQ(floats_in(*data), (std::vector<float>{0.5F, -1.0F, 2.0F, 3.25F}));
  EXPECT_EQ(data->labels, (Labels{3, 1}));
}

TEST(Npz, ReadsWhatNumpyWrote) {
  for (const std::string_view hex : {kNumpySavez, kNumpySavezCompressed}) {
    const auto data = parse_npz(make::from_hex(hex));
    ASSERT_TRUE(succeeds(data));
    EXPECT_EQ(bytes_in(*data), (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(data->labels, (Labels{1, 0}));
  }
}

TEST(Npz, KnowsImagesOfEitherOrderAndParts) {
  const TemporaryFolder folder;
  const Bytes label = make::npy("<u2", "(1,)", make::from_hex("0500"));
  const auto file = folder.write(
      "set.npz",
      make::zip({{"x_train.npy", make::npy("|u1", "(1, 1, 2, 3)", make::counting(6)), true},
                 {"y_train.npy", label, false},
                 {"x_test.npy", make::npy("|u1", "(1, 3, 1, 2)", make::counting(6)), true},
                 {"y_test.npy", label, false}}));
  EXPECT_TRUE(*npz_is_split(file));
  const auto train = read_npz(file, "train");
  ASSERT_TRUE(succeeds(train));
  EXPECT_EQ(train->shape, (SampleShape{3, 1, 2}));
  EXPECT_EQ(bytes_in(*train), (std::vector<std::uint8_t>{0, 3, 1, 4, 2, 5}));
  const auto test = read_npz(file, "test");
  ASSERT_TRUE(succeeds(test));
  EXPECT_EQ(test->shape, (SampleShape{3, 1, 2}));
  EXPECT_EQ(bytes_in(*test), (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
  const auto other = folder.write("other.npz", make::from_hex(kNumpySavez));
  EXPECT_FALSE(*npz_is_split(other));
}

TEST(Leaf, KeepsUsers) {
  const TemporaryFolder folder;
  const auto file = folder.write("data.json", make::leaf());
  const auto data = read_leaf(file);
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->shape, (SampleShape{1, 1, 2}));
  EXPECT_EQ(floats_in(*data), (std::vector<float>{0.5F, 1, 2, -3, 7, 8.25F}));
  EXPECT_EQ(data->labels, (Labels{0, 2, 1}));
  EXPECT_EQ(data->users, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(data->classes, 3);
}

TEST(Leaf, JoinsTheFilesOfAFolder) {
  const TemporaryFolder folder;
  folder.write("b.json", R"({"users": ["cid", "ann"], "num_samples": [1, 1], "user_data":
    {"cid": {"x": [[1, 1]], "y": [5]}, "ann": {"x": [[2, 2]], "y": [0]}}})");
  folder.write("a.json", make::leaf());
  folder.write("notes.txt", "not data");
  const auto data = read_leaf(folder.path());
  ASSERT_TRUE(succeeds(data));
  EXPECT_EQ(data->labels, (Labels{0, 2, 1, 5, 0}));
  EXPECT_EQ(data->users, (std::vector<std::uint32_t>{0, 0, 1, 2, 0}));
}

}  // namespace
}  // namespace sotto
