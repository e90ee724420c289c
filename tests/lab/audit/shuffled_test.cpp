// Shuffled batches: the drawn counts have the binomial distribution, the fast engine that of n real
// reports in a really shuffled order, and no bound is above what the accountant proves.
#include "audit/shuffled.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "audit/binomial_draw.h"
#include "base/exact/binomial.h"
#include "flat_layout.h"
#include "sotto/account.h"

namespace sotto {
namespace {

DistributionPair binary(double epsilon) {
  const double keep = std::exp(epsilon) / (1.0 + std::exp(epsilon));
  return {{{keep, 1.0 - keep}, {1.0 - keep, keep}}};
}

double tail(double statistic, std::size_t degrees) {
  const boost::math::chi_squared distribution(static_cast<double>(degrees));
  return boost::math::cdf(boost::math::complement(distribution, statistic));
}

/// p-value of counts against probabilities; cells that expect fewer than 10 are lumped.
double fit(const std::map<std::uint64_t, std::uint64_t>& counts,
           const std::function<double(std::uint64_t)>& probability, std::uint64_t end,
           std::uint64_t draws) {
  double statistic = 0.0, expected = 0.0, seen = 0.0;
  std::size_t cells = 0;
  for (std::uint64_t k = 0; k < end; ++k) {
    expected += probability(k) * static_cast<double>(draws);
    const auto at = counts.find(k);
    seen += at == counts.end() ? 0.0 : static_cast<double>(at->second);
    if (expected < 10.0 && k + 1 < end) continue;
    statistic += (seen - expected) * (seen - expected) / expected;
    expected = seen = 0.0;
    ++cells;
  }
  return tail(statistic, cells - 1);
}

/// p-value of two samples having one distribution.
double agree(const std::map<std::uint64_t, std::uint64_t>& a,
             const std::map<std::uint64_t, std::uint64_t>& b) {
  const auto total = [](const auto& counts) {
    double sum = 0.0;
    for (const auto& [value, count] : counts) sum += static_cast<double>(count);
    return sum;
  };
  const double all_a = total(a), all_b = total(b);
  std::map<std::uint64_t, std::pair<double, double>> both;
  for (const auto& [value, count] : a) both[value].first = static_cast<double>(count);
  for (const auto& [value, count] : b) both[value].second = static_cast<double>(count);
  double statistic = 0.0, left = 0.0, right = 0.0;
  std::size_t cells = 0;
  for (const auto& [value, counts] : both) {
    left += counts.first;
    right += counts.second;
    if (left + right < 30.0) continue;
    const double shift = left * std::sqrt(all_b / all_a) - right * std::sqrt(all_a / all_b);
    statistic += shift * shift / (left + right);
    left = right = 0.0;
    ++cells;
  }
  return cells < 2 ? 1.0 : tail(statistic, cells - 1);
}

TEST(CountTable, IsBinomial) {
  constexpr std::uint64_t kDraws = 200'000;
  std::uint64_t seed = 0;
  for (const std::uint64_t n : {1ULL, 7ULL, 432ULL, 6454ULL, 1'000'000ULL}) {
    for (const double p : {0.018, 0.5, 0.9}) {
      const CountTable table = CountTable::binomial(n, p, 1.0 - p);
      EXPECT_LT(table.error(), 2e-11);
      BitSource bits = BitSource::from_seed(++seed, "test");
      std::map<std::uint64_t, std::uint64_t> counts;
      for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[table.draw(bits) - table.first()];
      const auto probability = [&](std::uint64_t k) {
        return std::exp(log_binomial(n, table.first() + k, p, 1.0 - p));
      };
      EXPECT_GT(fit(counts, probability, table.end() - table.first(), kDraws), 1e-5)
          << n << ' ' << p;
    }
  }
}

TEST(CountTable, OneMoreShifts) {
  const CountTable table = CountTable::binomial_and_one(20, 0.3, 0.7, 0.9);
  BitSource bits = BitSource::from_seed(3, "test");
  std::map<std::uint64_t, std::uint64_t> counts;
  for (int i = 0; i < 200'000; ++i) ++counts[table.draw(bits)];
  const auto probability = [](std::uint64_t k) {
    const double without = k <= 20 ? std::exp(log_binomial(20, k, 0.3, 0.7)) : 0.0;
    const double with = k > 0 ? std::exp(log_binomial(20, k - 1, 0.3, 0.7)) : 0.0;
    return 0.1 * without + 0.9 * with;
  };
  EXPECT_GT(fit(counts, probability, 22, 200'000), 1e-5);
}

TEST(BinomialLadder, SumsPowersOfTwo) {
  const BinomialLadder ladder(1000, 0.37, 0.63);
  BitSource bits = BitSource::from_seed(4, "test");
  for (const std::uint64_t n : {1ULL, 3ULL, 999ULL}) {
    std::map<std::uint64_t, std::uint64_t> counts;
    for (int i = 0; i < 100'000; ++i) ++counts[ladder.draw(n, bits)];
    const auto probability = [&](std::uint64_t k) {
      return std::exp(log_binomial(n, k, 0.37, 0.63));
    };
    EXPECT_GT(fit(counts, probability, n + 1, 100'000), 1e-5) << n;
  }
  EXPECT_EQ(ladder.draw(0, bits), 0U);
}

TEST(MultinomialDraw, HasItsMarginalsAndItsSum) {
  const std::vector<double> probabilities = {0.05, 0.0, 0.4, 0.25, 0.3};
  const MultinomialDraw draw(61, probabilities);
  BitSource bits = BitSource::from_seed(5, "test");
  std::vector<std::map<std::uint64_t, std::uint64_t>> counts(5);
  double product = 0.0;
  std::vector<std::uint64_t> batch(5);
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    draw.draw(bits, batch);
    ASSERT_EQ(std::accumulate(batch.begin(), batch.end(), std::uint64_t{0}), 61U);
    for (std::size_t c = 0; c < 5; ++c) ++counts[c][batch[c]];
    product += static_cast<double>(batch[2] * batch[4]);
  }
  for (std::size_t c = 0; c < 5; ++c) {
    if (c == 1) continue;
    const auto probability = [&](std::uint64_t k) {
      return std::exp(log_binomial(61, k, probabilities[c], 1.0 - probabilities[c]));
    };
    EXPECT_GT(fit(counts[c], probability, 62, kDraws), 1e-5) << c;
  }
  EXPECT_EQ(counts[1].size(), 1U);
  EXPECT_EQ(counts[1].begin()->first, 0U);
  EXPECT_NEAR(product / kDraws, 61.0 * 60.0 * 0.4 * 0.3, 1.0);  // E[N_i N_j] = n (n - 1) p_i p_j
}

struct Case {
  const char* name;
  MechanismKind kind;
  Parameters parameters;
  std::size_t size;
  std::uint64_t clients;
  int batches;
};

/// A count that tells all classes apart, for the comparison of distributions: one number a batch.
std::uint64_t key_of(const std::vector<std::uint64_t>& counts) {
  std::uint64_t key = 0;
  for (std::size_t c = 1; c < counts.size(); ++c) key += counts[c] * (2 * c - 1);
  return key;
}

TEST(ShuffledBatch, TheFastEngineHasTheDistributionOfRealShuffledReports) {
  const std::vector<Case> cases = {
      {"two-point", MechanismKind::kValue, {{"epsilon", 1.0}}, 1, 30, 4000},
      {"srr",
       MechanismKind::kValue,
       {{"epsilon", 2.0}, {"precision", 2.0}, {"groups", 4.0}, {"step", 10.0}},
       1,
       30,
       4000},
      {"grr", MechanismKind::kValue, {{"epsilon", 3.0}, {"precision", 1.0}}, 1, 30, 4000},
      {"laplace", MechanismKind::kValue, {{"epsilon", 1.0}, {"precision", 3.0}}, 1, 20, 2000},
      {"ldp-sgd", MechanismKind::kVector, {{"epsilon", 2.0}, {"norm", 1.0}}, 8, 20, 800},
      {"privunit", MechanismKind::kVector, {{"epsilon", 2.0}, {"norm", 1.0}}, 8, 20, 800},
      {"rappor", MechanismKind::kBits, {{"epsilon", 1.0}}, 4, 20, 3000},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const auto make = [&](std::size_t size) {
      auto made = make_mechanism(one.name, Domain{flat_layout(size), {{0.0, 1.0}}}, one.parameters);
      EXPECT_TRUE(made.has_value()) << made.error().message;
      return std::move(made).value();
    };
    const auto single = make(one.size);
    const auto many = one.kind == MechanismKind::kValue ? make(one.clients) : make(one.size);
    const auto pair = ReportPair::make(*single, one.kind);
    ASSERT_TRUE(pair.has_value()) << pair.error().message;
    double zero = 0.0, own = 0.0;
    for (const DistributionPair::Class& c : pair->distributions().classes) {
      zero += c.zero;
      own += c.one;
    }
    EXPECT_NEAR(zero, 1.0, 1e-9);
    EXPECT_NEAR(own, 1.0, 1e-9);
    EXPECT_LE(pair->distributions().classes.size(), DistributionPair::kMostClasses);
    EXPECT_LE(pair->distributions().epsilon(), single->guarantee().epsilon + 1e-9);
    for (const bool world : {false, true}) {
      std::map<std::uint64_t, std::uint64_t> slow, fast;
      BitSource bits = BitSource::from_seed(world ? 11 : 12, one.name);
      const BatchDraw draw(pair->distributions(), one.clients, world);
      std::vector<std::uint64_t> counts(pair->distributions().classes.size());
      for (int i = 0; i < one.batches; ++i) {
        ++slow[key_of(shuffled_batch(*pair, *many, one.kind, one.clients, world, bits))];
        draw.draw(bits, counts);
        ++fast[key_of(counts)];
      }
      EXPECT_GT(agree(slow, fast), 1e-4) << "world " << world;
    }
    // A batch in which nobody differs is told from one in which somebody does, at this size.
    std::map<std::uint64_t, std::uint64_t> without, with;
    BitSource bits = BitSource::from_seed(13, one.name);
    const BatchDraw draw_without(pair->distributions(), 4, false),
        draw_with(pair->distributions(), 4, true);
    std::vector<std::uint64_t> counts(pair->distributions().classes.size());
    for (int i = 0; i < 4000; ++i) {
      draw_without.draw(bits, counts);
      ++without[key_of(counts)];
      draw_with.draw(bits, counts);
      ++with[key_of(counts)];
    }
    EXPECT_LT(agree(without, with), 1e-4);
  }
}

TEST(ReportPair, SaysWhyItCannot) {
  const auto em = make_mechanism("em", Domain{flat_layout(1), {{0.0, 1.0}}},
                                 {{"epsilon", 1.0}, {"precision", 10.0}});
  ASSERT_TRUE(em.has_value());
  const auto wide = ReportPair::make(**em, MechanismKind::kValue);
  ASSERT_FALSE(wide.has_value());
  EXPECT_NE(wide.error().message.find("--precision"), std::string::npos);
  const auto bits =
      make_mechanism("rappor", Domain{flat_layout(40), {{0.0, 1.0}}}, {{"epsilon", 1.0}});
  ASSERT_TRUE(bits.has_value());
  EXPECT_FALSE(ReportPair::make(**bits, MechanismKind::kBits).has_value());
}

TEST(Shuffled, TheSeedsStatisticWithoutNoise) {
  const std::vector<std::tuple<double, std::uint64_t, double>> known = {
      {1, 432, 0.041},  {1, 1000, 0.027}, {2, 974, 0.061},
      {2, 1000, 0.060}, {4, 6454, 0.073}, {4, 10000, 0.060}};
  for (const auto& [epsilon, clients, value] : known) {
    EXPECT_NEAR(seed_value_exact(binary(epsilon), clients), value, 0.0006) << epsilon << clients;
  }
  ShuffledGame game{binary(1.0), 432, 1e-6, 0.95, 4'000'000, 1, 2, {}};
  EXPECT_NEAR(seed_value(game), seed_value_exact(game.distributions, 432), 0.004);
}

TEST(Shuffled, AuditedBelowExactBelowNumerical) {
  for (const auto& [epsilon, clients] :
       std::vector<std::pair<double, std::uint64_t>>{{1, 432}, {2, 974}, {4, 1000}, {4, 6454}}) {
    ShuffledGame game{binary(epsilon), clients, 1e-6, 0.99, 4'000'000, 7, 2, {}};
    const double exact = PrivacyLoss::shuffled_binary(epsilon, clients).epsilon(1e-6);
    const double numerical = PrivacyLoss::shuffled({epsilon, 0.0, 0.0}, clients).epsilon(1e-6);
    EXPECT_LE(exact, numerical);
    for (const BatchStatistic statistic :
         {BatchStatistic::kFrequency, BatchStatistic::kLikelihoodRatio}) {
      game.trials = statistic == BatchStatistic::kFrequency ? 4'000'000 : 400'000;
      const ShuffledFinding found = audit_shuffled(game, statistic);
      EXPECT_EQ(found.trials, game.trials / 2);
      EXPECT_LE(found.bounds.two_sided, exact) << epsilon << ' ' << clients;
      EXPECT_GT(found.bounds.two_sided, 0.15 * exact) << name_of(statistic) << ' ' << epsilon;
      // Where the seed looks, at the mean, there is much less to be seen.
      if (statistic == BatchStatistic::kFrequency && clients != 1000) {
        EXPECT_GT(found.bounds.two_sided, 1.4 * seed_value_exact(game.distributions, clients));
      }
    }
  }
}

TEST(Shuffled, TheLikelihoodRatioSeesMoreThanOneFrequency) {
  // Reports that mostly tell nothing and rarely much: counting those that lean to one side mixes
  // weak evidence with strong.
  const DistributionPair distributions{
      {{0.02, 0.001}, {0.50, 0.499}, {0.479, 0.48}, {0.001, 0.02}}};
  ShuffledGame game{distributions, 60, 1e-6, 0.95, 400'000, 3, 2, {}};
  const double frequency = audit_shuffled(game, BatchStatistic::kFrequency).bounds.two_sided;
  const double ratio = audit_shuffled(game, BatchStatistic::kLikelihoodRatio).bounds.two_sided;
  EXPECT_GT(ratio, frequency + 0.1);
}

TEST(Shuffled, ThreadsDoNotChangeTheResult) {
  ShuffledGame game{binary(2.0), 100, 1e-6, 0.95, 200'000, 5, 1, {}};
  for (const BatchStatistic statistic :
       {BatchStatistic::kFrequency, BatchStatistic::kLikelihoodRatio}) {
    game.threads = 1;
    const ShuffledFinding alone = audit_shuffled(game, statistic);
    game.threads = 3;
    const ShuffledFinding together = audit_shuffled(game, statistic);
    EXPECT_EQ(alone.threshold, together.threshold);
    EXPECT_EQ(alone.guesses.false_positives, together.guesses.false_positives);
    EXPECT_EQ(alone.guesses.false_negatives, together.guesses.false_negatives);
  }
}

// The exact value of a (game, delta) pair is known, so how often the bound is above it is seen. The
// worst place is a small batch, where few outcomes carry all of it and delta is large.
TEST(Shuffled, TheDeltaAwareBoundCoversAsOftenAsItSays) {
  constexpr int kRepetitions = 1000;
  constexpr double kConfidence = 0.9;
  for (const double delta : {1e-6, 0.05}) {
    const double exact = PrivacyLoss::shuffled_binary(2.0, 5).epsilon(delta);
    int above = 0;
    double sum = 0.0;
    for (int i = 0; i < kRepetitions; ++i) {
      const ShuffledGame game{
          binary(2.0), 5, delta, kConfidence, 40'000, static_cast<std::uint64_t>(1000 + i), 1, {}};
      const double lower = audit_shuffled(game, BatchStatistic::kFrequency).bounds.two_sided;
      above += lower > exact ? 1 : 0;
      sum += lower;
    }
    const double allowed = kRepetitions * (1.0 - kConfidence) +
                           3.0 * std::sqrt(kRepetitions * kConfidence * (1.0 - kConfidence));
    EXPECT_LE(above, allowed) << delta;
    EXPECT_GT(sum / kRepetitions, 0.5 * exact) << delta;
    // A bound that ignores delta would be above the truth far more often.
    if (delta > 0.01) {
      int naive = 0;
      for (int i = 0; i < 200; ++i) {
        const ShuffledGame game{
            binary(2.0), 5, 0.0, kConfidence, 40'000, static_cast<std::uint64_t>(1000 + i), 1, {}};
        naive += audit_shuffled(game, BatchStatistic::kFrequency).bounds.two_sided > exact ? 1 : 0;
      }
      EXPECT_GT(naive, 100);
    }
  }
}

TEST(Shuffled, RefusesWhatMakesNoSense) {
  const ShuffledGame sound{binary(1.0), 100, 1e-6, 0.95, 1000, 1, 1, {}};
  EXPECT_TRUE(check_game(sound).has_value());
  ShuffledGame game = sound;
  game.clients = 1;
  EXPECT_FALSE(check_game(game).has_value());
  EXPECT_THROW(audit_shuffled(game, BatchStatistic::kFrequency), std::invalid_argument);
  game = sound;
  game.trials = 10;
  EXPECT_FALSE(check_game(game).has_value());
  game = sound;
  game.delta = 1.0;
  EXPECT_FALSE(check_game(game).has_value());
  game = sound;
  game.confidence = 0.5;
  EXPECT_FALSE(check_game(game).has_value());
}

}  // namespace
}  // namespace sotto
