#include "base/exact/exact.h"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

namespace sotto::exact {
namespace {

namespace mp = boost::multiprecision;

/// 512 bits, with an exponent range that takes e^(10^5). Boost documents a few units in the last
/// place for exp and log; kMargin allows 2^100 of them.
using Wide = mp::number<mp::cpp_bin_float<512, mp::digit_base_2, void, std::int64_t>>;
constexpr int kMargin = -410;

Wide margin() { return ldexp(Wide(1), kMargin); }

Wide wide(const Rational& value) {
  return Wide(mp::numerator(value)) / Wide(mp::denominator(value));
}

/// ln(a / b), correct to an absolute error of margin() times (1 + |ln|).
Wide log_of(const Rational& a, const Rational& b) { return log(wide(a / b)); }

double round_up(const Wide& value) {
  auto nearest = value.convert_to<double>();
  while (Wide(nearest) < value) {
    nearest = std::nextafter(nearest, std::numeric_limits<double>::infinity());
  }
  return nearest;
}

double round_down(const Wide& value) {
  auto nearest = value.convert_to<double>();
  while (Wide(nearest) > value) {
    nearest = std::nextafter(nearest, -std::numeric_limits<double>::infinity());
  }
  return nearest;
}

Integer to_integer(const Wide& value) { return value.convert_to<Integer>(); }

}  // namespace

Rational rational(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  Rational result(Integer(static_cast<std::int64_t>(std::ldexp(mantissa, 53))));
  exponent -= 53;
  const Integer power = Integer(1) << std::abs(exponent);
  return exponent >= 0 ? Rational(result * power) : Rational(result / power);
}

bool at_most_exp(const Rational& a, const Rational& b, double epsilon) {
  if (epsilon == 0.0) return a <= b;
  const Wide log = log_of(a, b);
  return log + margin() * (1 + abs(log)) <= Wide(epsilon);
}

Integer floor_times_exp(const Rational& b, double epsilon) {
  if (epsilon == 0.0) return mp::numerator(b) / mp::denominator(b);
  const Wide product = wide(b) * exp(Wide(epsilon));
  return to_integer(Wide(floor(product * (1 - margin()))));
}

Integer ceil_times_exp(const Rational& b, double epsilon) {
  if (epsilon == 0.0) {
    return (mp::numerator(b) + mp::denominator(b) - 1) / mp::denominator(b);
  }
  const Wide product = wide(b) * exp(Wide(epsilon));
  return to_integer(Wide(ceil(product * (1 + margin()))));
}

double log_ratio_up(const Rational& a, const Rational& b) {
  if (a == b) return 0.0;
  const Wide log = log_of(a, b);
  return round_up(log + margin() * (1 + abs(log)));
}

double log_ratio(const Rational& a, const Rational& b) {
  return a == b ? 0.0 : log_of(a, b).convert_to<double>();
}

double multiply_up(double a, double b) {
  if (std::isinf(a) || std::isinf(b)) return std::numeric_limits<double>::infinity();
  return round_up(Wide(a) * Wide(b));
}

double add_up(double a, double b) {
  if (std::isinf(a) || std::isinf(b)) return std::numeric_limits<double>::infinity();
  return round_up(Wide(a) + Wide(b));
}

double divide_down(double a, double b) {
  // The nearest double is the greatest one below or the least one above; compared exactly, so that
  // a quotient that is a double stays what it is.
  const double nearest = a / b;
  return rational(nearest) <= rational(a) / rational(b)
             ? nearest
             : std::nextafter(nearest, -std::numeric_limits<double>::infinity());
}

double round_down(const Rational& value) {
  auto nearest = value.convert_to<double>();
  while (rational(nearest) > value) {
    nearest = std::nextafter(nearest, -std::numeric_limits<double>::infinity());
  }
  return nearest;
}

double multiply_down(double a, double b) { return round_down(Wide(a) * Wide(b)); }

double power_down(double b, std::uint64_t count) {
  if (count == 0 || b == 1.0) return 1.0;
  // Every product loses 2^-511 at most, and they are taken to the power of 2^64 at most.
  Wide power = 1, square = b;
  for (; count > 0; count >>= 1, square *= square) {
    if ((count & 1) != 0) power *= square;
  }
  return round_down(Wide(power * (1 - margin())));
}

}  // namespace sotto::exact
