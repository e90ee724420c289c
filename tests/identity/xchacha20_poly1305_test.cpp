// Published vectors of what sealed boxes are made of: HChaCha20 and XChaCha20-Poly1305 of
// draft-irtf-cfrg-xchacha-03, Poly1305 of RFC 8439.
#include "identity/xchacha20_poly1305.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <string>
#include <string_view>
#include <vector>

namespace sotto::identity {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes from_hex(std::string_view digits) {
  Bytes bytes(digits.size() / 2);
  std::size_t written = 0;
  EXPECT_EQ(sodium_hex2bin(bytes.data(), bytes.size(), digits.data(), digits.size(), nullptr,
                           &written, nullptr),
            0);
  EXPECT_EQ(written, bytes.size());
  return bytes;
}

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string digits(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  digits.pop_back();
  return digits;
}

Bytes from_text(std::string_view text) { return {text.begin(), text.end()}; }

template <std::size_t Size>
std::span<const unsigned char, Size> fixed(const Bytes& bytes) {
  EXPECT_EQ(bytes.size(), Size);
  return std::span<const unsigned char, Size>(bytes.data(), Size);
}

void append(Bytes& to, std::span<const unsigned char> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void pad_to_16(Bytes& bytes) { bytes.resize((bytes.size() + 15) / 16 * 16); }

TEST(XChaCha20Poly1305, HChaCha20OfTheDraft) {  // section 2.2.1
  const Bytes key = from_hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  const Bytes nonce = from_hex("000000090000004a0000000031415927");
  Bytes inner(32);
  crypto_core_hchacha20(inner.data(), nonce.data(), key.data(), nullptr);
  EXPECT_EQ(to_hex(inner), "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc");
}

// Appendix A.3.1. The draft's construction is another than a box's: its message starts with the
// second block, and its tag is over associated data and lengths too.
TEST(XChaCha20Poly1305, AeadOfTheDraft) {
  const Bytes plain = from_text(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.");
  const Bytes associated = from_hex("50515253c0c1c2c3c4c5c6c7");
  const Bytes key = from_hex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const Bytes nonce = from_hex("404142434445464748494a4b4c4d4e4f5051525354555657");
  XChaCha20Poly1305 cipher;
  cipher.begin(fixed<32>(key), fixed<24>(nonce));
  Bytes rest_of_block(32);
  cipher.apply(rest_of_block, rest_of_block.data());
  Bytes encrypted(plain.size());
  // In pieces that end within a block.
  cipher.apply(std::span(plain).first(50), encrypted.data());
  cipher.apply(std::span(plain).subspan(50), encrypted.data() + 50);
  EXPECT_EQ(to_hex(encrypted),
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
            "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
            "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
            "21f9664c97637da9768812f615c68b13b52e");
  Bytes covered = associated;
  pad_to_16(covered);
  append(covered, encrypted);
  pad_to_16(covered);
  append(covered, from_hex("0c00000000000000"));
  append(covered, from_hex("7200000000000000"));
  EXPECT_EQ(to_hex(cipher.tag_of(covered)), "c0875924c1c7987947deafd8780acf49");
}

TEST(XChaCha20Poly1305, TagOfTheRfc) {  // section 2.5.2
  const Bytes key = from_hex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b");
  XChaCha20Poly1305 cipher;
  cipher.begin_tag(fixed<32>(key));
  EXPECT_EQ(to_hex(cipher.tag_of(from_text("Cryptographic Forum Research Group"))),
            "a8061dc1305136c6c22b8baf0c0127a9");
}

// Appendix A.3 of the RFC, where implementations with wide limbs lose a carry (vectors 7 to 11).
TEST(XChaCha20Poly1305, TagsAtTheEdgesOfTheField) {
  struct Vector {
    std::string_view key;
    std::string_view message;
    std::string_view tag;
  };
  constexpr std::string_view kOne =
      "0100000000000000000000000000000000000000000000000000000000000000";
  constexpr std::string_view kTwo =
      "0200000000000000000000000000000000000000000000000000000000000000";
  constexpr std::string_view kOneFour =
      "0100000000000000040000000000000000000000000000000000000000000000";
  const std::vector<Vector> vectors = {
      {kOne,
       "fffffffffffffffffffffffffffffffff0ffffffffffffffffffffffffffffff"
       "11000000000000000000000000000000",
       "05000000000000000000000000000000"},
      {kOne,
       "fffffffffffffffffffffffffffffffffbfefefefefefefefefefefefefefefe"
       "01010101010101010101010101010101",
       "00000000000000000000000000000000"},
      {kTwo, "fdffffffffffffffffffffffffffffff", "faffffffffffffffffffffffffffffff"},
      {kOneFour,
       "e33594d7505e43b900000000000000003394d7505e4379cd0100000000000000"
       "0000000000000000000000000000000001000000000000000000000000000000",
       "14000000000000005500000000000000"},
      {kOneFour,
       "e33594d7505e43b900000000000000003394d7505e4379cd0100000000000000"
       "00000000000000000000000000000000",
       "13000000000000000000000000000000"}};
  XChaCha20Poly1305 cipher;
  for (const Vector& vector : vectors) {
    const Bytes key = from_hex(vector.key);
    cipher.begin_tag(fixed<32>(key));
    EXPECT_EQ(to_hex(cipher.tag_of(from_hex(vector.message))), vector.tag) << vector.message;
  }
}

}  // namespace
}  // namespace sotto::identity
