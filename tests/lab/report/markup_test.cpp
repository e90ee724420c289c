// Text that cannot become markup, and numbers that do not flatter.
#include "report/markup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text.h"
#include "report/scale.h"

namespace sotto {
namespace {

TEST(Escape, LeavesNoMarkup) {
  EXPECT_EQ(escape("<script>alert('x')&\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;)&amp;&quot;&lt;/script&gt;");
}

TEST(Escape, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(escape("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escape(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(escape("\x1B[31m"), bad + "[31m");
  EXPECT_EQ(escape("\xC0\xBC"), bad + bad);                      // an overlong '<'
  EXPECT_EQ(escape("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond U+10FFFF
  EXPECT_EQ(escape("\xE2\x82"), bad + bad);                      // cut off
  EXPECT_EQ(escape("\xE2<b>"), bad + "&lt;b&gt;");               // a sequence cannot swallow '<'
}

TEST(Shorten, CountsCharactersNotBytes) {
  EXPECT_EQ(shorten("abc", 3), "abc");
  EXPECT_EQ(shorten("abcd", 3), "ab\xE2\x80\xA6");
  EXPECT_EQ(shorten("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 3), "\xC3\xA9\xC3\xA9\xE2\x80\xA6");
}

TEST(NumberUp, IsNeverBelowTheValue) {
  EXPECT_EQ(number_up(7.82), "7.82");
  EXPECT_EQ(number_up(7.8201), "7.821");
  EXPECT_EQ(number_up(0.1), "0.1");
  EXPECT_EQ(number_up(1e-5), "1e-05");
  EXPECT_EQ(number_up(1.00001e-5), "1.001e-05");
  EXPECT_EQ(number_up(999.91), "1000");
  EXPECT_EQ(number_up(163919.2), "163,920");
  EXPECT_EQ(number_up(0.0), "0");
  EXPECT_EQ(number_up(std::numeric_limits<double>::infinity()), "infinite");
  for (double value = 1.234e-9; value < 1e3; value *= 1.37) {
    EXPECT_GE(std::stod(number_up(value)), value * (1 - 1e-12)) << value;
    EXPECT_LE(std::stod(number_up(value)), value * 1.0011) << value;
  }
  EXPECT_GE(std::stod(number_up(1.23449e18)), 1.23449e18);
}

TEST(Text, IsForReading) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(duration(0.04), "0.0 s");
  EXPECT_EQ(duration(9.96), "10 s");
  EXPECT_EQ(duration(83.2), "1 min 23 s");
  EXPECT_EQ(duration(7325.0), "2 h 2 min");
  EXPECT_FALSE(duration(1e300).empty());
  EXPECT_EQ(byte_size(999), "999 B");
  EXPECT_EQ(byte_size(12345678), "12.3 MB");
  EXPECT_EQ(byte_size(999'960), "1.0 MB");
  EXPECT_EQ(coordinate(12.50), "12.5");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(number(-0.0), "0");
  EXPECT_EQ(percent(0.9512), "95.12\xC2\xA0%");
}

TEST(Axis, TicksAreRoundAndInside) {
  for (const auto& [low, high] : {std::pair{0.0, 1.0},
                                  {-3.7, 12.1},
                                  {1e-9, 2e-9},
                                  {5.0, 5.0},
                                  {0.0, 0.0},
                                  {-1e308, 1e308},
                                  {1e15, 1e15 + 1}}) {
    for (const Axis& axis : {fitted_axis(low, high, 6, false), exact_axis(low, high, 6, false)}) {
      ASSERT_LT(axis.low, axis.high) << low << ' ' << high;
      EXPECT_GE(axis.ticks.size(), 2U) << low << ' ' << high;
      EXPECT_LE(axis.ticks.size(), 14U) << low << ' ' << high;
      for (const double tick : axis.ticks) {
        EXPECT_GE(tick, axis.low - 1e-6 * axis.step);
        EXPECT_LE(tick, axis.high + 1e-6 * axis.step);
      }
    }
  }
}

TEST(Axis, SharesStayWithinZeroAndOne) {
  for (const double value : {0.0, 0.5, 0.97, 1.0}) {
    const Axis axis = fitted_axis(value, value, 6, true);
    EXPECT_GE(axis.low, 0.0);
    EXPECT_LE(axis.high, 1.0);
    EXPECT_LE(axis.low, value);
    EXPECT_GE(axis.high, value);
  }
  EXPECT_LE(fitted_axis(0.9999999, 1.0, 6, true).high, 1.0);  // almost constant: air is added
  const Axis axis = fitted_axis(0.92, 0.98, 6, true);
  EXPECT_EQ(axis.label(0.95, true), "95\xC2\xA0%");
  EXPECT_EQ(fitted_axis(0.1, 0.9, 6, true).label(0.0, true), "0\xC2\xA0%");
}

TEST(Axis, RoundsAreWholeNumbers) {
  for (const double tick : exact_axis(1, 3, 9, true).ticks) EXPECT_EQ(tick, std::floor(tick));
}

}  // namespace
}  // namespace sotto
