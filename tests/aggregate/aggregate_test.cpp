// The aggregator: exact in any order, and closed to whatever does not belong into the round.
#include "sotto/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/simd.h"
#include "base/stage_fixture.h"

namespace sotto {
namespace {

constexpr RoundId kRound = 4;
constexpr Symbol kHuge = Symbol{1} << 61;  // three of them fit into a sum

std::shared_ptr<const Mechanism> counting(std::size_t size, Symbol largest = 1000,
                                          Symbol factor = 1, std::string id = "counting.v1") {
  return std::make_shared<CountingMechanism>(size, largest, factor, 64, std::move(id));
}

void expect_refused(const Result<void>& result, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kRefused);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

std::vector<double> released(const Aggregator& aggregator) {
  const auto result = aggregator.release();
  EXPECT_TRUE(result) << result.error().message;
  return {result->values().begin(), result->values().end()};
}

TEST(Aggregator, PublishesTheMean) {
  const auto mechanism = counting(3);
  Aggregator aggregator(mechanism, kRound);
  for (const auto& values : {std::vector<float>{1, 2, 3}, {3, 2, 1}, {5, -1, 2}}) {
    for (const Envelope& e : envelopes_of(*mechanism, values, kRound)) {
      ASSERT_TRUE(aggregator.accept(e));
    }
  }
  EXPECT_EQ(released(aggregator), (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(aggregator.release()->reports(), 3U);
}

TEST(Aggregator, NeitherOrderNorThreadsChangeABit) {
  Domain domain{flat_layout(50), {Range{0.0, 1.0}}};
  const std::shared_ptr<const Mechanism> none = make_mechanism("none", domain).value();
  BitSource bits = BitSource::from_seed(3, "order");
  std::vector<Envelope> all;
  for (int client = 0; client < 40; ++client) {
    std::vector<float> values(50);
    for (float& value : values) value = static_cast<float>(bits.normal() * 1e-3);
    for (Envelope& e : envelopes_of(*none, values, kRound, 1 + client % 7))
      all.push_back(std::move(e));
  }
  Aggregator in_order(none, kRound);
  for (const Envelope& e : all) ASSERT_TRUE(in_order.accept(e));
  const std::vector<double> expected = released(in_order);
  for (int trial = 0; trial < 5; ++trial) {
    shuffle(std::span(all), bits);
    Aggregator left(none, kRound);
    Aggregator right(none, kRound);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE((i % 3 == 0 ? left : right).accept(all[i]));
    }
    ASSERT_TRUE(left.merge(right));
    EXPECT_EQ(released(left), expected);  // doubles, compared bit for bit
  }
}

/// More reports than a byte counts, cut at places that are no multiples of eight, in two lanes.
TEST(Aggregator, BitsAddUpOneByOne) {
  constexpr std::size_t kSize = 1003;
  const Domain domain{flat_layout(kSize), {Range{0.0, 1.0}}};
  const std::shared_ptr<const Mechanism> mechanism =
      make_mechanism("two-point", domain, {{"epsilon", 1.0}}).value();
  BitSource bits = BitSource::from_seed(5, "bits");
  std::vector<std::int64_t> sums(kSize);
  std::array<Aggregator, 2> lanes{Aggregator(mechanism, kRound), Aggregator(mechanism, kRound)};
  constexpr std::uint64_t kReports = 700;
  for (std::uint64_t report = 0; report < kReports; ++report) {
    const Bounded input = bound(Update(domain.layout, std::vector<float>(kSize, 0.4F)), domain);
    const std::size_t split = report % 3 == 0 ? 0 : 100 + report % 50;
    for (const Envelope& e : pack(mechanism->perturb(input, bits), kRound, split)) {
      for (std::size_t i = 0; i < e.symbols().size(); ++i) sums[e.position() + i] += e.symbols()[i];
      ASSERT_TRUE(lanes[report % 5 == 0 ? 0 : 1].accept(e));
    }
  }
  ASSERT_TRUE(lanes[0].merge(lanes[1]));
  std::vector<double> expected(kSize);
  mechanism->decode(sums, kReports, 0, expected);
  EXPECT_EQ(released(lanes[0]), expected);
  EXPECT_EQ(lanes[0].release()->reports(), kReports);
}

/// As a shuffler hands them over, place by place: bytes of one place fill up while others wait.
TEST(Aggregator, BitsAddUpPlaceByPlaceOnEveryInstructionSet) {
  constexpr std::size_t kSize = 517;
  constexpr std::uint64_t kReports = 600;
  const Domain domain{flat_layout(kSize), {Range{0.0, 1.0}}};
  const std::shared_ptr<const Mechanism> mechanism =
      make_mechanism("two-point", domain, {{"epsilon", 1.0}}).value();
  BitSource bits = BitSource::from_seed(6, "bits");
  std::vector<std::vector<Envelope>> reports;
  std::vector<std::int64_t> sums(kSize);
  for (std::uint64_t report = 0; report < kReports; ++report) {
    const Bounded input = bound(Update(domain.layout, std::vector<float>(kSize, 0.4F)), domain);
    reports.push_back(pack(mechanism->perturb(input, bits), kRound, 130));
    for (const Envelope& e : reports.back()) {
      for (std::size_t i = 0; i < e.symbols().size(); ++i) sums[e.position() + i] += e.symbols()[i];
    }
  }
  std::vector<double> expected(kSize);
  mechanism->decode(sums, kReports, 0, expected);
  const SimdLevel best = simd_level();
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    Aggregator aggregator(mechanism, kRound);
    for (std::size_t place = 0; place < reports.front().size(); ++place) {
      for (const auto& report : reports) ASSERT_TRUE(aggregator.accept(report[place]));
    }
    EXPECT_EQ(released(aggregator), expected) << name_of(level);
  }
  set_simd_level(best);
}

/// Whole reports and pieces of them, on every instruction set; a byte that is no symbol is found
/// wherever it stands, and nothing of its envelope counts.
TEST(Aggregator, BytesAddUpAndStrangersAmongThemAreRefused) {
  constexpr Symbol kLargest = 100;
  constexpr static std::size_t kSize = 331;
  const auto byte_wide = [](Symbol largest) {
    return std::make_shared<CountingMechanism>(kSize, largest, 1, 8, "counting-bytes.v1");
  };
  const auto mechanism = byte_wide(kLargest);
  const auto stranger = byte_wide(127);
  const SimdLevel best = simd_level();
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    BitSource bits = BitSource::from_seed(8, "bytes");
    Aggregator aggregator(mechanism, kRound), other(mechanism, kRound);
    std::vector<double> mean(kSize);
    constexpr std::size_t kReports = 50;
    for (std::size_t report = 0; report < kReports; ++report) {
      std::vector<float> values(kSize);
      for (std::size_t i = 0; i < kSize; ++i) {
        const auto symbol = static_cast<Symbol>(bits.below(2 * kLargest + 1)) - kLargest;
        values[i] = static_cast<float>(symbol);
        mean[i] += static_cast<double>(symbol) / kReports;
      }
      Aggregator& to = report % 3 == 0 ? other : aggregator;
      const std::size_t split = std::array<std::size_t, 3>{0, 100, 7}[report % 3];
      for (const Envelope& e : envelopes_of(*mechanism, values, kRound, split)) {
        ASSERT_TRUE(to.accept(e));
      }
      values[report * 6] = report % 2 == 0 ? 101.0F : -101.0F;
      expect_refused(to.accept(envelopes_of(*stranger, values, kRound).front()), "symbol");
    }
    ASSERT_TRUE(aggregator.merge(other));
    const std::vector<double> got = released(aggregator);
    for (std::size_t i = 0; i < kSize; ++i) ASSERT_NEAR(got[i], mean[i], 1e-9) << name_of(level);
  }
  set_simd_level(best);
}

TEST(Aggregator, RefusesWhatDoesNotBelong) {
  const auto mechanism = counting(3);
  Aggregator aggregator(mechanism, kRound);
  expect_refused(aggregator.accept(envelopes_of(*mechanism, {1, 1, 1}, kRound + 1).front()),
                 "it is for round 5, this is round 4");
  const auto other = counting(3, 1000, 1, "other.v1");
  expect_refused(aggregator.accept(envelopes_of(*other, {1, 1, 1}, kRound).front()),
                 "mechanism 'other.v1' instead of 'counting.v1'");
  const auto longer = counting(4);
  expect_refused(aggregator.accept(envelopes_of(*longer, {1, 1, 1, 1}, kRound).front()),
                 "beyond the model");
  expect_refused(aggregator.accept(envelopes_of(*longer, {1, 1, 1, 1}, kRound, 3).back()),
                 "beyond the model");  // starts right behind the end
  const auto longest = counting(9);
  expect_refused(aggregator.accept(envelopes_of(*longest, std::vector<float>(9), kRound, 1).back()),
                 "beyond the model");  // starts far behind it
  EXPECT_FALSE(aggregator.release());  // nothing of all that was counted
}

TEST(Aggregator, RefusesSymbolsThatTheMechanismCannotDraw) {
  const auto mechanism = counting(2, 10);
  const auto liar = counting(2, 1000);  // the same id
  Aggregator aggregator(mechanism, kRound);
  for (const auto& values : {std::vector<float>{0, 11}, {-11, 0}}) {
    expect_refused(aggregator.accept(envelopes_of(*liar, values, kRound).front()),
                   "cannot have drawn");
  }
  EXPECT_TRUE(aggregator.accept(envelopes_of(*liar, {-10, 10}, kRound).front()));
  EXPECT_EQ(released(aggregator), (std::vector<double>{-10, 10}));  // no trace of the refused
}

TEST(Aggregator, RefusesSymbolsOfAnotherWidth) {
  const auto mechanism = counting(2, 10);
  const CountingMechanism narrow(2, 10, 1, 16);  // the same id
  Aggregator aggregator(mechanism, kRound);
  expect_refused(aggregator.accept(envelopes_of(narrow, {1, 2}, kRound).front()), "another width");
}

TEST(Aggregator, AMissingPieceStopsTheRelease) {
  const auto mechanism = counting(4);
  Aggregator aggregator(mechanism, kRound);
  const auto nothing = aggregator.release();
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("no report arrived in round 4"), std::string::npos);
  const auto pieces = envelopes_of(*mechanism, {1, 2, 3, 4}, kRound, 3);
  ASSERT_TRUE(aggregator.accept(pieces[0]));
  const auto partial = aggregator.release();
  ASSERT_FALSE(partial);
  EXPECT_EQ(partial.error().kind, ErrorKind::kRefused);
  EXPECT_NE(partial.error().message.find("some weights have 0 reports and others 1"),
            std::string::npos);
  ASSERT_TRUE(aggregator.accept(pieces[1]));
  EXPECT_TRUE(aggregator.release());
  ASSERT_TRUE(aggregator.accept(pieces[1]));  // the same piece again
  EXPECT_FALSE(aggregator.release());
}

TEST(Aggregator, StopsBeforeASumCouldOverflow) {
  const auto mechanism = counting(1, kHuge, kHuge);
  const Envelope envelope = envelopes_of(*mechanism, {1}, kRound).front();
  Aggregator aggregator(mechanism, kRound);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(aggregator.accept(envelope));
  expect_refused(aggregator.accept(envelope), "more reports than exact sums can hold");
  EXPECT_EQ(released(aggregator).front(), static_cast<double>(kHuge));

  Aggregator more(mechanism, kRound);
  ASSERT_TRUE(more.accept(envelope));
  expect_refused(aggregator.merge(more), "more reports than exact sums can hold");
  EXPECT_EQ(released(aggregator).front(), static_cast<double>(kHuge));  // as it was
  Aggregator two(mechanism, kRound);
  ASSERT_TRUE(two.accept(envelope));
  ASSERT_TRUE(two.accept(envelope));
  ASSERT_TRUE(two.merge(more));
  EXPECT_EQ(two.release()->reports(), 3U);
}

TEST(Aggregator, MergesOnlyItsOwnKind) {
  Aggregator aggregator(counting(2), kRound);
  EXPECT_FALSE(aggregator.merge(Aggregator(counting(2), kRound + 1)));
  EXPECT_FALSE(aggregator.merge(Aggregator(counting(3), kRound)));
  EXPECT_FALSE(aggregator.merge(Aggregator(counting(2, 1000, 1, "other.v1"), kRound)));
  EXPECT_TRUE(aggregator.merge(Aggregator(counting(2), kRound)));
}

TEST(Aggregator, AnEmptyModelHasNothingToRelease) {
  EXPECT_FALSE(Aggregator(counting(0), kRound).release());
}

}  // namespace
}  // namespace sotto
