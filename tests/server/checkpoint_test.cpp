// Checkpoints: what is written comes back; what is damaged is refused.
#include "server/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/sha256.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

Checkpoint sample() {
  Checkpoint checkpoint;
  checkpoint.recipe = "abc";
  checkpoint.layout = "def";
  checkpoint.weights = {1.5F, -2.25F, 0.0F};
  checkpoint.velocity = {0.25F, 0.5F, -1.0F};
  checkpoint.ranges = {{2, {{0.5, 0.125}, {1.0 / 3.0, 2.0}}}};
  checkpoint.states = {{3, {7.0F, 8.0F}}, {9, {9.5F}}};
  RoundMetrics metrics;
  metrics.round = 1;
  metrics.clients = 4;
  metrics.accuracy = 0.75;
  metrics.round_seconds = 1.25;
  checkpoint.rounds = {metrics};
  metrics.round = 2;
  metrics.accuracy.reset();
  checkpoint.rounds.push_back(metrics);
  return checkpoint;
}

/// The same bytes with a hash that fits them again: only the content's own checks remain.
std::vector<std::byte> resealed(std::vector<std::byte> bytes) {
  bytes.resize(bytes.size() - 64);
  const std::string hash = sha256_hex(bytes);
  for (const char c : hash) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

TEST(Checkpoint, ComesBackAsItWas) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_checkpoint(folder / "c", sample()));
  const auto back = read_checkpoint(folder / "c");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->recipe, "abc");
  EXPECT_EQ(back->layout, "def");
  EXPECT_EQ(back->weights, sample().weights);
  EXPECT_EQ(back->velocity, sample().velocity);
  EXPECT_EQ(back->states, sample().states);
  ASSERT_EQ(back->ranges.at(2).size(), 2U);
  EXPECT_EQ(back->ranges.at(2)[1].centre, 1.0 / 3.0);
  ASSERT_EQ(back->rounds.size(), 2U);
  EXPECT_EQ(back->rounds[0].accuracy, 0.75);
  EXPECT_FALSE(back->rounds[1].accuracy);
}

TEST(Checkpoint, EveryPrefixAndEveryFlippedByteIsRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_checkpoint(folder / "c", sample()));
  const auto bytes = *read_file(folder / "c");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_checkpoint(std::span(bytes).first(size), "c")) << size;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(parse_checkpoint(changed, "c")) << i;
  }
}

TEST(Checkpoint, NanAndInfinityAreRefusedAndNamed) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const TemporaryFolder folder;
    Checkpoint checkpoint = sample();
    checkpoint.weights[1] = bad;
    ASSERT_TRUE(write_checkpoint(folder / "c", checkpoint));
    const auto back = read_checkpoint(folder / "c");
    ASSERT_FALSE(back);
    EXPECT_NE(back.error().message.find("weight 1 is not a finite number"), std::string::npos);
    EXPECT_EQ(back.error().kind, ErrorKind::kCorrupt);
  }
}

TEST(Checkpoint, HostileHeadersWithAGoodHashAreRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_checkpoint(folder / "c", sample()));
  const auto bytes = *read_file(folder / "c");
  auto long_header = bytes;
  ASSERT_GT(long_header.size(), 80U);
  for (std::size_t i = 8; i < 16; ++i) long_header.at(i) = std::byte{0xff};
  EXPECT_FALSE(parse_checkpoint(resealed(long_header), "c"));
  auto broken_json = bytes;
  broken_json[16] = std::byte{'x'};
  EXPECT_FALSE(parse_checkpoint(resealed(broken_json), "c"));
  // Client 9 becomes a second client 3: one of the two would be lost.
  auto twins = bytes;
  const std::string_view text(reinterpret_cast<const char*>(twins.data()), twins.size());
  const std::size_t nine = text.find(R"({"client":9)");
  ASSERT_NE(nine, std::string_view::npos);
  twins[nine + 10] = std::byte{'3'};
  EXPECT_FALSE(parse_checkpoint(resealed(twins), "c"));
  Checkpoint gap = sample();
  gap.rounds[1].round = 3;
  ASSERT_TRUE(write_checkpoint(folder / "gap", gap));
  EXPECT_FALSE(read_checkpoint(folder / "gap"));
}

}  // namespace
}  // namespace sotto
