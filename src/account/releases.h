// What a client sends, as releases that compose.
//
// A mechanism with independent weights is as many pure releases; any other is one release for each
// report. Releases of one kind are counted, not listed, so the effort grows with the number of
// different epsilons and never with weights or rounds. Where a turn has several variants, each
// place in its lists is taken by one release that dominates all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/account.h"
#include "sotto/claims.h"

namespace sotto {

/// `count` equal releases: Gaussian noise where `ratio` is positive, else (epsilon, delta)-LDP.
struct ReleaseKind {
  double epsilon = 0.0;
  double delta = 0.0;
  double ratio = 0.0;
  double coupling =
      0.0;  // of Gaussian noise: the probability to leave its exact distribution, in each report
  std::uint64_t count = 0;

  bool pure() const noexcept { return delta == 0.0 && ratio == 0.0; }
};

/// What one round of a turn costs.
struct RoundCost {
  double epsilon = 0.0;  // the sum
  double delta = 0.0;
  std::vector<ReleaseKind> kinds;
  std::uint64_t reports = 0;  // mechanisms
  std::uint64_t weights = 0;  // of those that treat each weight alone
  double alpha = 0.0;         // of condensed privacy: the sum over all weights
};

RoundCost cost_of(const Turn& turn);

/// The place that every variant has at `place` in its list.
std::vector<const Mechanism*> alternatives(const Turn& turn, std::size_t place);

/// How many rounds of this kind there were, whoever took part.
std::uint64_t all_rounds(const Turn& turn);

/// Adds `times` rounds of releases; equal kinds are counted together.
void add(std::vector<ReleaseKind>& all, const std::vector<ReleaseKind>& kinds, std::uint64_t times);

std::uint64_t count_of(const std::vector<ReleaseKind>& kinds);

/// Whether composition can say more than the sum: two releases or more, or Gaussian noise, which
/// has another epsilon at another delta.
bool composes(const std::vector<ReleaseKind>& kinds);

/// The distribution of the summed loss, couplings aside. Many kinds are joined to the safe side.
PrivacyLoss loss_of(std::vector<ReleaseKind> kinds);
/// The least epsilon at delta that is known; infinite where there is none.
double composed_epsilon(const std::vector<ReleaseKind>& kinds, double delta);

}  // namespace sotto
