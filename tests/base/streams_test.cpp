// Block streams: the bits of a block and of a weight depend on nothing but key, block and position.
#include "base/random/streams.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstring>
#include <set>
#include <vector>

namespace sotto {
namespace {

StreamKey key_of(std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "streams");
  return StreamKey(bits);
}

std::vector<std::uint64_t> words(BlockStream& stream, std::size_t count) {
  std::vector<std::uint64_t> out(count);
  stream.fill(std::span(out));
  return out;
}

TEST(BlockStream, ABlockHasTheSameBitsInAnyOrder) {
  BlockStream forward(key_of(1));
  std::vector<std::vector<std::uint64_t>> expected;
  for (std::uint64_t block = 0; block < 5; ++block) {
    forward.seek(block);
    expected.push_back(words(forward, 100));
  }
  BlockStream backward(key_of(1));
  for (std::uint64_t block = 5; block-- > 0;) {
    backward.seek(block);
    // In two pieces, with further bits of a weight in between.
    auto first = words(backward, 33);
    (void)backward.more(3).next_u64();
    const auto second = words(backward, 67);
    first.insert(first.end(), second.begin(), second.end());
    EXPECT_EQ(first, expected[block]) << block;
  }
}

TEST(BlockStream, IsAesInCounterModeFromItsOwnCounter) {
  BitSource bits = BitSource::from_seed(9, "streams");
  unsigned char key[32];
  for (int word = 0; word < 4; ++word) {
    const std::uint64_t value = bits.next_u64();
    std::memcpy(key + 8 * word, &value, 8);
  }
  const auto by_openssl = [&key](std::uint64_t high, std::uint64_t low) {
    unsigned char counter[16];
    for (int byte = 0; byte < 8; ++byte) {
      counter[byte] = static_cast<unsigned char>(high >> (56 - 8 * byte));
      counter[8 + byte] = static_cast<unsigned char>(low >> (56 - 8 * byte));
    }
    std::vector<unsigned char> out(32, 0);
    int written = 0;
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nullptr, key, counter);
    EVP_EncryptUpdate(context, out.data(), &written, out.data(), 32);
    EVP_CIPHER_CTX_free(context);
    std::vector<std::uint64_t> result(4);
    std::memcpy(result.data(), out.data(), 32);
    return result;
  };
  BlockStream stream(key_of(9));
  stream.seek(7);
  EXPECT_EQ(words(stream, 4), by_openssl(14, 0));
  MoreBits more = stream.more(5);
  std::vector<std::uint64_t> further;
  for (int i = 0; i < 8; ++i) further.push_back(more.next_u64());
  auto expected = by_openssl(15, 5 << 20);
  const auto next = by_openssl(15, (5 << 20) + 2);
  expected.insert(expected.end(), next.begin(), next.end());
  EXPECT_EQ(further, expected);
}

TEST(BlockStream, NoTwoStreamsShareAWord) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    BlockStream stream(key_of(seed));
    for (std::uint64_t block = 0; block < 20; ++block) {
      stream.seek(block);
      for (const std::uint64_t word : words(stream, 50)) seen.insert(word);
      drawn += 50;
      for (std::uint64_t position = 0; position < 20; ++position) {
        MoreBits more = stream.more(position);
        for (int i = 0; i < 10; ++i) seen.insert(more.next_u64());
        drawn += 10;
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(MoreBits, BelowIsUniformAndInBounds) {
  BlockStream stream(key_of(3));
  stream.seek(0);
  MoreBits more = stream.more(0);
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts.at(more.below(6));
  // Each count has a deviation of 91: six of them are passed once in a billion tests.
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 6 * 91);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(more.below(1), 0U);
}

}  // namespace
}  // namespace sotto
