// The generator: the right key stream, independent streams, exact uniformity.
//
// Seeds are fixed, so a test that passes once passes always. False alarm rates are those that a
// fresh seed would have.
#include "sotto/bits.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <string>

namespace sotto {
namespace {

using Bytes = std::vector<std::byte>;

void put_u64(std::string& text, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
}

/// The key stream by another road: one AES-256 block in ECB mode for each counter, big-endian.
Bytes reference_stream(std::uint64_t seed, const std::string& purpose,
                       const std::vector<std::uint64_t>& path, std::size_t size) {
  std::string text = "sotto.bits.v1";
  put_u64(text, seed);
  put_u64(text, purpose.size());
  text += purpose;
  put_u64(text, path.size());
  for (const std::uint64_t step : path) put_u64(text, step);
  unsigned char key[32];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), key);

  Bytes stream;
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, key, nullptr);
  EVP_CIPHER_CTX_set_padding(context, 0);
  for (std::uint64_t counter = 0; stream.size() < size; ++counter) {
    unsigned char block[16] = {};
    for (int i = 0; i < 8; ++i) block[15 - i] = static_cast<unsigned char>(counter >> (8 * i));
    unsigned char out[16];
    int written = 0;
    EXPECT_EQ(EVP_EncryptUpdate(context, out, &written, block, 16), 1);
    for (const unsigned char byte : out) stream.push_back(static_cast<std::byte>(byte));
  }
  EVP_CIPHER_CTX_free(context);
  stream.resize(size);
  return stream;
}

std::uint64_t word_at(const Bytes& stream, std::size_t offset) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) {
    word |= std::to_integer<std::uint64_t>(stream[offset + i]) << (8 * i);
  }
  return word;
}

TEST(BitSource, IsAes256InCounterMode) {
  BitSource bits = BitSource::from_seed(42, "train", {3, 17});
  Bytes filled(100'003);  // over several pieces, and no multiple of a block
  bits.fill(filled);
  EXPECT_EQ(filled, reference_stream(42, "train", {3, 17}, filled.size()));
}

TEST(BitSource, GivesTheWordsOfTheGoldenVector) {
  // `openssl enc -aes-256-ctr` over zeros, with the key of (42, "train", {3, 17}).
  BitSource bits = BitSource::from_seed(42, "train", {3, 17});
  EXPECT_EQ(bits.next_u64(), 15543944397928239307U);
  EXPECT_EQ(bits.next_u64(), 18216316981820490415U);
  EXPECT_EQ(bits.next_u64(), 17415149457752618184U);
  EXPECT_EQ(bits.next_u64(), 16516748517413976902U);
}

TEST(BitSource, WordsAndBytesNeverShareBits) {
  // Words come from a buffer of 4096 bytes; fill() goes on in the stream behind what is buffered.
  constexpr std::size_t kBuffer = 4096;
  const Bytes stream = reference_stream(7, "mixed", {}, 3 * kBuffer);
  BitSource bits = BitSource::from_seed(7, "mixed");
  Bytes head(10);
  bits.fill(head);
  EXPECT_TRUE(std::equal(head.begin(), head.end(), stream.begin()));
  EXPECT_EQ(bits.next_u64(), word_at(stream, 10));
  Bytes middle(5);
  bits.fill(middle);
  EXPECT_TRUE(std::equal(middle.begin(), middle.end(), stream.begin() + 10 + kBuffer));
  for (std::size_t i = 1; i < kBuffer / 8; ++i) {
    ASSERT_EQ(bits.next_u64(), word_at(stream, 10 + 8 * i)) << i;  // the rest of the buffer
  }
  EXPECT_EQ(bits.next_u64(), word_at(stream, 10 + kBuffer + 5));  // and the next one
  bits.fill({});
  EXPECT_EQ(bits.next_u64(), word_at(stream, 10 + kBuffer + 5 + 8));
}

TEST(BitSource, MovingKeepsThePlaceInTheStream) {
  BitSource whole = BitSource::from_seed(1, "move");
  BitSource first = BitSource::from_seed(1, "move");
  EXPECT_EQ(first.next_u64(), whole.next_u64());
  BitSource second = std::move(first);
  EXPECT_EQ(second.next_u64(), whole.next_u64());
}

TEST(BitSource, EveryDifferenceGivesAnotherStream) {
  std::set<std::uint64_t> firsts;
  const auto add = [&](BitSource bits) { firsts.insert(bits.next_u64()); };
  add(BitSource::from_seed(1, "train"));
  add(BitSource::from_seed(2, "train"));
  add(BitSource::from_seed(1, "Train"));
  add(BitSource::from_seed(1, "train", {0}));
  add(BitSource::from_seed(1, "train", {0, 0}));
  add(BitSource::from_seed(1, "train", {1, 2}));
  add(BitSource::from_seed(1, "train", {2, 1}));
  add(BitSource::from_seed(1, ""));
  add(BitSource::from_seed(1, std::string_view("train\0", 6)));
  EXPECT_EQ(firsts.size(), 9U);
}

TEST(BitSource, TheSystemsKeyIsNewEveryTime) {
  EXPECT_NE(BitSource::from_system().next_u64(), BitSource::from_system().next_u64());
}

/// Pearson's statistic for equally likely cells.
double chi_square(const std::vector<std::uint64_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ULL));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0.0;
  for (const std::uint64_t count : counts) {
    sum += std::pow(static_cast<double>(count) - expected, 2) / expected;
  }
  return sum;
}

/// A value that chi-square with `cells` - 1 degrees of freedom exceeds with probability 1e-8 at
/// most: k + 2 sqrt(k x) + 2 x for x = ln(1e8) (Laurent and Massart 2000, lemma 1).
double limit(std::size_t cells) {
  const auto k = static_cast<double>(cells - 1);
  const double x = 8.0 * std::log(10.0);
  return k + 2.0 * std::sqrt(k * x) + 2.0 * x;
}

// 24 statistics of 1e-8 each: false alarm below 1e-6. With 200,000 draws over 10 cells, one cell
// that is 7 % too likely is caught with probability 0.999.
TEST(BitSource, BelowIsUniformOverSmallBounds) {
  constexpr int kDraws = 200'000;
  for (std::size_t bound = 2; bound <= 24; ++bound) {
    BitSource bits = BitSource::from_seed(11, "below", {bound});
    std::vector<std::uint64_t> counts(bound);
    for (int i = 0; i < kDraws; ++i) ++counts.at(bits.below(bound));
    EXPECT_LT(chi_square(counts), limit(bound)) << "bound " << bound;
  }
}

// Without rejection the first third of [0, 3 * 2^62) would come up half of the time.
TEST(BitSource, BelowRejectsTheUnevenRest) {
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  BitSource bits = BitSource::from_seed(12, "below");
  std::vector<std::uint64_t> counts(3);
  for (int i = 0; i < 100'000; ++i) ++counts.at(bits.below(kBound) >> 62);
  EXPECT_LT(chi_square(counts), limit(3));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bits.below(1), 0U);
}

// One statistic, false alarm 1e-8: each of the 24 orders of four items equally often.
TEST(Shuffle, EveryOrderIsEquallyLikely) {
  BitSource bits = BitSource::from_seed(13, "shuffle");
  std::vector<std::vector<int>> orders;
  std::vector<int> order = {0, 1, 2, 3};
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  std::vector<std::uint64_t> counts(orders.size());
  for (int i = 0; i < 120'000; ++i) {
    std::vector<int> items = {0, 1, 2, 3};
    shuffle(std::span(items), bits);
    ++counts.at(static_cast<std::size_t>(std::lower_bound(orders.begin(), orders.end(), items) -
                                         orders.begin()));
  }
  EXPECT_LT(chi_square(counts), limit(orders.size()));
}

// Means of 200,000 draws, within six standard deviations: false alarm below 1e-8 each.
TEST(BitSource, UnitAndNormalHaveTheirMoments) {
  constexpr int kDraws = 200'000;
  BitSource bits = BitSource::from_seed(14, "moments");
  double unit = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = bits.unit();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    unit += u;
    const double z = bits.normal();
    sum += z;
    squares += z * z;
  }
  const double scale = std::sqrt(static_cast<double>(kDraws));
  EXPECT_LT(std::abs(unit / kDraws - 0.5) * scale, 6.0 * std::sqrt(1.0 / 12.0));
  EXPECT_LT(std::abs(sum / kDraws) * scale, 6.0);
  EXPECT_LT(std::abs(squares / kDraws - 1.0) * scale, 6.0 * std::sqrt(2.0));
}

}  // namespace
}  // namespace sotto
