// The registry, and `none`, which keeps every weight to 2^-33.
#include <gtest/gtest.h>

#include <cmath>

#include "base/stage_fixture.h"
#include "sotto/mechanism.h"

namespace sotto {
namespace {

std::shared_ptr<const Mechanism> make_none(std::size_t size) {
  return make_mechanism("none", Domain{flat_layout(size), {Range{0.0, 1.0}}}).value();
}

TEST(Mechanisms, EveryRegisteredNameCanBeMade) {
  ASSERT_FALSE(mechanisms().empty());
  for (const MechanismInfo& info : mechanisms()) {
    EXPECT_FALSE(info.summary.empty()) << info.name;
  }
}

TEST(Mechanisms, AnUnknownNameSuggestsTheNearest) {
  const auto result = make_mechanism("nnoe", Domain{flat_layout(1), {Range{0.0, 1.0}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
  for (const char* part :
       {"unknown mechanism 'nnoe'", "did you mean 'none'?", "valid: two-point"}) {
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  }
  const auto strange = make_mechanism("quantum-tunnelling", Domain{flat_layout(1), {Range{}}});
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().message.find("did you mean"), std::string::npos);
}

TEST(Guarantee, IsNothingUnlessSaidOtherwise) {
  EXPECT_TRUE(std::isinf(Guarantee{}.epsilon));
  const auto none = make_none(1);
  EXPECT_TRUE(std::isinf(none->guarantee().epsilon));
  EXPECT_FALSE(none->guarantee().statement.empty());
  EXPECT_EQ(none->id().substr(0, 8), "none.v1:");
}

TEST(None, KeepsEveryWeightToTwoToTheMinus33) {
  std::vector<float> values = {0.0F,     -0.0F,       1.0F,     -1.0F,          1024.0F,
                               -1024.0F, 1e-30F,      0x1p-33F, 1e-10F,         0.1F,
                               -0.3F,    1023.99994F, 0x1p-8F,  -0x1.fffffep-9F};
  BitSource bits = BitSource::from_seed(5, "none");
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(static_cast<float>(bits.normal() * std::exp2(-30.0 * bits.unit() + 8.0)));
  }
  const auto none = make_none(values.size());
  Aggregator aggregator(none, 1);
  for (const Envelope& e : envelopes_of(*none, values, 1, 1000)) ASSERT_TRUE(aggregator.accept(e));
  const auto mean = aggregator.release();
  ASSERT_TRUE(mean);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = std::clamp(static_cast<double>(values[i]), -1024.0, 1024.0);
    EXPECT_LE(std::abs(mean->values()[i] - value), 0x1p-33) << value;
    if (std::abs(value) >= 0x1p-8) {
      EXPECT_EQ(mean->values()[i], value);
    }
  }
}

TEST(None, ItsLargestSymbolFitsItsWidthAndRange) {
  const auto none = make_none(2);
  const auto envelope = envelopes_of(*none, {1e30F, -1e30F}, 1).front();
  EXPECT_EQ(envelope.symbols()[0], none->largest_symbol());
  EXPECT_EQ(envelope.symbols()[1], -none->largest_symbol());
  EXPECT_LT(none->largest_symbol(), Symbol{1} << (none->symbol_bits() - 1));
}

TEST(None, IgnoresTheRangeThatItWasAskedFor) {
  const auto none = make_mechanism("none", Domain{flat_layout(1), {Range{5.0, 0.1}}}).value();
  EXPECT_EQ(none->domain().ranges[0].centre, 0.0);
  EXPECT_EQ(none->domain().ranges[0].radius, 1024.0);
}

}  // namespace
}  // namespace sotto
