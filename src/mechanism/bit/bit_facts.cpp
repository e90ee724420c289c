// What is known of a bit mechanism besides its moments: the background of its distributions, and
// the numbers that decide them. With a = P(1|1) and b = P(1|0):
//
// - Features. Of one bit, a 1 has at least m1 = min(a, b) and a 0 at least m0 = min(1-a, 1-b). With
//   respect to the distribution in proportion to (m1, m0) both inputs have a density between m0 +
//   m1 and that times the larger one of max / min over both outputs, the bit's worst ratio. Bits
//   are independent: floors multiply, epsilons add.
// - One-hot vectors. With respect to independent bits that are 1 with probability b, the
// distribution of
//   the vector with its 1 at position i has the density a/b where bit i is 1 and (1-a)/(1-b) where
//   it is 0. The smaller one is the floor; the ratio of both is the worst case of find_worst_case.
// - A label of K classes. With respect to the uniform distribution a class has K own / total or
//   K other / total.
// The bits of a label and of a one-hot vector depend on each other: pieces of them have no floor.
#include <algorithm>

#include "mechanism/bit/bit.h"
#include "mechanism/value/constants.h"

namespace sotto {
namespace {

using exact::Integer;
using exact::Rational;

/// Of one bit at an even (0) or odd (1) position.
double floor_of_bit(const BitThresholds& thresholds, std::size_t parity) {
  Integer least = 0;
  for (const bool output : {false, true}) {
    least +=
        std::min(thresholds.words(parity, false, output), thresholds.words(parity, true, output));
  }
  return exact::round_down(Rational(least, Integer(1) << 64));
}

double floor_of_one_hot(const BitThresholds& thresholds) {
  const auto density = [&](bool output) {
    return Rational(thresholds.words(0, true, output), thresholds.words(0, false, output));
  };
  return exact::round_down(std::min(density(false), density(true)));
}

}  // namespace

Background BitMechanism::background(std::size_t first, std::size_t count) const {
  const std::size_t bits = design_.code.bits();
  const LabelMasses& label = design_.label;
  const std::size_t end = std::min(first + count, outputs());
  Background all;
  all.epsilon = guarantee_.epsilon;
  if (design_.code.input == BitInput::kOneHot) {
    // A single position is always 1: one distribution.
    if (first == 0 && end == outputs()) {
      all.floor = bits < 2 ? 1.0 : floor_of_one_hot(design_.thresholds);
    }
    return all;
  }
  const bool some_label = end > bits && first < end;
  if (some_label && (first > bits || end < outputs())) return all;

  const std::size_t to = std::min(end, bits);
  const std::size_t from = std::min(first, to);
  const std::size_t odd = to / 2 - from / 2;
  const std::size_t even = (to - from) - odd;
  all.epsilon = epsilon_of_bits(even, odd);
  all.floor = exact::multiply_down(exact::power_down(floor_of_bit(design_.thresholds, 0), even),
                                   exact::power_down(floor_of_bit(design_.thresholds, 1), odd));
  if (!some_label) return all;
  all.epsilon = exact::add_up(all.epsilon, epsilon_of_label());
  const Rational floor(Integer(label.classes) * label.other, Integer(label.total()));
  all.floor = exact::multiply_down(all.floor, exact::round_down(floor));
  return all;
}

std::vector<Constant> BitMechanism::constants() const {
  std::vector<Constant> all;
  for (const std::size_t parity : {0, 1}) {
    for (const std::size_t input : {0, 1}) {
      all.push_back(integer_constant("threshold of " + std::to_string(input) + " at " +
                                         (parity == 0 ? "even" : "odd") + " positions",
                                     design_.thresholds.one[parity][input]));
    }
  }
  all.push_back(integer_constant("bits", design_.code.bits()));
  all.push_back(integer_constant("bits a value", design_.code.bits_a_value()));
  if (design_.label.classes == 0) return all;
  all.push_back(integer_constant("classes", design_.label.classes));
  all.push_back(integer_constant("label own", design_.label.own));
  all.push_back(integer_constant("label other", design_.label.other));
  return all;
}

}  // namespace sotto
