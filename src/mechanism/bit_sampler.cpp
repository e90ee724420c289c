#include "mechanism/bit_sampler.h"

#include <algorithm>

namespace sotto {
namespace {

const exact::Integer& whole() {
  static const exact::Integer value = exact::Integer(1) << 64;
  return value;
}

}  // namespace

std::uint64_t largest_threshold(double epsilon) {
  const exact::Integer half = whole() / 2;
  if (!(epsilon > 0.0)) return half.convert_to<std::uint64_t>();
  // 2^64 e^epsilon / (1 + e^epsilon), with e^epsilon rounded down to a multiple of 2^-256.
  const exact::Integer unit = exact::Integer(1) << 256;
  const exact::Integer power = exact::floor_times_exp(exact::Rational(unit), epsilon);
  exact::Integer best = whole() * power / (unit + power);
  if (best >= whole()) best = whole() - 1;
  // The bound says the same of the integer that was found; half is safe at every epsilon.
  while (best > half &&
         !exact::at_most_exp(exact::Rational(best), exact::Rational(exact::Integer(whole() - best)),
                             epsilon)) {
    --best;
  }
  return std::max(best, half).convert_to<std::uint64_t>();
}

std::uint64_t nearest_threshold(const exact::Rational& odds) {
  const exact::Rational doubled = exact::Rational(2 * whole()) / (1 + odds);
  const exact::Integer twice =
      boost::multiprecision::numerator(doubled) / boost::multiprecision::denominator(doubled);
  exact::Integer nearest = (twice + 1) / 2;
  if (nearest < 1) nearest = 1;
  if (nearest >= whole()) nearest = whole() - 1;
  return nearest.convert_to<std::uint64_t>();
}

}  // namespace sotto
