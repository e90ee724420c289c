// What a shuffled batch tells about one client.
//
// Background. With respect to a fixed distribution U the distribution of every input has a density
// in [g, g e^E], so every other client's report is a draw from U with probability g, whatever its
// data. Tell the adversary who of the others did not draw from U, and those reports are no help to
// us any more: M ~ Bin(n - 1, g) draws from U remain, and one report of ours. Among S = M + 1
// reports y_i the probability of what is seen is, up to a common factor, the sum of the densities
// at y_i; the hockey-stick divergence is E[(T_1 + ... + T_S)+] / S with independent T_i = l(y_i) -
// e^eps l'(y_i) and y_i ~ U (Balle, Bell, Gascon, Nissim 2019).
//
// Which two densities are worst? E[(T_1 + ... + T_S)+] grows with the convex order of T. A density
// in [g, g e^E] with mean 1 is, in convex order, at most one that takes only these two values,
// the upper one with probability q = (1 - g) / (g (e^E - 1)); and moving the places where two such
// densities are both high apart (q <= 1/2) replaces the values {both, neither} of T by {first only,
// second only}, with the same sum and farther from each other. So the worst case is one of three
// regions: high under the first input (probability q under U), high under the second (q), neither.
// For privunit, grr and one-hot bits this is what they are; with q = 1/2, g = 2 / (e^E + 1) it is
// the worst of all mechanisms with this epsilon, the generic bound (variation ratio; Wang et al.
// 2023).
//
// Of S reports k lie in the two outer regions, x of them in the first. Given S and k, x has the
// distribution P(x) = Bin(k, 1/2)(x) (1 - w + 2 w x / k), Q the same with k - x, w = c k / (2 S + c
// k), c = e^E - 1: with probability w ours is one of the k and gives its side away, among k - 1
// coins. Fewer coins and a larger w are both worse (the better pair is a post-processing of the
// worse), so neighbouring values of M and k are lumped together, to the safe side.
#include <algorithm>
#include <cmath>

#include "account/loss_builder.h"
#include "account/shuffled/shuffle_blocks.h"

namespace sotto {
namespace {

/// Steps of the grid in a deviation of the loss.
constexpr double kFine = 2048.0;
/// Of probabilities that are products of three binomial ones.
constexpr double kError = 4.0 * kBinomialError;

/// k reports on either side, ours among them with probability w; seen with this probability.
struct Coins {
  std::uint64_t count = 0;
  double weight = 0.0;
  double rest = 1.0;  // 1 - weight, apart: beside a large epsilon it has no digits in weight
  double probability = 0.0;
};

/// x in [count - edge, edge] matters.
std::uint64_t edge_of(std::uint64_t count) {
  const auto k = static_cast<double>(count);
  // Hoeffding: beyond this lies less than the tail, under P and Q, where densities are at most 2.
  const double beyond = k / 2.0 + std::sqrt(k / 2.0 * std::log(4.0 / kTail));
  return beyond >= k ? count : static_cast<std::uint64_t>(beyond) + 1;
}

/// What P and Q are at x >= k / 2, over the probability of a fair coin's x, and the loss.
struct Seen {
  double more = 1.0;
  double less = 1.0;
  double loss = 0.0;
};
Seen seen_at(const Coins& coins, std::uint64_t x) {
  const auto k = static_cast<double>(coins.count);
  const double lean = coins.weight * (2.0 * static_cast<double>(x) / k - 1.0);
  const double less = coins.rest + coins.weight * 2.0 * static_cast<double>(coins.count - x) / k;
  return {1.0 + lean, less, std::log1p(lean) - (lean < 0.5 ? std::log1p(-lean) : std::log(less))};
}

/// Adds the outputs x and k - x for all x >= k / 2.
void add(LossBuilder& builder, const Coins& coins) {
  const std::uint64_t k = coins.count;
  if (k == 0) return builder.add(0.0, coins.probability);
  const std::uint64_t edge = edge_of(k);
  std::uint64_t x = (k + 1) / 2;
  double coin = std::exp(log_binomial(k, x, 0.5, 0.5)) * coins.probability;
  for (; x <= edge; ++x) {
    const Seen seen = seen_at(coins, x);
    builder.add(seen.loss, coin * seen.more);
    if (2 * x != k) builder.add(-seen.loss, coin * seen.less);
    coin *= static_cast<double>(k - x) / static_cast<double>(x + 1);
  }
  if (edge < k) builder.add_infinite(kTail * coins.probability);
}

class Mixture {
 public:
  void add(const Coins& coins) {
    if (coins.probability > 0.0) parts_.push_back(coins);
  }
  void add_infinite(double probability) { infinite_ += probability; }

  PrivacyLoss loss() const {
    double reach = 0.0, square = 0.0;
    for (const Coins& part : parts_) {
      if (part.count == 0) continue;
      const double most = seen_at(part, edge_of(part.count)).loss;
      const double spread = 2.0 * part.weight / std::sqrt(static_cast<double>(part.count));
      reach = std::max(reach, most);
      square += part.probability * std::min(most * most, spread * spread);
    }
    if (reach == 0.0) return {};
    LossBuilder builder(std::sqrt(square) / kFine, reach);
    for (const Coins& part : parts_) sotto::add(builder, part);
    builder.add_infinite(infinite_);
    return LossBuilder::symmetric(std::move(builder).finish(kError));
  }

 private:
  std::vector<Coins> parts_;
  double infinite_ = 0.0;
};

/// Every other client throws a fair coin with probability `clone`; ours shows with this weight.
PrivacyLoss among_coins(std::uint64_t others, double clone, double no_clone, double weight,
                        double rest) {
  const BinomialWindow clones = binomial_window(others, clone, no_clone, kTail);
  Mixture mixture;
  mixture.add_infinite(clones.below);
  visit_blocks(clones, [&](std::uint64_t lowest, std::uint64_t, double probability) {
    mixture.add({lowest + 1, weight, rest, probability});
  });
  return mixture.loss();
}

/// Three regions: q < 1/2.
PrivacyLoss among_regions(std::uint64_t others, double floor, double share, double excess) {
  const BinomialWindow from_background = binomial_window(others, floor, 1.0 - floor, kTail);
  const double outside = 1.0 - floor * (1.0 - 2.0 * share);  // ours is in an outer region
  Mixture mixture;
  mixture.add_infinite(from_background.below);
  visit_blocks(from_background, [&](std::uint64_t draws, std::uint64_t, double probability) {
    // The number k of reports in the outer regions: of `draws`, and ours.
    const BinomialWindow outer = binomial_window(draws, 2.0 * share, 1.0 - 2.0 * share, kTail);
    BinomialWindow seen;
    seen.first = outer.first;
    seen.probabilities.assign(outer.probabilities.size() + 1, 0.0);
    for (std::size_t i = 0; i < outer.probabilities.size(); ++i) {
      seen.probabilities[i] += outer.probabilities[i] * (1.0 - outside);
      seen.probabilities[i + 1] += outer.probabilities[i] * outside;
    }
    mixture.add_infinite(probability * (outer.below + outer.above));
    const double reports = static_cast<double>(draws) + 1.0;
    visit_blocks(seen, [&](std::uint64_t least, std::uint64_t most, double part) {
      const double signal = excess * static_cast<double>(most);
      const double all = 2.0 * reports + signal;
      mixture.add({least, signal / all, 2.0 * reports / all, probability * part});
    });
  });
  return mixture.loss();
}

/// Beyond, e^epsilon times clients overflows; no batch is large enough to hide that.
constexpr double kHopeless = 600.0;

}  // namespace

PrivacyLoss PrivacyLoss::shuffled(const Background& background, std::uint64_t clients) {
  const double epsilon = background.epsilon;
  if (epsilon <= 0.0) return {};
  if (epsilon > kHopeless || clients < 2) return pure(epsilon);
  const double excess = std::expm1(epsilon);
  const double floor = std::min(background.floor, 1.0);
  const double share = floor > 0.0 ? (1.0 - floor) / (floor * excess) : 1.0;
  if (share >= 0.5) {
    const double weight = excess / (excess + 2.0), rest = 2.0 / (excess + 2.0);
    return among_coins(clients - 1, rest, weight, weight, rest);
  }
  if (share <= 0.0) return {};
  return among_regions(clients - 1, floor, share, excess);
}

PrivacyLoss PrivacyLoss::shuffled_clones(double epsilon, std::uint64_t clients) {
  if (epsilon <= 0.0) return {};
  if (epsilon > kHopeless || clients < 2) return pure(epsilon);
  return among_coins(clients - 1, std::exp(-epsilon), -std::expm1(-epsilon),
                     std::tanh(epsilon / 2.0), 2.0 / (std::exp(epsilon) + 1.0));
}

// All others hold 0, so the number of ones is Bin(n - 1, q) plus ours, q = 1 / (e^E + 1); with
// r = x e^E / (n - x) the ratio of the two distributions at x ones is (e^E r + 1) / (r + e^E).
PrivacyLoss PrivacyLoss::shuffled_binary(double epsilon, std::uint64_t clients) {
  if (epsilon <= 0.0) return {};
  if (epsilon > kHopeless || clients < 2) return pure(epsilon);
  const double grown = std::exp(epsilon);
  const double flip = 1.0 / (grown + 1.0), keep = grown / (grown + 1.0);
  const BinomialWindow ones = binomial_window(clients - 1, flip, keep, kTail);
  const auto loss_of_count = [&](std::uint64_t x) {
    if (x == clients) return epsilon;
    const double odds = static_cast<double>(x) / static_cast<double>(clients - x);
    const double ratio = odds * grown;
    // The first form has digits for small epsilons, the second for large ones.
    return grown < 2.0 ? std::log1p((grown - 1.0) * (ratio - 1.0) / (ratio + grown))
                       : std::log((ratio + 1.0 / grown) / (odds + 1.0));
  };
  const double reach = std::max(std::abs(loss_of_count(ones.first)), loss_of_count(ones.end()));
  const double spread =
      2.0 * std::tanh(epsilon / 2.0) / std::sqrt(4.0 * static_cast<double>(clients) * flip * keep);
  const double step = std::min(spread, reach) / kFine;
  LossBuilder forward(step, reach), backward(step, reach);
  for (std::uint64_t x = ones.first; x <= ones.end(); ++x) {
    const auto probability = [&](std::uint64_t at) {
      return at < ones.first || at >= ones.end() ? 0.0 : ones.probabilities[at - ones.first];
    };
    const double without = probability(x), with = x > 0 ? probability(x - 1) : 0.0;
    const double loss = loss_of_count(x);
    forward.add(loss, keep * with + flip * without);
    backward.add(-loss, flip * with + keep * without);
  }
  const double cut = ones.below + ones.above;
  forward.add_infinite(cut);
  backward.add_infinite(cut);
  return LossBuilder::directed(std::move(forward).finish(kError),
                               std::move(backward).finish(kError));
}

}  // namespace sotto
