// Every error of the papers and their code is refuted by its audit, and what stands instead is not.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "audit/binomial_draw.h"
#include "refutation/refutation_cases.h"
#include "refutation/refutations.h"

namespace sotto {
namespace {

class Refuted : public testing::TestWithParam<std::string> {};

TEST_P(Refuted, AndItsRemedyIsNot) {
  RefutationPlan plan;
  plan.quick = true;
  plan.threads = 2;
  const auto row = refute(GetParam(), plan);
  ASSERT_TRUE(row.has_value()) << row.error().message;
  EXPECT_GT(row->audited.epsilon_lower, row->what.claimed);
  EXPECT_EQ(row->audited.verdict, Verdict::kViolated);
  EXPECT_LE(row->audited.epsilon_lower, row->what.exact);  // audited <= exact, always
  EXPECT_LE(row->remedy.epsilon_lower, row->what.remedy_claimed);
  EXPECT_EQ(row->remedy.verdict, Verdict::kConsistent);
  EXPECT_GT(row->what.exact, row->what.claimed);
  for (const std::string& text :
       {row->what.name, row->what.paper, row->what.where, row->what.claim, row->what.derived,
        row->what.event, row->what.why, row->what.remedy}) {
    EXPECT_FALSE(text.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Refuted, testing::ValuesIn(refutation_names()),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Refutations, ExactValuesAreTheDerivedOnes) {
  const std::map<std::string, std::pair<double, double>> known = {
      {"ldpfl-2", {34'885.0, 1.0}},  // 5,120 (2 ln 10 + 2 ln 10.1 ...) for 10,240 bits
      {"ldpfl-1", {0.9272, 1e-4}},   // 2 ln((1 + 10 e^0.5) / 11)
      {"alpha", {4'305.2, 0.5}},     // 10^10 / (80 * 29,034)
      {"k-of-n", {3.0, 1e-6}},
      {"shuffle-bound", {8.0, 0.01}},
      {"parameter-shuffling", {183.0, 0.5}},
  };
  for (const std::string& name : refutation_names()) {
    const auto made = make_refutation(name);
    ASSERT_TRUE(made.has_value());
    const auto value = known.find(name);
    if (value == known.end()) {
      EXPECT_TRUE(std::isinf(made->exact)) << name;
    } else {
      EXPECT_NEAR(made->exact, value->second.first, value->second.second) << name;
    }
  }
  EXPECT_NEAR(make_refutation("shuffle-bound")->claimed, 3.568, 1e-3);
}

TEST(Refutations, AnUnknownNameIsAnErrorWithTheNearest) {
  const auto made = make_refutation("ldpfl-22");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("did you mean 'ldpfl-2'"), std::string::npos);
}

/// The sum over shuffled reports of all weights is drawn at once: as real clients add up to it.
TEST(Refutations, ParameterShufflingCountsWhatClientsSend) {
  constexpr std::size_t kClients = 5, kWeights = 6;
  constexpr int kTrials = 20'000;
  const auto mechanism = refutation::made("two-point", kWeights, {0.0, 1.0}, {{"epsilon", 1.0}});
  const double flip = 1.0 / (std::exp(1.0) + 1.0);
  for (const bool world : {false, true}) {
    const CountTable rest = CountTable::binomial(kWeights * (kClients - 1), flip, 1.0 - flip);
    const CountTable own =
        CountTable::binomial(kWeights, world ? 1.0 - flip : flip, world ? flip : 1.0 - flip);
    BitSource bits = BitSource::from_seed(world ? 6 : 7, "test");
    double slow = 0.0, fast = 0.0, slow_square = 0.0, fast_square = 0.0;
    for (int i = 0; i < kTrials; ++i) {
      double sum = 0.0;
      for (std::size_t client = 0; client < kClients; ++client) {
        const float value = world && client == 0 ? 1.0F : -1.0F;
        for (const Symbol bit :
             refutation::report_of(*mechanism, std::vector<float>(kWeights, value), bits)) {
          sum += static_cast<double>(bit);
        }
      }
      const auto drawn = static_cast<double>(rest.draw(bits) + own.draw(bits));
      slow += sum;
      fast += drawn;
      slow_square += sum * sum;
      fast_square += drawn * drawn;
    }
    const double variance = 30.0 * flip * (1.0 - flip);
    const double error = 5.0 * std::sqrt(2.0 * variance / kTrials);
    EXPECT_NEAR(slow / kTrials, fast / kTrials, error);
    EXPECT_NEAR(slow_square / kTrials, fast_square / kTrials, 30.0 * error);
  }
}

}  // namespace
}  // namespace sotto
