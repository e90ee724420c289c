#include "mechanism/value/coin.h"

#include <algorithm>
#include <cmath>

#include "base/exact/exact.h"

namespace sotto {

std::uint64_t largest_threshold(double epsilon) {
  const exact::Integer whole = exact::Integer(1) << 64;
  const exact::Integer half = whole / 2;
  if (!(epsilon > 0.0)) return half.convert_to<std::uint64_t>();
  // 2^64 e^epsilon / (1 + e^epsilon), with e^epsilon rounded down to a multiple of 2^-256.
  const exact::Integer unit = exact::Integer(1) << 256;
  const exact::Integer power = exact::floor_times_exp(exact::Rational(unit), epsilon);
  exact::Integer best = whole * power / (unit + power);
  if (best >= whole) best = whole - 1;
  // The bound says the same of the integer that was found; half is safe at every epsilon.
  while (best > half &&
         !exact::at_most_exp(exact::Rational(best), exact::Rational(exact::Integer(whole - best)),
                             epsilon)) {
    --best;
  }
  return std::max(best, half).convert_to<std::uint64_t>();
}

double largest_lean(double epsilon) {
  const std::uint64_t most = largest_threshold(epsilon) - (std::uint64_t{1} << 63);
  auto lean = static_cast<double>(most);
  // Rounded down: the conversion may have gone up. At most 2^63, so the comparison is exact.
  while (lean >= 0x1p63 || static_cast<std::uint64_t>(lean) > most) {
    lean = std::nextafter(lean, 0.0);
  }
  return lean;
}

}  // namespace sotto
