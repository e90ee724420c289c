// How well scores tell members from others: receiver operating characteristic, the area under it,
// and the share of members found while hardly anybody is accused wrongly.
//
// An average says little about privacy: an attack that is sure of one member in a hundred and
// guesses about the rest has an area near 1/2. So the true-positive rate at a false-positive rate
// of 0.1 % is reported beside the area (Carlini et al. 2022, "Membership inference attacks from
// first principles").
//
// Intervals. Decisions are not independent: one sample is judged in several runs, and all samples
// of a run by the same model. The bootstrap therefore draws samples and runs anew, each a cluster,
// and weighs a decision by the product of both counts (the pigeonhole bootstrap, which errs to the
// wide side). Its percentiles are asymptotic, not exact.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/bits.h"

namespace sotto {

struct Decision {
  double score = 0.0;  // the larger, the more likely a member
  bool member = false;
  std::uint32_t sample = 0;
  std::uint32_t run = 0;  // decisions of one cluster of runs have the same number
};

struct Interval {
  double low = 0.0;
  double high = 1.0;
};

struct Roc {
  double auc = 0.5;  // ties count one half
  double tpr = 0.0;  // the largest at a false-positive rate of at most `limit`
  double limit = 0.001;
  std::uint64_t members = 0;
  std::uint64_t others = 0;
  Interval auc_interval;  // 95 %
  Interval tpr_interval;
  /// False-positive and true-positive rate, ascending, from (0, 0) to (1, 1); thinned for a
  /// picture.
  std::vector<std::pair<double, double>> curve;
};

struct RocOptions {
  double limit = 0.001;
  std::uint32_t replicates = 400;  // of the bootstrap; 0: no intervals
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

/// Members and others must both occur; otherwise the area is 1/2 and nothing is found.
Roc receiver_operating(std::vector<Decision> decisions, const RocOptions& options);

}  // namespace sotto
