// Privacy arithmetic that never errs on the wrong side: big integers, and e^epsilon and logarithms
// enclosed between bounds of 2^-400 relative width.
//
// e^epsilon is irrational for every rational epsilon except 0 (Lindemann), so "a <= e^epsilon b"
// for integers a, b is decided by an enclosure that is narrow enough; an undecided comparison
// counts as "no", which is the safe answer.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace sotto::exact {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

/// The value of a double, exactly. It must be finite.
Rational rational(double value);

/// Whether a <= e^epsilon b. a and b must be positive.
bool at_most_exp(const Rational& a, const Rational& b, double epsilon);

/// The largest integer n with n <= e^epsilon b (epsilon may be negative; |epsilon| <= 10^5). Beyond
/// 2^400 the result is a little smaller, never larger.
Integer floor_times_exp(const Rational& b, double epsilon);
/// The smallest integer n with n >= e^epsilon b; beyond 2^400 a little larger.
Integer ceil_times_exp(const Rational& b, double epsilon);

/// The least double that is not below ln(a / b). a and b must be positive.
double log_ratio_up(const Rational& a, const Rational& b);
/// The nearest double to ln(a / b), for log_prob: no direction.
double log_ratio(const Rational& a, const Rational& b);

/// The least double not below the product or sum of what is meant by the arguments.
double multiply_up(double a, double b);
double add_up(double a, double b);
/// The greatest double not above a / b.
double divide_down(double a, double b);
/// The greatest double not above the value.
double round_down(const Rational& value);
/// The greatest double not above the product.
double multiply_down(double a, double b);
/// At most b^count, and below it by a part in 2^52 at most. 0 <= b.
double power_down(double b, std::uint64_t count);

}  // namespace sotto::exact
