// What a shuffled batch tells about whether a client's report has anything to do with its data: the
// adjacency "the client sent pure noise", which compares with the add/remove adjacency of papers on
// a trusted curator.
//
// As in shuffle.cpp, every other client's report is a draw from the background U with probability
// g, and S = M + 1 reports remain, M ~ Bin(n - 1, g), of which one is ours: a draw from U in one
// world, and in the other from a distribution whose density l by U lies in [g, g e^E]. The ratio of
// the two worlds is the mean of l over the S reports, so by the same convex order the worst l has
// these two values only, the upper one with probability q = (1 - g) / (g (e^E - 1)). Then the
// number k of reports in the upper region decides: k ~ Bin(S, q) for noise, and the ratio is 1 + g
// (e^E - 1) (k / S - q). Fewer draws are worse, because adding one to both worlds is a
// post-processing; blocks of M count as their least.
#include <algorithm>
#include <cmath>
#include <vector>

#include "account/loss_builder.h"
#include "account/shuffled/shuffle_blocks.h"

namespace sotto {
namespace {

/// Of probabilities that are products of two binomial ones.
constexpr double kError = 3.0 * kBinomialError;
constexpr double kHopeless = 600.0;

/// S reports, this many with this probability.
struct Reports {
  std::uint64_t count = 0;
  double probability = 0.0;
};

}  // namespace

PrivacyLoss PrivacyLoss::shuffled_noise(const Background& background, std::uint64_t clients) {
  const double epsilon = background.epsilon;
  const double floor = std::min(background.floor, 1.0);
  if (epsilon <= 0.0 || floor >= 1.0) return {};
  if (epsilon > kHopeless || clients < 1 || floor <= 0.0) return pure(epsilon);
  const double excess = floor * std::expm1(epsilon);
  const double share = std::min(1.0, (1.0 - floor) / excess);
  const BinomialWindow draws = binomial_window(clients - 1, floor, 1.0 - floor, kTail);
  std::vector<Reports> parts;
  visit_blocks(draws, [&](std::uint64_t least, std::uint64_t, double probability) {
    parts.push_back({least + 1, probability});
  });
  // Calls with the probability of k for noise and the ratio of the worlds.
  const auto visit = [&](const Reports& reports, auto&& at) {
    const BinomialWindow upper = binomial_window(reports.count, share, 1.0 - share, kTail);
    for (std::uint64_t k = upper.first; k < upper.end(); ++k) {
      const double away = static_cast<double>(k) / static_cast<double>(reports.count) - share;
      at(upper.probabilities[k - upper.first], std::max(excess * away, floor - 1.0));
    }
    return upper.below + upper.above;
  };
  double reach = 0.0, square = 0.0;
  for (const Reports& part : parts) {
    visit(part, [&](double probability, double more) {
      const double loss = std::log1p(more);
      reach = std::max(reach, std::abs(loss));
      square += part.probability * probability * loss * loss;
    });
  }
  if (reach == 0.0) return {};
  constexpr double kFine = 2048.0;
  const double step = std::min(reach, std::sqrt(square)) / kFine;
  LossBuilder forward(step, reach), backward(step, reach);
  const double most = floor + excess;  // of the density
  for (const Reports& part : parts) {
    const double cut = visit(part, [&](double probability, double more) {
      const double loss = std::log1p(more);
      forward.add(loss, part.probability * probability * (1.0 + more));
      backward.add(-loss, part.probability * probability);
    });
    forward.add_infinite(part.probability * cut * most);
    backward.add_infinite(part.probability * cut);
  }
  forward.add_infinite(draws.below);
  backward.add_infinite(draws.below);
  return LossBuilder::directed(std::move(forward).finish(kError),
                               std::move(backward).finish(kError));
}

}  // namespace sotto
