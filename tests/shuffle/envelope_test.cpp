// Envelopes: cut anyhow they hold the same symbols, and only their one encoding is read.
#include <gtest/gtest.h>

#include <cstring>

#include "base/stage_fixture.h"

namespace sotto {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<float> values_of(std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = (i % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(37 * i % 101);
  }
  return values;
}

Bytes good_message() {
  const CountingMechanism mechanism(3, 1000, 1, 16);
  return envelopes_of(mechanism, {1, -2, 300}, 5).front().serialize();
}

std::string error_of(const Bytes& bytes) {
  const auto parsed = Envelope::parse(bytes);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, ErrorKind::kCorrupt);
  return parsed.error().message;
}

/// good_message() with the byte at `position` replaced.
Bytes with_byte(std::size_t position, int value) {
  Bytes bytes = good_message();
  bytes.at(position) = static_cast<std::byte>(value);
  return bytes;
}

TEST(Pack, EverySplitGivesTheSameSymbols) {
  constexpr std::size_t kSize = 23;
  const CountingMechanism mechanism(kSize, 1000, 1, 16);
  const std::vector<float> values = values_of(kSize);
  for (std::size_t split = 0; split <= kSize + 2; ++split) {
    const auto envelopes = envelopes_of(mechanism, values, 9, split);
    const std::size_t piece = split == 0 ? kSize : split;
    EXPECT_EQ(envelopes.size(), (kSize + piece - 1) / piece);
    std::size_t next = 0;
    for (const Envelope& envelope : envelopes) {
      const auto parsed = Envelope::parse(envelope.serialize());
      ASSERT_TRUE(parsed) << parsed.error().message;
      EXPECT_EQ(parsed->round(), 9U);
      EXPECT_EQ(parsed->mechanism_id(), "counting.v1");
      EXPECT_EQ(parsed->position(), next);
      for (const Symbol symbol : parsed->symbols().unpacked()) {
        ASSERT_LT(next, kSize);
        EXPECT_EQ(symbol, std::llrint(values[next++]));
      }
    }
    EXPECT_EQ(next, kSize) << "split " << split;
  }
}

TEST(Pack, AnEmptyReportGivesNoEnvelope) {
  const CountingMechanism mechanism(0, 1);
  EXPECT_TRUE(envelopes_of(mechanism, {}, 1).empty());
  EXPECT_TRUE(envelopes_of(mechanism, {}, 1, 4).empty());
}

TEST(Envelope, HasTheEncodingOfItsDescription) {
  const unsigned char expected[] = {'S', 'O', 'T', '2',                       // magic
                                    5,   0,   0,   0,                         // round
                                    0,   0,   0,   0,   0,    0,    0,    0,  // position
                                    3,   0,   0,   0,   0,    0,    0,    0,  // count
                                    16,  11,                                  // widths
                                    'c', 'o', 'u', 'n', 't',  'i',  'n',  'g', '.',
                                    'v', '1', 1,   0,   0xFE, 0xFF, 0x2C, 0x01};
  const Bytes bytes = good_message();
  ASSERT_EQ(bytes.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);
}

TEST(Envelope, EveryWidthKeepsTheSign) {
  for (unsigned width = 1; width <= 8; ++width) {
    const Symbol end = width == 8 ? Symbol{1} << 40 : (Symbol{1} << (8 * width - 1)) - 1;
    const CountingMechanism mechanism(3, end, end, 8 * width);
    const auto envelope = envelopes_of(mechanism, {-1, 0, 1}, 1).front();
    const Bytes bytes = envelope.serialize();
    EXPECT_EQ(bytes.size(), 26 + 11 + 3 * width);
    const auto parsed = Envelope::parse(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->symbols()[0], -end);
    EXPECT_EQ(parsed->symbols()[2], end);
    EXPECT_EQ(parsed->serialize(), bytes);
  }
}

TEST(Envelope, SymbolsOfOneBitLieEightInAByte) {
  const CountingMechanism mechanism(11, 1, 1, 1);
  const std::vector<float> values = {1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1};
  for (std::size_t split = 1; split <= 11; ++split) {
    std::vector<Symbol> all;
    for (const Envelope& envelope : envelopes_of(mechanism, values, 1, split)) {
      EXPECT_EQ(envelope.serialize().size(), 26 + 11 + (envelope.symbols().size() + 7) / 8);
      const auto parsed = Envelope::parse(envelope.serialize());
      ASSERT_TRUE(parsed);
      for (const Symbol symbol : parsed->symbols().unpacked()) all.push_back(symbol);
    }
    EXPECT_EQ(all, std::vector<Symbol>(values.begin(), values.end())) << split;
  }
  Bytes bytes = envelopes_of(mechanism, values, 1).front().serialize();
  EXPECT_EQ(error_of(bytes), "");
  bytes.back() |= std::byte{0x80};  // beyond the eleventh
  EXPECT_EQ(error_of(bytes), "envelope: bits beyond the last symbol");
}

TEST(Envelope, SizeTellsNothingOfTheValues) {
  const CountingMechanism mechanism(4, 1 << 20, 1, 48);
  EXPECT_EQ(envelopes_of(mechanism, {0, 0, 0, 0}, 1).front().serialize().size(),
            envelopes_of(mechanism, {-9999, 9999, 1, -1}, 1).front().serialize().size());
}

TEST(BadEnvelope, EveryPrefixIsRefused) {
  const Bytes good = good_message();
  ASSERT_EQ(error_of(good), "");
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes prefix(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(error_of(prefix), "") << size;
  }
}

TEST(BadEnvelope, ATrailingByteIsRefused) {
  Bytes bytes = good_message();
  bytes.push_back(std::byte{0});
  EXPECT_EQ(error_of(bytes), "envelope: length does not match its header");
}

TEST(BadEnvelope, EveryHeaderFieldIsChecked) {
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(error_of(with_byte(i, '?')), "envelope: wrong magic");
  EXPECT_EQ(error_of(with_byte(15, 1)), "envelope: position out of range");
  EXPECT_EQ(error_of(with_byte(16, 0)), "envelope: symbol count out of range");
  EXPECT_EQ(error_of(with_byte(16, 2)), "envelope: length does not match its header");
  EXPECT_EQ(error_of(with_byte(16, 4)), "envelope: length does not match its header");
  EXPECT_EQ(error_of(with_byte(23, 0x80)), "envelope: symbol count out of range");
  for (const int width : {0, 2, 7, 9, 12, 65, 72, 255}) {
    EXPECT_EQ(error_of(with_byte(24, width)), "envelope: symbol width not 1, 8, 16, ... 64 bits");
  }
  EXPECT_EQ(error_of(with_byte(24, 24)), "envelope: length does not match its header");
  EXPECT_EQ(error_of(with_byte(25, 10)), "envelope: length does not match its header");
  EXPECT_EQ(error_of(with_byte(25, 255)), "envelope: length does not match its header");
  for (const int c : {0x00, 0x0A, 0x20, 0x7F, 0x80, 0xFF}) {
    EXPECT_EQ(error_of(with_byte(26, c)), "envelope: mechanism id is not printable");
  }
}

TEST(BadEnvelope, WhateverIsReadIsWrittenBackTheSame) {
  // Every single-byte change of a good message is refused or is itself the encoding of something.
  const Bytes good = good_message();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      const Bytes bytes = with_byte(i, value);
      const auto parsed = Envelope::parse(bytes);
      if (parsed) {
        ASSERT_EQ(parsed->serialize(), bytes) << i << ' ' << value;
      }
    }
  }
}

}  // namespace
}  // namespace sotto
