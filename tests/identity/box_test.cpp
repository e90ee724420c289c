// Our sealed boxes are libsodium's: what one seals, the other opens.
#include "identity/box.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <span>
#include <vector>

#include "sotto/bits.h"

namespace sotto::identity {
namespace {

using Bytes = std::vector<unsigned char>;
// Around the 64 bytes of a block of the stream, of which the first 32 are not the message's, and of
// the authenticator's 16; and larger than what a processor takes at once.
const std::vector<std::size_t> kSizes = {0,  1,  15, 16, 17,  31,  32,   33,   63,    64,
                                         65, 95, 96, 97, 255, 512, 1023, 4096, 130001};

Bytes message(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 31 + size);
  return bytes;
}

TEST(Box, LibsodiumOpensOurs) {
  const SealKey key = SealKey::generate();
  for (const std::size_t size : kSizes) {
    const Bytes plain = message(size);
    Bytes box(size + kBoxOverhead);
    ASSERT_TRUE(seal_box(plain, key.public_key, box));
    Bytes opened(size);
    EXPECT_EQ(crypto_box_curve25519xchacha20poly1305_seal_open(
                  opened.data(), box.data(), box.size(), key.public_key.data(), key.secret.data()),
              0)
        << size;
    EXPECT_EQ(opened, plain) << size;
  }
}

TEST(Box, OpensLibsodiums) {
  const SealKey key = SealKey::generate();
  for (const std::size_t size : kSizes) {
    const Bytes plain = message(size);
    Bytes box(size + kBoxOverhead);
    ASSERT_EQ(crypto_box_curve25519xchacha20poly1305_seal(box.data(), plain.data(), size,
                                                          key.public_key.data()),
              0);
    Bytes opened(size);
    EXPECT_TRUE(open_box(box, key, opened)) << size;
    EXPECT_EQ(opened, plain) << size;
  }
}

/// A size for every draw: mostly small, each a few bytes around a border of blocks, some large.
std::size_t random_size(BitSource& bits) {
  switch (bits.below(3)) {
    case 0:
      return bits.below(300);
    case 1:
      return 64 * bits.below(80) + bits.below(5);
    default:
      return bits.below(40'000);
  }
}

TEST(Box, RandomMessagesGoBothWays) {
  BitSource bits = BitSource::from_seed(7, "boxes");
  const SealKey key = SealKey::generate();
  for (int draw = 0; draw < 400; ++draw) {
    Bytes plain(random_size(bits));
    bits.fill(std::as_writable_bytes(std::span(plain)));
    Bytes box(plain.size() + kBoxOverhead);
    Bytes opened(plain.size());
    ASSERT_TRUE(seal_box(plain, key.public_key, box));
    ASSERT_EQ(crypto_box_curve25519xchacha20poly1305_seal_open(
                  opened.data(), box.data(), box.size(), key.public_key.data(), key.secret.data()),
              0)
        << plain.size();
    ASSERT_EQ(opened, plain) << plain.size();
    ASSERT_EQ(crypto_box_curve25519xchacha20poly1305_seal(box.data(), plain.data(), plain.size(),
                                                          key.public_key.data()),
              0);
    opened.assign(plain.size(), 0);
    ASSERT_TRUE(open_box(box, key, opened)) << plain.size();
    ASSERT_EQ(opened, plain) << plain.size();
  }
}

TEST(Box, AnyChangedBitIsFoundAndNothingIsWritten) {
  const SealKey key = SealKey::generate();
  const Bytes plain = message(100);
  Bytes box(plain.size() + kBoxOverhead);
  ASSERT_TRUE(seal_box(plain, key.public_key, box));
  const Bytes untouched(plain.size(), 0xAB);
  for (std::size_t bit = 0; bit < 8 * box.size(); ++bit) {
    // X25519 leaves the highest bit of a key out of account, but the nonce does not.
    Bytes changed = box;
    changed[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    Bytes opened = untouched;
    EXPECT_FALSE(open_box(changed, key, opened)) << bit;
    EXPECT_EQ(opened, untouched) << bit;
  }
  Bytes opened(plain.size());
  EXPECT_FALSE(open_box(box, SealKey::generate(), opened));
  EXPECT_FALSE(open_box(Bytes(kBoxOverhead - 1), key, {}));
  EXPECT_TRUE(open_box(box, key, opened));
}

TEST(Box, AKeyThatIsNoneSealsNothing) {
  const Bytes plain = message(10);
  Bytes box(plain.size() + kBoxOverhead);
  EXPECT_FALSE(seal_box(plain, PublicKey{}, box));
}

TEST(Box, NoTwoAreAlike) {
  const SealKey key = SealKey::generate();
  const Bytes plain = message(64);
  Bytes first(plain.size() + kBoxOverhead);
  Bytes second(first.size());
  ASSERT_TRUE(seal_box(plain, key.public_key, first));
  ASSERT_TRUE(seal_box(plain, key.public_key, second));
  for (std::size_t i = 0; i < first.size(); i += 16) {
    EXPECT_FALSE(std::equal(first.begin() + static_cast<std::ptrdiff_t>(i),
                            first.begin() + static_cast<std::ptrdiff_t>(i + 16),
                            second.begin() + static_cast<std::ptrdiff_t>(i)));
  }
}

}  // namespace
}  // namespace sotto::identity
