// What every piece of SVG and HTML needs: text that cannot become markup, numbers for reading.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sotto {

/// Text for element content and attribute values. Control characters and bytes that are not UTF-8
/// become U+FFFD, so that the result is well-formed whatever came in.
std::string escape(std::string_view text);

/// At most `digits` significant digits, no trailing zeros: 0.1634, 1.25e-07, "-" for not-a-number.
std::string number(double value, int digits = 4);

/// Never below `value`: at most four significant digits below 1000, whole numbers above. For
/// epsilons, which must not look better than they are.
std::string number_up(double value);

/// Never above `value`: so many decimals, or "infinite". For lower bounds, which must not look
/// stronger than they are.
std::string number_down(double value, int decimals);

/// 0.9512 -> "95.12 %", with `decimals` after the point.
std::string percent(double share, int decimals = 2);

/// A coordinate: two decimals at most, so that pictures stay small.
std::string coordinate(double value);

}  // namespace sotto
