#include "mechanism/value/grid.h"

#include <string>

#include "base/text.h"

namespace sotto {
namespace {

/// C + 1/2 and C + R must be exact in a double.
constexpr double kLargestCentre = 0x1p51;

/// 10^0 .. 10^15 are doubles, and so are the products on the way.
double power_of_ten(int exponent) {
  double power = 1.0;
  for (int i = 0; i < exponent; ++i) power *= 10.0;
  return power;
}

bool fits(const Range& range, int precision, std::int64_t largest_radius) {
  const double scale = power_of_ten(precision);
  return std::round(range.radius * scale) <= static_cast<double>(largest_radius) &&
         std::abs(range.centre) * scale + range.radius * scale <= kLargestCentre;
}

}  // namespace

Result<DecimalGrid> DecimalGrid::make(const Range& range, double precision,
                                      std::int64_t largest_radius) {
  const int decimals = static_cast<int>(precision);
  if (fits(range, decimals, largest_radius)) {
    const double scale = power_of_ten(decimals);
    return DecimalGrid(scale, std::llround(range.centre * scale),
                       std::llround(range.radius * scale));
  }
  int most = decimals - 1;
  while (most >= 0 && !fits(range, most, largest_radius)) --most;
  const std::string where = "a grid of precision " + std::to_string(decimals) + " over " +
                            short_number(range.centre) + " +- " + short_number(range.radius) +
                            " overflows; ";
  if (most < 0) {
    return fail(ErrorKind::kUsage, where + "valid: a radius of at most " +
                                       short_number(static_cast<double>(largest_radius)) +
                                       " and a centre and radius of at most " +
                                       short_number(kLargestCentre) + " together, at precision 0");
  }
  return fail(ErrorKind::kUsage,
              where + "valid: a precision in [0, " + std::to_string(most) + "] for this range");
}

}  // namespace sotto
