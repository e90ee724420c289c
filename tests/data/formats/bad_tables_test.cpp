// Hostile CSV, NumPy and LEAF files.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "data/formats/expect.h"
#include "data/formats/npy.h"
#include "data/formats/parsers.h"
#include "data/readers.h"

namespace sotto {
namespace {

using make::Bytes;

TEST(BadCsv, EveryPrefixIsReadOrRefused) {
  const std::string text = "a,\"label\",b\n1.5,x,-3e2\n4,y,5\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::vector<char> prefix(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
    const auto data = parse_csv({prefix.data(), prefix.size()});
    ASSERT_TRUE(data || !data.error().message.empty());
    if (!data) continue;
    EXPECT_EQ(floats_in(*data).size(), data->shape.size() * data->size());
  }
}

TEST(BadCsv, EmptyFiles) {
  EXPECT_TRUE(fails_with(parse_csv(""), "no rows of data"));
  EXPECT_TRUE(fails_with(parse_csv("\n\r\n \n"), "no rows of data"));
  EXPECT_TRUE(fails_with(parse_csv("a,b,label\n"), "no rows of data"));
  const TemporaryFolder folder;
  EXPECT_TRUE(fails_with(read_csv(folder.write("empty.csv", "")), "empty.csv: no rows of data"));
}

TEST(BadCsv, RaggedRows) {
  EXPECT_TRUE(fails_with(parse_csv("1,2,0\n1,2\n"), "line 2: 2 columns, expected 3"));
  EXPECT_TRUE(fails_with(parse_csv("1,2,0\n1,2,3,0\n"), "line 2: 4 columns, expected 3"));
  EXPECT_TRUE(fails_with(parse_csv("1\n2\n"), "line 1: one column"));
}

TEST(BadCsv, ALineOfAHundredMegabytes) {
  EXPECT_TRUE(
      fails_with(parse_csv(std::string(100'000'000, ',')), "line 1: more than 1048576 columns"));
  EXPECT_TRUE(fails_with(parse_csv("1,2," + std::string(100'000'000, '7') + "\n"), "label"));
}

TEST(BadCsv, CellsThatAreNoNumbers) {
  EXPECT_TRUE(fails_with(parse_csv("a,b,y\n1,2,0\n1,two,0\n"),
                         "line 3, column 2: 'two' is not a finite number"));
  for (const char* const cell : {"", "nan", "inf", "1e999", "1e39", "0x10", "1 2", "1;2", "--1"}) {
    EXPECT_TRUE(fails_with(parse_csv("1,2,0\n1," + std::string(cell) + ",0\n"),
                           "line 2, column 2: '" + std::string(cell) + "' is not a finite number"));
  }
}

TEST(BadCsv, Labels) {
  EXPECT_TRUE(fails_with(parse_csv("1,0\n1,-1\n"), "line 2: label -1, expected a whole number"));
  EXPECT_TRUE(fails_with(parse_csv("1,0\n1,0.5\n"), "line 2: label 0.5"));
  EXPECT_TRUE(fails_with(parse_csv("1,0\n1,100000\n"), "line 2: label 100000"));
  EXPECT_TRUE(fails_with(parse_csv("1,0\n1,1e30\n"), "line 2: label 1"));
  EXPECT_TRUE(fails_with(parse_csv("1,cat\n1,\n"), "line 2: empty label"));
}

TEST(BadCsv, Quotes) {
  EXPECT_TRUE(
      fails_with(parse_csv("1,\"cat\n2,dog\"\n"), "line 1, column 2: quote without an end"));
  EXPECT_TRUE(fails_with(parse_csv("1,\"ca\"t\n"), "text after a closing quote"));
}

TEST(BadNpy, TruncatedAnywhere) {
  expect_no_prefix_parses(make::npy("<f4", "(2, 3)", make::counting(24)), parse_npy_array);
}

TEST(BadNpy, AnyByteChanged) {
  expect_total_on_changes(make::npy("<f4", "(2, 3)", make::counting(24)), parse_npy_array);
}

TEST(BadNpy, TypesAndOrders) {
  const auto parse = [](std::string_view descr, std::string_view order = "False") {
    const Bytes file = make::npy(descr, "(1, 8)", make::counting(8), order);
    return parse_npy_array(file);
  };
  for (const char* const descr :
       {"|O", "<c8", "<U4", "|b1", "<f2", "<i3", "f4", "", "<f16", "|V8"}) {
    EXPECT_TRUE(fails_with(parse(descr), "dtype '" + std::string(descr) + "' is not"));
  }
  EXPECT_TRUE(fails_with(parse(">f4"), "'>f4' is big-endian; save it with .astype('<f4')"));
  EXPECT_TRUE(fails_with(parse("|u1", "True"), "numpy.ascontiguousarray"));
  EXPECT_TRUE(fails_with(parse("|u1", "None"), "expected True or False"));
}

TEST(BadNpy, AbsurdSizes) {
  const auto parse = [](std::string_view shape) {
    const Bytes file = make::npy("<f8", shape, make::counting(16));
    return parse_npy_array(file);
  };
  ASSERT_TRUE(succeeds(parse("(2,)")));
  EXPECT_TRUE(fails_with(parse("(3,)"), "shape 3 of 8-byte elements does not fit the 16 bytes"));
  EXPECT_TRUE(fails_with(parse("(4294967296, 4294967296)"), "does not fit"));
  EXPECT_TRUE(fails_with(parse("(2305843009213693954,)"), "does not fit"));  // times 8 wraps to 16
  EXPECT_TRUE(fails_with(parse("(9223372036854775808, 2)"), "does not fit"));
  EXPECT_TRUE(fails_with(parse("(18446744073709551616,)"), "expected a dimension"));
  EXPECT_TRUE(fails_with(parse("(-2,)"), "expected a dimension"));
  EXPECT_TRUE(fails_with(parse("[2]"), "expected '('"));
  EXPECT_TRUE(fails_with(parse("(2 3)"), "expected ',' or ')'"));
  std::string many = "(";
  for (int i = 0; i < 40; ++i) many += "1,";
  EXPECT_TRUE(fails_with(parse(many + ")"), "more than 32 dimensions"));

  Bytes file = make::npy("<f8", "(2,)", make::counting(16));
  file[8] = std::byte{0xff};
  file[9] = std::byte{0xff};
  EXPECT_TRUE(fails_with(parse_npy_array(file), "NPY header of 65535 bytes, but only "));
  file[6] = std::byte{2};
  EXPECT_TRUE(fails_with(parse_npy_array(file), "NPY header of "));
  file[6] = std::byte{9};
  EXPECT_TRUE(fails_with(parse_npy_array(file), "NPY version 9"));
}

Result<Dataset> npz_of(const Bytes& x, const Bytes& y) {
  return parse_npz(make::zip({{"x.npy", x, false}, {"y.npy", y, false}}));
}

TEST(BadNpz, Arrays) {
  const Bytes x = make::npy("|u1", "(2, 3)", make::counting(6));
  const Bytes y = make::npy("|u1", "(2,)", make::counting(2));
  ASSERT_TRUE(succeeds(npz_of(x, y)));
  EXPECT_TRUE(fails_with(parse_npz(make::zip({})), "not a zip archive, or one without entries"));
  EXPECT_TRUE(fails_with(parse_npz(make::zip({{"x.npy", x, false}, {"z.npy", y, false}})),
                         "no array y or labels; found: x.npy, z.npy"));
  EXPECT_TRUE(fails_with(parse_npz(make::zip({{"x.npy", x, false}}), "train"), "no array x_train"));
  EXPECT_TRUE(fails_with(npz_of(x, make::npy("|u1", "(3,)", make::counting(3))),
                         "y.npy: 3 labels, but 2 samples"));
  EXPECT_TRUE(fails_with(npz_of(x, make::npy("|i1", "(2,)", make::from_hex("00ff"))),
                         "y.npy: element 1: label -1"));
  EXPECT_TRUE(fails_with(npz_of(x, make::npy("<i4", "(2,)", make::from_hex("0000000000000001"))),
                         "y.npy: element 1: label 16777216"));
  EXPECT_TRUE(fails_with(npz_of(x, make::npy("|u1", "(1, 2)", make::counting(2))),
                         "labels of shape 1 x 2"));
  EXPECT_TRUE(fails_with(npz_of(make::npy("|u1", "(6,)", make::counting(6)), y), "x.npy: shape 6"));
  EXPECT_TRUE(fails_with(npz_of(make::npy("|u1", "(1, 2, 2, 2)", make::counting(8)), y),
                         "x.npy: shape 1 x 2 x 2 x 2, expected"));
  EXPECT_TRUE(fails_with(npz_of(make::npy("<i8", "(1, 1)", make::counting(8)), y),
                         "features are integers"));
  EXPECT_TRUE(fails_with(npz_of(make::npy("|u1", "(0, 3)", {}), y), "x.npy: holds nothing"));
  Bytes nan;
  make::put_little(nan, std::bit_cast<std::uint64_t>(1.0), 8);
  make::put_little(nan, 0x7ff8000000000000, 8);
  EXPECT_TRUE(fails_with(npz_of(make::npy("<f8", "(2, 1)", nan), y), "sample 1: a feature is not"));
}

TEST(BadNpz, TruncatedAnywhere) {
  expect_no_prefix_parses(
      make::zip({{"x.npy", make::npy("|u1", "(2, 3)", make::counting(6)), true},
                 {"y.npy", make::npy("|u1", "(2,)", make::counting(2)), false}}),
      [](ByteSpan bytes) { return parse_npz(bytes); });
}

Result<Dataset> leaf_of(std::string_view text) {
  Dataset data;
  data.values = std::vector<float>();
  std::map<std::string, std::uint32_t> users;
  SOTTO_CHECK(parse_leaf(text, data, users));
  return data;
}

TEST(BadLeaf, TruncatedAnywhere) {
  const std::string text = make::leaf();
  expect_no_prefix_parses(std::as_bytes(std::span(text)),
                          [](ByteSpan bytes) { return leaf_of(as_text(bytes)); });
}

TEST(BadLeaf, AnyByteChanged) {
  const std::string text = make::leaf();
  expect_total_on_changes(std::as_bytes(std::span(text)),
                          [](ByteSpan bytes) { return leaf_of(as_text(bytes)); });
}

// A file of one user "u".
std::string one_user(const std::string& data, const std::string& count = "1") {
  return R"({"users": ["u"], "num_samples": [)" + count + R"(], "user_data": {"u": )" + data + "}}";
}

TEST(BadLeaf, MissingKeys) {
  EXPECT_TRUE(fails_with(leaf_of("{}"), "has no 'users'"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": []})"), "has no 'num_samples'"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": [], "num_samples": []})"), "has no 'user_data'"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]]})")), "user 'u': has no 'y'"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"y": [1]})")), "user 'u': has no 'x'"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": ["a"], "num_samples": [1], "user_data": {}})"),
                         "user 'a': has no user_data"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": [], "num_samples": [],
                                     "user_data": {"b": {"x": [[1]], "y": [1]}}})"),
                         "user 'b': not in users"));
}

TEST(BadLeaf, CountsThatDoNotMatch) {
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1], [2]], "y": [1]})")),
                         "2 samples in x, but 1 labels in y"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]], "y": [1]})", "2")),
                         "has 1 samples, but num_samples says otherwise"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]], "y": [1]})", "1, 1")),
                         "1 users, but 2 entries in num_samples"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1], [1, 2]], "y": [1, 1]})", "2")),
                         "user 'u', sample 1: 2 features, expected 1"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[]], "y": [1]})")), "0 features"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": ["u", "u"], "num_samples": [1, 1],
                                     "user_data": {"u": {"x": [[1]], "y": [1]}}})"),
                         "occurs twice in users"));
}

TEST(BadLeaf, TextsAndOtherValues) {
  constexpr std::string_view kText = "only numeric features are supported";
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": ["hello"], "y": [1]})")), kText));
  EXPECT_TRUE(
      fails_with(leaf_of(one_user(R"({"x": [["1234", "user", "hello"]], "y": [1]})")), kText));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]], "y": ["a"]})")), "only numeric labels"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[[1]]], "y": [1]})")), "found a list"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[null]], "y": [1]})")), "unexpected null"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [1], "y": [1]})")), "unexpected a number"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": 1, "y": [1]})")), "unexpected a number"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1e39]], "y": [1]})")), "not a finite number"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]], "y": [-1]})")), "label 0: label -1"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]], "y": [100000]})")), "label 100000"));
  EXPECT_TRUE(fails_with(leaf_of(one_user(R"({"x": [[1]], "y": [0.5]})")), "label 0.5"));
  EXPECT_TRUE(fails_with(leaf_of("[]"), "the file: expected an object"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": {}})"), "'users': expected a list"));
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": "u"})"), "unexpected a text"));
}

TEST(BadLeaf, KeysTwice) {
  EXPECT_TRUE(fails_with(leaf_of(R"({"users": [], "users": []})"), "'users' occurs twice"));
  EXPECT_TRUE(
      fails_with(leaf_of(one_user(R"({"x": [[1]], "x": [[1]], "y": [1]})")), "occurs twice"));
  EXPECT_TRUE(fails_with(
      leaf_of(one_user(R"({"x": [[1]], "y": [1]}, "u": {"x": [[1]], "y": [1]})")), "occurs twice"));
}

TEST(BadLeaf, DeepNesting) {
  const std::string deep(1'000'000, '[');
  EXPECT_TRUE(fails_with(leaf_of(R"({"extra": )" + deep), "nested deeper than 64"));
  EXPECT_TRUE(fails_with(leaf_of(deep), "expected an object"));
}

TEST(BadLeaf, FilesTogetherAreABombToo) {
  const TemporaryFolder folder;
  const std::string blank(140'000'000, ' ');
  const make::Bytes packed = make::gzip(make::bytes_of(make::leaf() + blank));
  EXPECT_LT(packed.size(), 200'000U);
  folder.write("a.json", as_text(packed));
  EXPECT_TRUE(succeeds(read_leaf(folder.path())));
  folder.write("b.json", as_text(packed));
  EXPECT_TRUE(fails_with(read_leaf(folder.path()),
                         "b.json: unpacks to more than the limit of 268435456 bytes"));
}

TEST(BadLeaf, NoSamplesNoFiles) {
  const TemporaryFolder folder;
  EXPECT_TRUE(fails_with(read_leaf(folder.path()), "has no .json files"));
  const auto file = folder.write("a.json", one_user(R"({"x": [], "y": []})", "0"));
  EXPECT_TRUE(fails_with(read_leaf(file), "holds no samples"));
}

}  // namespace
}  // namespace sotto
