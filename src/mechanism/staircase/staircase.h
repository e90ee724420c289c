// Staircase probabilities over ranks (srr-fl, eq. 3-8), as the integers that srr and grr sample.
//
// The d outputs of a grid, ranked by their distance from the input, are cut into m groups of sizes
// g_1 .. g_m. Every output of group j has the same probability a_j; the a_j fall in equal steps
// from a_1 = e^eps a_m to a_m, so
//
//   a_j = a_m (e^eps - (j-1)(e^eps-1)/(m-1)),   a_m = (m-1) / ((m-1) d e^eps - (e^eps-1) W),
//
// with W = sum (j-1) g_j. Sampled are integers: group j has M_j of 2^64 words, and an output is
// chosen inside its group uniformly and exactly. The cumulated masses are T_j = floor(2^64 (g_1 a_1
// + ... + g_j a_j)), with e^eps rounded down to a multiple of 2^-128. Rounding down makes M_1 at
// most and M_m at least its ideal, so M_1 / g_1 <= e^eps M_m / g_m; that and M_j / g_j >=
// M_(j+1) / g_(j+1) are checked in exact arithmetic before a staircase is handed out.
#pragma once

#include <span>
#include <vector>

#include "base/exact/exact.h"
#include "mechanism/value/distance_ranks.h"
#include "sotto/result.h"

namespace sotto {

class Staircase {
 public:
  /// All sizes must be positive; their sum is d < 2^31. An error where 2^64 words are too few to
  /// tell the groups apart; it names the smallest epsilon that works.
  static Result<Staircase> make(std::vector<std::int64_t> sizes, double epsilon);

  /// Any table: `thresholds` are T_1 .. T_(m-1). No claim about its privacy is checked.
  Staircase(std::vector<std::int64_t> sizes, std::vector<std::uint64_t> thresholds);

  std::size_t groups() const noexcept { return sizes_.size(); }
  std::int64_t size(std::size_t j) const { return sizes_[j]; }
  /// Group j has the ranks begin(j) .. begin(j + 1) - 1.
  std::int64_t begin(std::size_t j) const { return begins_[j]; }
  std::int64_t outputs() const { return begins_.back(); }
  std::span<const std::uint64_t> thresholds() const noexcept { return thresholds_; }
  /// M_j; P(an output of group j) = M_j / (g_j 2^64).
  exact::Integer mass(std::size_t j) const;
  double log_probability(std::size_t j) const { return log_probabilities_[j]; }

  /// The group of 64 random bits: how many thresholds are not above them.
  std::size_t group_of_bits(std::uint64_t bits) const;
  std::size_t group_of_rank(std::int64_t rank) const;

  /// ln of the largest ratio of two probabilities of one output, rounded up. Rank 0 is in the first
  /// group, and the last rank, that of one end seen from the other, in the last.
  double epsilon() const;

  /// The sum over all outputs of the least probability that an input gives them, rounded down. An
  /// output y has its largest rank, R + |y|, from the far end of the grid: rank t > 2S lies at the
  /// distance t - S, so its distance |y - s| gives R - |s| + |y - s| <= R + |y|, and a rank t <= 2S
  /// is at most twice the distance, which is then at most S. So the sum is that of rank R once and
  /// of all ranks beyond it twice.
  double least_common() const;

  /// The mean of the centred output index, and the mean square and magnitude of output minus input.
  double mean_output(const DistanceRanks& input) const;
  double mean_square(const DistanceRanks& input) const { return mean_of(input, &RankSums::second); }
  double mean_magnitude(const DistanceRanks& input) const {
    return mean_of(input, &RankSums::absolute);
  }
  /// The least-squares slope of mean_output over all inputs of the grid of radius (d-1)/2.
  double slope() const;

 private:
  bool holds(double epsilon) const;
  /// The expectation of what `part` sums over the ranks.
  double mean_of(const DistanceRanks& input, double RankSums::*part) const;

  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> begins_;       // m + 1
  std::vector<std::uint64_t> thresholds_;  // m - 1
  std::vector<double> log_probabilities_;
  std::vector<double> probabilities_;
  std::vector<double> excess_;  // over the last group's probability
};

}  // namespace sotto
