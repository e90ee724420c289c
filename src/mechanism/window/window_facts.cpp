// What is known of a window channel besides its moments: the background of its distributions, and
// the numbers that decide them.
//
// A slot has probability hi inside the window and lo outside, or a mixture of both, whatever the
// input; plus has at least T(-R) words in a pair and minus at least 2^64 - T(R), as T grows with
// the input. These minima, added up, are the floor; with respect to the distribution in proportion
// to them every input has a density between the floor and the floor times hi / lo or the pair's
// ratio, of which the worst case is the larger one. Slots that share a symbol only take means of
// densities.
#include "base/exact/exact.h"
#include "mechanism/value/constants.h"
#include "mechanism/window/window.h"

namespace sotto {

using exact::Integer;
using exact::Rational;

Background WindowChannel::background() const {
  // A grid of one value has one distribution.
  if (grid_.radius() == 0) return {0.0, 1.0};
  const Integer whole = Integer(1) << 64;
  Rational floor(Integer(plan_.outside) * plan_.slots, whole * (plan_.slots - plan_.window));
  if (plan_.pair != 0) {
    const Integer plus = pair_threshold(-grid_.radius());
    const Integer minus = whole - pair_threshold(grid_.radius());
    floor += Rational((plus + minus) * plan_.pair, whole * whole);
  }
  return {worst_case().epsilon, exact::round_down(floor)};
}

std::vector<Constant> WindowChannel::constants() const {
  std::vector<Constant> all = grid_constants(grid_);
  all.push_back(integer_constant("slots", plan_.slots));
  all.push_back(integer_constant("window", plan_.window));
  all.push_back(integer_constant("inside", plan_.inside));
  all.push_back(integer_constant("outside", plan_.outside));
  all.push_back(integer_constant("pair", plan_.pair));
  all.push_back(integer_constant("pair symbol", plan_.pair_symbol));
  all.push_back(integer_constant("pair most", Integer(plan_.pair_most)));
  for (std::size_t k = 0; k < plan_.values.size(); ++k) {
    all.push_back(integer_constant("value " + std::to_string(k), plan_.values[k]));
  }
  all.push_back(real_constant("window slope", kernel_.slope));
  all.push_back(real_constant("pair slope", kernel_.pair_slope));
  all.push_back(real_constant("decoding scale", scale_));
  return all;
}

}  // namespace sotto
