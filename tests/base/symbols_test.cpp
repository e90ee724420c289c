// Packed symbols keep every value of their width, at any place.
#include "sotto/symbols.h"

#include <gtest/gtest.h>

#include "sotto/bits.h"

namespace sotto {
namespace {

constexpr unsigned kWidths[] = {1, 8, 16, 24, 32, 40, 48, 56, 64};

Symbol least_of(unsigned bits) { return bits == 1 ? 0 : -(Symbol{1} << (bits - 2)) * 2; }
Symbol most_of(unsigned bits) { return bits == 1 ? 1 : -(least_of(bits) + 1); }

TEST(PackedSymbols, EveryWidthKeepsEveryValue) {
  BitSource random = BitSource::from_seed(1, "symbols");
  for (const unsigned bits : kWidths) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{1001}}) {
      std::vector<Symbol> values(count);
      for (Symbol& value : values) {
        const std::uint64_t word = random.next_u64();
        value =
            bits == 1 ? static_cast<Symbol>(word & 1) : static_cast<Symbol>(word) >> (64 - bits);
      }
      if (count > 1) values[0] = least_of(bits);
      if (count > 1) values[1] = most_of(bits);
      PackedSymbols packed(count, bits);
      packed.write(0, values);
      EXPECT_EQ(packed.unpacked(), values) << bits;
      EXPECT_EQ(packed.bytes().size(), bits == 1 ? (count + 7) / 8 : count * bits / 8);
      EXPECT_TRUE(packed.padding_is_zero());
      for (std::size_t i = 0; i < count; i += 97) EXPECT_EQ(packed[i], values[i]);
    }
  }
}

TEST(PackedSymbols, NarrowAndWideSourcesAndPiecesAgree) {
  std::vector<std::int32_t> narrow;
  for (int i = 0; i < 777; ++i) narrow.push_back((i * 7919) % 2);
  const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
  for (const unsigned bits : kWidths) {
    PackedSymbols one(narrow.size(), bits);
    one.write(0, narrow);
    PackedSymbols other(narrow.size(), bits);
    // The last piece first: it must not disturb what others wrote.
    for (const std::size_t first : {std::size_t{512}, std::size_t{0}, std::size_t{256}}) {
      const std::size_t count = std::min<std::size_t>(256, wide.size() - first);
      other.write(first, std::span(wide).subspan(first, first == 512 ? wide.size() - 512 : count));
    }
    EXPECT_EQ(one.unpacked(), wide) << bits;
    EXPECT_EQ(other.unpacked(), wide) << bits;
  }
}

TEST(PackedSymbols, WidthForIsTheNarrowest) {
  EXPECT_EQ(PackedSymbols::width_for(0, 1), 1U);
  EXPECT_EQ(PackedSymbols::width_for(0, 2), 8U);
  EXPECT_EQ(PackedSymbols::width_for(-1, 1), 8U);
  EXPECT_EQ(PackedSymbols::width_for(-128, 127), 8U);
  EXPECT_EQ(PackedSymbols::width_for(-129, 0), 16U);
  EXPECT_EQ(PackedSymbols::width_for(0, 128), 16U);
  EXPECT_EQ(PackedSymbols::width_for(0, Symbol{1} << 47), 56U);
  EXPECT_EQ(PackedSymbols::width_for(INT64_MIN, 0), 64U);
}

TEST(PackedSymbols, SeesBitsBeyondTheLastSymbol) {
  PackedSymbols packed(9, 1);
  packed.write(0, std::vector<Symbol>(9, 1));
  EXPECT_TRUE(packed.padding_is_zero());
  packed.bytes()[1] |= std::byte{2};
  EXPECT_FALSE(packed.padding_is_zero());
}

}  // namespace
}  // namespace sotto
