// What a value mechanism makes of a weight on average, E[y | w], and its inverse: a server that
// knows the mechanism knows its bias and can undo it. Unbiased mechanisms have the identity.
#pragma once

#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

class MeanMap {
 public:
  /// `mechanism` has one output and must outlive the map.
  explicit MeanMap(const Mechanism& mechanism);

  /// What clients clip to: the mechanism's own range.
  const Range& range() const noexcept { return range_; }
  Moments moments(double weight) const;
  /// Whether the mean grows with the weight, so that a mean tells the weight.
  bool inverts() const noexcept { return inverts_; }
  /// The weight whose mean this is, between the ends of the range.
  double input(double mean) const;

 private:
  const Mechanism& mechanism_;
  Range range_;
  std::vector<double> means_;  // at equal distances over the range
  bool inverts_ = false;
};

}  // namespace sotto
