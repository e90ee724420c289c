// What a round's chunks look like: announced sizes are true, what opens is what its place asks for,
// everything else is refused.
#include "shuffle/report_form.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "server/coordinator/traffic.h"
#include "server/exchange_parts.h"
#include "shuffle/contract.h"

namespace sotto::rpc {
namespace {

class ReportForms : public testing::Test {
 protected:
  RoundPlan plan_ = small_plan();
  identity::SealKey key_ = identity::SealKey::generate();
  ReportForm form_ = ReportForm::make(plan_.groups[0].parts, plan_.split).value();
  identity::ChunkPlan chunks_{kTestTask, 1, form_.largest_envelope()};
};

TEST_F(ReportForms, SizesAreKnownBeforeAReportIsMade) {
  const auto sealed = sealed_report(plan_, 1, key_.public_key);
  ASSERT_EQ(form_.chunks(), 4U);  // 4 + 4 + 2, and 3
  ASSERT_EQ(sealed.size(), form_.chunks());
  EXPECT_EQ(form_.largest_envelope(), identity::largest_envelope(envelopes_of(plan_, 1)));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    EXPECT_EQ(sealed[i].size(), form_.sealed_bytes());
    EXPECT_TRUE(open_chunk(sealed[i], chunks_, form_.chunk(i), key_)) << i;
  }
}

TEST_F(ReportForms, RefusesEveryOtherPlaceRoundTaskAndKey) {
  const auto sealed = sealed_report(plan_, 1, key_.public_key);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    for (std::size_t j = 0; j < sealed.size(); ++j) {
      EXPECT_EQ(open_chunk(sealed[i], chunks_, form_.chunk(j), key_).has_value(), i == j);
    }
    identity::ChunkPlan other = chunks_;
    other.round = 2;
    EXPECT_FALSE(open_chunk(sealed[i], other, form_.chunk(i), key_));
    other = chunks_;
    other.task = "another";
    EXPECT_FALSE(open_chunk(sealed[i], other, form_.chunk(i), key_));
    EXPECT_FALSE(open_chunk(sealed[i], chunks_, form_.chunk(i), identity::SealKey::generate()));
  }
}

TEST_F(ReportForms, RefusesASymbolThatTheMechanismCannotDraw) {
  const auto sealed = sealed_report(plan_, 1, key_.public_key);
  ChunkSpec spec = form_.chunk(0);
  ASSERT_TRUE(open_chunk(sealed[0], chunks_, spec, key_));
  spec.largest = spec.smallest;
  spec.smallest -= 1;
  EXPECT_FALSE(open_chunk(sealed[0], chunks_, spec, key_));
}

TEST_F(ReportForms, RefusesAnImpossibleSplit) {
  const std::vector<Part> large = {make_part(std::size_t{1} << 25, 1.0)};
  EXPECT_FALSE(ReportForm::make(large, 1));
  EXPECT_TRUE(ReportForm::make(large, 0));
  EXPECT_EQ(ReportForm::make(plan_.groups[0].parts, 0).value().chunks(), 2U);
  EXPECT_EQ(ReportForm::make(plan_.groups[0].parts, 1).value().chunks(), 13U);
  EXPECT_EQ(ReportForm::make(plan_.groups[0].parts, 100).value().chunks(), 2U);
}

TEST_F(ReportForms, AReportInTheLedgerIsReadBackOrRefused) {
  const std::vector<Envelope> envelopes = envelopes_of(plan_, 1);
  const auto bytes = write_report(envelopes);
  const auto back = read_report(bytes).value();
  ASSERT_EQ(back.size(), envelopes.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].serialize(), envelopes[i].serialize());
  }
  EXPECT_FALSE(read_report(std::span(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(read_report(std::span(bytes).first(7)));
  std::vector<std::byte> hostile(16, std::byte{0xff});
  EXPECT_FALSE(read_report(hostile));
}

TEST_F(ReportForms, WhatARoundCostsIsKnownBeforeItBegins) {
  const Traffic traffic = traffic_of(plan_, 13).value();
  EXPECT_EQ(traffic.clients, 3U);
  EXPECT_EQ(traffic.chunks, 4U);
  EXPECT_EQ(traffic.boxes, 12U);
  EXPECT_EQ(traffic.bytes_down, 52U);
  EXPECT_GE(traffic.bytes_up, 4 * form_.sealed_bytes());
  EXPECT_GT(traffic.seal_seconds, 0.0);
  EXPECT_EQ(traffic.warning(plan_.split), "");
  RoundPlan large = plan_;
  large.split = 1;
  large.groups[0].parts = {make_part(1'000'000, 1.0)};
  EXPECT_NE(traffic_of(large, 1'000'000).value().warning(1).find("shuffle.split = 1"),
            std::string::npos);
}

/// A server chooses its tags: two of which any part that can be searched for agrees are two
/// trainings.
TEST(TaskName, TellsTrainingsWhoseTagsHashAlike) {
  const auto tag_of = [](std::uint64_t first) {
    Tag tag{};
    for (int i = 0; i < 8; ++i) tag[i] = static_cast<std::byte>(first >> (56 - 8 * i));
    return tag;
  };
  // The first 64 bits of their SHA-256 are equal.
  const Tag one = tag_of(0xd46630f416de9ddf);
  const Tag other = tag_of(0x9a58db0f7e909f69);
  ASSERT_EQ(sha256_hex(one).substr(0, 16), sha256_hex(other).substr(0, 16));
  EXPECT_NE(task_name(kTestRecipe, one), task_name(kTestRecipe, other));
}

}  // namespace
}  // namespace sotto::rpc
