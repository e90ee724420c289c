// Sealed chunks: one size for all, and bound to training, round and position.
#include "sotto/sealed.h"

#include <set>

#include "federation_fixture.h"
#include "flat_layout.h"
#include "identity/box.h"
#include "sotto/mechanism.h"

namespace sotto::identity {
namespace {

std::vector<Envelope> envelopes(RoundId round, std::size_t split, float value = 0.25F) {
  const auto layout = flat_layout(10);
  const Domain domain{layout, {{0.0, 1.0}}};
  const auto mechanism = make_mechanism("two-point", domain, {{"epsilon", 1.0}}).value();
  BitSource bits = BitSource::from_seed(1, "test");
  Report report =
      mechanism->perturb(bound(Update(layout, std::vector<float>(10, value)), domain), bits);
  return pack(std::move(report), round, split);
}

const SealKey kServer = SealKey::generate();

ChunkPlan plan_of(const std::vector<Envelope>& all, RoundId round = 3) {
  return {"recipe/run", round, largest_envelope(all)};
}

TEST(Sealed, WhatIsSealedIsOpened) {
  const auto all = envelopes(3, 4);
  const ChunkPlan plan = plan_of(all);
  for (const Envelope& envelope : all) {
    const auto chunk = seal(envelope, plan, kServer.public_key).value();
    const auto opened = open_sealed(chunk, plan, kServer);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_EQ(opened->serialize(), envelope.serialize());
  }
}

TEST(Sealed, AllChunksHaveOneSizeAndNoneIsLikeAnother) {
  const auto all = envelopes(3, 9);  // 9 bits and 1 bit
  ASSERT_EQ(all.size(), 2U);
  ASSERT_NE(all.front().serialized_size(), all.back().serialized_size());
  std::set<std::size_t> sizes;
  std::set<std::vector<std::byte>> chunks;
  for (int again = 0; again < 2; ++again) {
    for (const Envelope& envelope : all) {
      const auto chunk = seal(envelope, plan_of(all), kServer.public_key).value();
      sizes.insert(chunk.size());
      chunks.insert(chunk);
    }
  }
  EXPECT_EQ(sizes, (std::set{plan_of(all).sealed_bytes()}));
  EXPECT_EQ(chunks.size(), 4U);  // sealed again, it looks like another
}

TEST(Sealed, EveryBitMatters) {
  const auto all = envelopes(3, 0);
  const ChunkPlan plan = plan_of(all);
  auto chunk = seal(all.front(), plan, kServer.public_key).value();
  for (std::size_t bit = 0; bit < 8 * chunk.size(); bit += 5) {
    chunk[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(open_sealed(chunk, plan, kServer).has_value()) << "bit " << bit;
    chunk[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  EXPECT_TRUE(open_sealed(chunk, plan, kServer).has_value());
}

TEST(Sealed, AnotherPlaceIsRefused) {
  const auto all = envelopes(3, 0);
  const ChunkPlan plan = plan_of(all);
  const auto chunk = seal(all.front(), plan, kServer.public_key).value();
  ChunkPlan other = plan;
  other.round = 4;
  expect_error(open_sealed(chunk, other, kServer), {"another round"});
  other = plan;
  other.task = "recipe/other run";
  expect_error(open_sealed(chunk, other, kServer), {"another training"});
  other = plan;
  ++other.largest_envelope;
  expect_error(open_sealed(chunk, other, kServer), {"every chunk of this round has"});
  expect_error(open_sealed(chunk, plan, SealKey::generate()), {"not sealed for this server"});
  expect_error(open_sealed(std::span(chunk).first(10), plan, kServer), {"10 bytes"});
  expect_error(open_sealed({}, plan, kServer), {"0 bytes"});
}

TEST(Sealed, APlanThatDoesNotFitIsAnError) {
  const auto all = envelopes(3, 4);
  ChunkPlan plan = plan_of(all);
  --plan.largest_envelope;
  expect_error(seal(all.front(), plan, kServer.public_key), {"the plan's largest"});
  expect_error(seal(all.front(), plan_of(all, 4), kServer.public_key), {"round 3 in round 4"});
  expect_error(seal(all.front(), {"t", 3, 0}, kServer.public_key), {"0 bytes"});
  expect_error(seal(all.front(), {"t", 3, std::size_t{1} << 40}, kServer.public_key), {"valid"});
  expect_error(seal(all.front(), plan_of(all), PublicKey{}), {"X25519"});
}

/// A client that seals whatever it likes, with a valid box.
std::vector<std::byte> seal_raw(const std::vector<unsigned char>& plain) {
  std::vector<std::byte> chunk(plain.size() + kBoxOverhead);
  EXPECT_TRUE(seal_box(plain, kServer.public_key,
                       {reinterpret_cast<unsigned char*>(chunk.data()), chunk.size()}));
  return chunk;
}

TEST(Sealed, AHostileClientsPlaintextIsRefused) {
  const auto all = envelopes(3, 9);
  const ChunkPlan plan = plan_of(all);
  const auto& last = all.back();
  const auto chunk = seal(last, plan, kServer.public_key).value();
  std::vector<unsigned char> plain(chunk.size() - kBoxOverhead);
  ASSERT_TRUE(open_box({reinterpret_cast<const unsigned char*>(chunk.data()), chunk.size()},
                       kServer, plain));
  EXPECT_TRUE(open_sealed(seal_raw(plain), plan, kServer).has_value());
  const auto changed = [&](std::size_t place, unsigned char value) {
    auto copy = plain;
    copy[place] = value;
    return open_sealed(seal_raw(copy), plan, kServer);
  };
  expect_error(changed(0, 2), {"version"});
  expect_error(changed(1, static_cast<unsigned char>(plain[1] ^ 1)), {"another training"});
  expect_error(changed(17, 9), {"another round"});
  expect_error(changed(21, 1), {"position"});
  expect_error(changed(32, 255), {"length"});
  expect_error(changed(plain.size() - 1, 1), {"padding"});
  expect_error(changed(33, 0), {});  // the envelope's own check
}

}  // namespace
}  // namespace sotto::identity
