// Composition of unlike releases: pure ones of several sizes, and Gaussian noise.
//
// Equal pure ones have a closed optimum (Kairouz, Oh, Viswanath) and are answered by
// composition_bounds(). All others go through the distribution of their summed privacy loss; the
// sum of their epsilons (basic composition) and that of their Rényi divergences (Mironov 2017)
// stand beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/account.h"

namespace sotto {

/// `count` releases of one kind: pure with this epsilon, or Gaussian noise with this ratio of
/// sensitivity to deviation.
struct Releases {
  double size = 0.0;
  std::uint64_t count = 1;
};

struct Mixture {
  std::vector<Releases> pure;
  std::vector<Releases> gaussian;
};

/// "sequential", "renyi" and "loss-distribution"; for a single pure kind all of
/// composition_bounds().
std::vector<Bound> mixed_bounds(const Mixture& mixture, double delta);

}  // namespace sotto
