// Chunks: announced sizes are true, what opens is what was sealed, everything else is refused.
#include "rpc/chunk.h"

#include <gtest/gtest.h>

#include "exchange_parts.h"
#include "temporary_folder.h"

namespace sotto::rpc {
namespace {

TEST(Chunk, SizesAreKnownBeforeAReportIsMade) {
  const RoundPlan plan = small_plan();
  const SealKey key = SealKey::generate().value();
  const auto specs = chunk_specs(plan.groups[0].parts, plan.split).value();
  const auto sealed = sealed_report(plan, 1, key.public_key());
  ASSERT_EQ(specs.size(), 4U);  // 4 + 4 + 2, and 3
  ASSERT_EQ(sealed.size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(sealed[i].size(), specs[i].sealed_bytes);
    const auto chunk = key.open(sealed[i]).value();
    EXPECT_TRUE(read_chunk(chunk, kTestRecipe, 1, specs[i])) << i;
  }
}

TEST(Chunk, RefusesEveryOtherPlace) {
  const RoundPlan plan = small_plan();
  const auto specs = chunk_specs(plan.groups[0].parts, plan.split).value();
  const auto envelopes = envelopes_of(plan, 1);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto chunk = write_chunk(kTestRecipe, envelopes[i].serialize());
    for (std::size_t j = 0; j < specs.size(); ++j) {
      EXPECT_EQ(read_chunk(chunk, kTestRecipe, 1, specs[j]).has_value(), i == j);
    }
    EXPECT_FALSE(read_chunk(chunk, kTestRecipe, 2, specs[i]));
    EXPECT_FALSE(read_chunk(chunk, std::string(64, 'b'), 1, specs[i]));
    for (std::size_t size = 0; size < chunk.size(); ++size) {
      EXPECT_FALSE(read_chunk(std::span(chunk).first(size), kTestRecipe, 1, specs[i]));
    }
  }
}

TEST(Chunk, RefusesASymbolThatTheMechanismCannotDraw) {
  const RoundPlan plan = small_plan();
  ChunkSpec spec = chunk_specs(plan.groups[0].parts, plan.split).value()[0];
  const auto chunk = write_chunk(kTestRecipe, envelopes_of(plan, 1)[0].serialize());
  ASSERT_TRUE(read_chunk(chunk, kTestRecipe, 1, spec));
  spec.largest = spec.smallest;
  spec.smallest -= 1;
  EXPECT_FALSE(read_chunk(chunk, kTestRecipe, 1, spec));
}

TEST(Chunk, ASealedBoxOpensWithItsKeyOnlyAndUnaltered) {
  const SealKey key = SealKey::generate().value();
  const SealKey other = SealKey::generate().value();
  auto sealed = seal(write_chunk(kTestRecipe, {}), key.public_key());
  EXPECT_TRUE(key.open(sealed));
  EXPECT_FALSE(other.open(sealed));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    sealed[i] ^= std::byte{1};
    EXPECT_FALSE(key.open(sealed)) << i;
    sealed[i] ^= std::byte{1};
  }
  EXPECT_FALSE(key.open(std::span(sealed).first(47)));
}

TEST(Chunk, TheKeyLastsAndIsItsOwnersAlone) {
  const TemporaryFolder folder;
  const SealKey made = SealKey::read_or_make(folder / "key").value();
  const SealKey read = SealKey::read_or_make(folder / "key").value();
  EXPECT_EQ(made.public_key(), read.public_key());
  EXPECT_TRUE(read.open(seal({}, made.public_key())));
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(folder / "key").permissions() & others,
            std::filesystem::perms::none);
  EXPECT_FALSE(SealKey::read_or_make(folder.write("bad", "short")));
}

TEST(Chunk, AReportInTheLedgerIsReadBackOrRefused) {
  std::vector<std::vector<std::byte>> envelopes;
  for (const Envelope& envelope : envelopes_of(small_plan(), 1)) {
    envelopes.push_back(envelope.serialize());
  }
  const auto bytes = write_report(envelopes);
  EXPECT_EQ(read_report(bytes).value(), envelopes);
  EXPECT_FALSE(read_report(std::span(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(read_report(std::span(bytes).first(7)));
  std::vector<std::byte> hostile(16, std::byte{0xff});
  EXPECT_FALSE(read_report(hostile));
}

}  // namespace
}  // namespace sotto::rpc
