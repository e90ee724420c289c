// What the tests of mechanisms share: making one, drawing from it, and holding its claims against
// its own probabilities.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>

#include "base/simd.h"
#include "flat_layout.h"
#include "sotto/mechanism.h"

namespace sotto {

inline Result<std::unique_ptr<Mechanism>> try_make(std::string_view name,
                                                   const Parameters& parameters,
                                                   Range range = {0.0, 1.0}, std::size_t size = 1) {
  return make_mechanism(name, Domain{flat_layout(size), {range}}, parameters);
}

inline std::unique_ptr<Mechanism> made(std::string_view name, const Parameters& parameters,
                                       Range range = {0.0, 1.0}, std::size_t size = 1) {
  auto mechanism = try_make(name, parameters, range, size);
  EXPECT_TRUE(mechanism) << name << ": " << (mechanism ? "" : mechanism.error().message);
  return mechanism ? std::move(*mechanism) : nullptr;
}

inline std::vector<Symbol> drawn(const Mechanism& mechanism, std::vector<float> values,
                                 std::uint64_t seed, unsigned threads = 1) {
  BitSource bits = BitSource::from_seed(seed, "mechanism test");
  Update update(mechanism.domain().layout, std::move(values));
  return mechanism.perturb(bound(std::move(update), mechanism.domain()), bits, threads)
      .symbols()
      .unpacked();
}

inline double decoded(const Mechanism& mechanism, Symbol symbol, std::size_t output = 0) {
  double value = 0.0;
  mechanism.decode({&symbol, 1}, 1, output, {&value, 1});
  return value;
}

/// `count` inputs spread evenly over the range of a mechanism of one weight, both ends included.
inline std::vector<float> spread(const Mechanism& mechanism, std::size_t count) {
  const Range range = mechanism.domain().ranges[0];
  std::vector<float> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
    inputs.push_back(static_cast<float>(range.centre + (2.0 * share - 1.0) * range.radius));
  }
  return inputs;
}

struct Tally {
  double epsilon = 0.0;       // the largest log-ratio over the inputs and all symbols
  double total_off = 0.0;     // the largest |sum of probabilities - 1|
  double mean_off = 0.0;      // the largest |mean - moments().mean| ...
  double variance_off = 0.0;  // ... and of the variance, relative
};

/// Enumerates a mechanism of one weight: every input against every symbol of its alphabet.
inline Tally tally(const Mechanism& mechanism, const std::vector<float>& inputs) {
  const std::vector<Symbol> alphabet = mechanism.alphabet(0);
  EXPECT_FALSE(alphabet.empty());
  std::vector<double> least(alphabet.size(), std::numeric_limits<double>::infinity());
  std::vector<double> most(alphabet.size(), -std::numeric_limits<double>::infinity());
  Tally result;
  for (const float input : inputs) {
    double total = 0.0, mean = 0.0, square = 0.0;
    const Moments moments = mechanism.moments({&input, 1}, 0);
    for (std::size_t s = 0; s < alphabet.size(); ++s) {
      const double log_prob = mechanism.log_prob({&alphabet[s], 1}, {&input, 1});
      least[s] = std::min(least[s], log_prob);
      most[s] = std::max(most[s], log_prob);
      const double p = std::exp(log_prob);
      const double centred = decoded(mechanism, alphabet[s]) - moments.mean;
      total += p;
      mean += p * centred;
      square += p * centred * centred;
    }
    result.total_off = std::max(result.total_off, std::abs(total - 1.0));
    result.mean_off = std::max(result.mean_off, std::abs(mean));
    const double variance = square - mean * mean;
    // A variance below 1e-9 of the squared radius may have lost digits on either side.
    const double radius = mechanism.domain().ranges[0].radius;
    const double size = std::max(std::abs(moments.variance), 1e-9 * radius * radius);
    result.variance_off =
        std::max(result.variance_off, std::abs(variance - moments.variance) / size);
  }
  for (std::size_t s = 0; s < alphabet.size(); ++s) {
    if (std::isinf(most[s])) continue;  // a symbol that none of these inputs yields
    result.epsilon = std::max(result.epsilon, most[s] - least[s]);
  }
  return result;
}

/// The `exact` test: probabilities sum to one, no log-ratio is above the guarantee, which is not
/// above `claimed` and is attained when `inputs` hold the worst pair; moments are those of the
/// table.
inline void expect_exact(const Mechanism& mechanism, const std::vector<float>& inputs,
                         double claimed, bool attained = true) {
  const double guaranteed = mechanism.guarantee().unit_epsilon;
  const Tally result = tally(mechanism, inputs);
  EXPECT_LE(guaranteed, claimed) << mechanism.id();
  EXPECT_LE(result.epsilon, guaranteed + 1e-9 * std::max(1.0, guaranteed)) << mechanism.id();
  if (attained) {
    EXPECT_GE(result.epsilon, guaranteed - 1e-9 * std::max(1.0, guaranteed)) << mechanism.id();
  }
  EXPECT_LE(result.total_off, 1e-9) << mechanism.id();
  const double radius = mechanism.domain().ranges[0].radius;
  EXPECT_LE(result.mean_off, 1e-9 * radius) << mechanism.id();
  EXPECT_LE(result.variance_off, 1e-6) << mechanism.id();
  for (const float input : inputs) {
    ASSERT_TRUE(mechanism.sums_to_one({&input, 1}, 0)) << mechanism.id() << " at " << input;
  }
}

/// Pearson's statistic of observed counts against probabilities, cells below five expected merged:
/// the probability of so large a value or a larger one if the probabilities hold. Used with a false
/// alarm of 1e-6; with n draws it finds a shift of one cell's probability p by 6 sqrt(p / n).
inline double chi_square_p(const std::map<Symbol, std::uint64_t>& counts,
                           const std::map<Symbol, double>& log_probs, std::uint64_t draws) {
  double statistic = 0.0, rest_expected = 0.0, rest_seen = 0.0;
  std::size_t cells = 0;
  for (const auto& [symbol, count] : counts) {
    if (!log_probs.contains(symbol)) return 0.0;  // drawn, though it is not in the alphabet
  }
  for (const auto& [symbol, log_prob] : log_probs) {
    const double expected = std::exp(log_prob) * static_cast<double>(draws);
    const auto it = counts.find(symbol);
    const double seen = it == counts.end() ? 0.0 : static_cast<double>(it->second);
    if (expected == 0.0 && seen > 0.0) return 0.0;
    if (expected < 5.0) {
      rest_expected += expected;
      rest_seen += seen;
      continue;
    }
    statistic += (seen - expected) * (seen - expected) / expected;
    ++cells;
  }
  if (rest_expected >= 5.0) {
    statistic += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++cells;
  }
  if (cells < 2) return 1.0;
  const boost::math::chi_squared distribution(static_cast<double>(cells - 1));
  return boost::math::cdf(boost::math::complement(distribution, statistic));
}

/// Tests the frequencies of symbols that were all drawn for `input` against log_prob of `single`,
/// the mechanism for one weight.
inline double frequency_p(const std::vector<Symbol>& symbols, const Mechanism& single,
                          float input) {
  std::map<Symbol, std::uint64_t> counts;
  for (const Symbol symbol : symbols) ++counts[symbol];
  std::map<Symbol, double> log_probs;
  for (const Symbol symbol : single.alphabet(0)) {
    log_probs[symbol] = single.log_prob({&symbol, 1}, {&input, 1});
  }
  return chi_square_p(counts, log_probs, symbols.size());
}

/// Draws one input as often as the mechanism `many` has weights.
inline double frequency_p(const Mechanism& many, const Mechanism& single, float input,
                          std::uint64_t seed) {
  return frequency_p(drawn(many, std::vector<float>(many.outputs(), input), seed), single, input);
}

}  // namespace sotto
