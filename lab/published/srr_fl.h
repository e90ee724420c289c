// Staircase randomized response as the public code of the SRR-FL paper draws it, with the
// distribution that it really has. Written anew from what that code does; for `sotto reproduce
// refutations` and its tests only, never for a client.
//
// Facts. The first group's size is its real value rounded down plus one, all others are rounded
// down, so they add up to the grid's d only where d mod m is 1 (and the step even, or m odd).
// Group masses are size times a_j, with a_j computed as if sizes added up; what is missing to one,
// e a_1 where e = d - sum of the sizes, is given to group 1. So group 1 is likelier than e^epsilon
// allows, and the e outputs farthest from an input are never drawn: outputs that are impossible
// under one input and likely under another. (e < 0 makes the last group reach beyond the grid,
// where that code stops with an error.)
// The second sampler there lays each group half to the left and half to the right of those before
// it: a group of odd size begins between two grid values, except near the ends of the grid, and so
// whether an output lies on the grid tells where the input was.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sotto/bits.h"

namespace sotto {

class PublishedSrr {
 public:
  enum class Sampler { kRanks, kHalves };

  /// A grid of 2 * radius + 1 values; 1 < groups. The sizes must be positive and reach no further
  /// than the grid.
  PublishedSrr(std::int64_t radius, std::int64_t groups, std::int64_t step, double epsilon,
               Sampler sampler);

  /// Inputs are indices -radius .. radius; outputs the same in half steps.
  std::int64_t draw(std::int64_t input, BitSource& bits) const;
  /// The probability of every output.
  std::map<std::int64_t, double> distribution(std::int64_t input) const;
  /// The largest log-ratio over these inputs and all outputs; infinite where supports differ.
  double epsilon(const std::vector<std::int64_t>& inputs) const;

  std::int64_t missing() const noexcept { return missing_; }  // e
  const std::vector<std::int64_t>& sizes() const noexcept { return sizes_; }

 private:
  std::int64_t output(std::int64_t input, std::size_t group, std::int64_t place) const;
  std::int64_t by_halves(std::int64_t input, std::size_t group, std::int64_t place) const;

  std::int64_t radius_;
  Sampler sampler_;
  std::vector<std::int64_t> sizes_;
  std::vector<double> masses_;
  std::int64_t missing_ = 0;
};

}  // namespace sotto
