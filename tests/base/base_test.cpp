// Nearest names, text for terminals, layouts, SHA-256, results.
#include <gtest/gtest.h>

#include "base/nearest.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "sotto/layout.h"
#include "sotto/result.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);  // neighbours swapped
  EXPECT_EQ(edit_distance("mnist", "minst"), 1U);
  EXPECT_EQ(edit_distance("abcd", "badc"), 2U);
  for (const char* a : {"", "x", "srr", "none", "two-point"}) {
    for (const char* b : {"", "y", "srr", "nnoe", "twopoint"}) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
    }
  }
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"none", "srr", "two-point", "mnist", "medical-mnist"};
  EXPECT_EQ(nearest("non", names), "none");
  EXPECT_EQ(nearest("twopoint", names), "two-point");
  EXPECT_EQ(nearest("medical", names), "medical-mnist");  // what was typed is its beginning
  EXPECT_EQ(nearest("quantum", names), "");
  EXPECT_EQ(nearest("x", {}), "");
  // So long a name is compared with nothing: a stranger's can be a megabyte.
  EXPECT_EQ(nearest(std::string(1000, 'x'), std::vector{std::string(999, 'x')}).size(), 999U);
  EXPECT_EQ(nearest(std::string(1001, 'x'), std::vector{std::string(1000, 'x')}), "");
  EXPECT_EQ(did_you_mean("minst", names), "; did you mean 'mnist'?");
  EXPECT_EQ(did_you_mean("quantum", names), "");
  EXPECT_EQ(join(names, "|"), "none|srr|two-point|mnist|medical-mnist");
  EXPECT_EQ(join({}), "");
}

TEST(Text, MovesNoCursorAndHidesNothing) {
  EXPECT_EQ(for_terminal("\x1b[8m gone\r\x7f\n\tnext"), "\\x1b[8m gone\\x0d\\x7f\n\tnext");
  EXPECT_EQ(one_line("a\nsotto: b"), "a\\x0asotto: b");
  EXPECT_EQ(for_terminal("h\u00e9 \u4e16 \U0001f600"), "h\u00e9 \u4e16 \U0001f600");
  // The eight-bit controls, as characters and as bytes; text that runs backwards; ends of lines.
  EXPECT_EQ(for_terminal("\u009b8m"), "\\x9b8m");
  EXPECT_EQ(for_terminal("\x9b"
                         "8m"),
            "\\x9b8m");
  EXPECT_EQ(one_line("\u202egniht\u2069\u2028"), "\\u202egniht\\u2069\\u2028");
  // What is no character: too long a form of ESC, a surrogate, a beginning without an end.
  EXPECT_EQ(for_terminal("\xc0\x9b"), "\\xc0\\x9b");
  EXPECT_EQ(for_terminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(for_terminal("\xf0\x9f\x98"), "\\xf0\\x9f\\x98");
  EXPECT_EQ(for_terminal(std::string_view("\0", 1)), "\\x00");
}

TEST(Layout, TensorsLieOneAfterTheOther) {
  Layout layout;
  EXPECT_EQ(layout.size(), 0U);
  layout.add("0.weight", {4, 3, 2}, TensorRole::kParameter);
  layout.add("0.bias", {4}, TensorRole::kParameter);
  layout.add("1.count", {}, TensorRole::kBuffer);  // a scalar
  ASSERT_EQ(layout.tensors().size(), 3U);
  EXPECT_EQ(layout.tensors()[0].size, 24U);
  EXPECT_EQ(layout.tensors()[1].offset, 24U);
  EXPECT_EQ(layout.tensors()[2].offset, 28U);
  EXPECT_EQ(layout.tensors()[2].size, 1U);
  EXPECT_EQ(layout.size(), 29U);
  EXPECT_EQ(layout.parameter_count(), 28U);
}

TEST(Layout, FingerprintSeesNamesShapesAndRoles) {
  const auto print = [](const char* name, std::vector<std::int64_t> shape, TensorRole role) {
    Layout layout;
    layout.add(name, std::move(shape), role);
    return layout.fingerprint();
  };
  const std::string base = print("w", {2, 3}, TensorRole::kParameter);
  EXPECT_EQ(base.size(), 64U);
  EXPECT_EQ(base, print("w", {2, 3}, TensorRole::kParameter));
  EXPECT_NE(base, print("v", {2, 3}, TensorRole::kParameter));
  EXPECT_NE(base, print("w", {3, 2}, TensorRole::kParameter));
  EXPECT_NE(base, print("w", {23}, TensorRole::kParameter));
  EXPECT_NE(base, print("w", {2, 3}, TensorRole::kBuffer));
}

// The vectors of FIPS 180-2, appendix B, and that of the empty message.
TEST(Sha256, GivesTheKnownVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1'000'000, 'a');
  const std::string expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
  EXPECT_EQ(sha256_hex(million), expected);
  Sha256 pieces;
  for (std::size_t at = 0; at < million.size(); at += 999) {
    pieces.add(std::as_bytes(
        std::span(million).subspan(at, std::min<std::size_t>(999, million.size() - at))));
  }
  EXPECT_EQ(pieces.hex(), expected);
  const TemporaryFolder folder;
  folder.write("file", million + million + million);  // more than one buffer
  EXPECT_EQ(sha256_file(folder.path() / "file").value(), sha256_hex(million + million + million));
  EXPECT_EQ(sha256_file(folder.path() / "none").error().kind, ErrorKind::kNotFound);
}

Result<int> doubled(Result<int> value) {
  SOTTO_TRY(const int number, std::move(value));
  return 2 * number;
}

Result<void> checked(Result<void> value) {
  SOTTO_CHECK(std::move(value));
  return {};
}

TEST(Result, TravelsUpwards) {
  EXPECT_EQ(doubled(4).value(), 8);
  const auto failed = doubled(fail(ErrorKind::kIo, "lost"));
  EXPECT_EQ(failed.error().kind, ErrorKind::kIo);
  EXPECT_EQ(at("file", failed.error()).value().message, "file: lost");
  EXPECT_TRUE(checked({}));
  EXPECT_EQ(checked(fail(ErrorKind::kUsage, "no")).error().message, "no");
}

}  // namespace
}  // namespace sotto
