// Further samplers of the papers' public code that do not keep what the papers claim, with the
// distribution that they really have. Written anew from what that code does; for `sotto reproduce
// refutations` and its tests only, never for a client.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/bits.h"
#include "sotto/stages.h"

namespace sotto {

/// The two-point mechanism of LDP-FL on a weight that nobody clips. The probability of the upper
/// point grows with the weight beyond the range, to 1 at centre + radius (e^eps + 1) / (e^eps - 1):
/// from there on the answer is certain.
struct PublishedTwoPoint {
  Range range;
  double epsilon = 1.0;

  double probability_up(double weight) const;
  bool draw(double weight, BitSource& bits) const { return bits.unit() < probability_up(weight); }
  /// ln of the largest ratio for these two weights.
  double loss(double weight, double other) const;
};

/// Generalized randomized response that keeps the weight as it came, where it should answer with
/// the weight's grid value: an answer off the grid is the weight.
struct PublishedGrr {
  Range range;
  double epsilon = 1.0;
  int precision = 4;

  double probability_kept() const;
  double draw(double weight, BitSource& bits) const;
  /// Whether the value is one of the grid's.
  bool on_grid(double value) const;

 private:
  std::int64_t radius_steps() const;
  double step() const;
};

/// Batch normalisation keeps a running mean of what passes through it. The code perturbs what a
/// gradient trains and sends everything else as it is, this mean included: no noise at all, only
/// the order of the records is random.
struct PublishedRunningMean {
  std::vector<double> records;  // one activation a record
  std::size_t batch = 64;
  double momentum = 0.1;

  /// After one pass over the records in a random order, from 0.
  double draw(BitSource& bits) const;
  /// The least and the largest value that any order gives.
  double least() const;
  double largest() const;

 private:
  double mean_in(const std::vector<double>& order) const;
};

}  // namespace sotto
