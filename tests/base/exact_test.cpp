// Outward arithmetic: never on the wrong side, and no further off than it must be.
#include "base/exact/exact.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>

namespace sotto::exact {
namespace {

using Decimal = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<300>>;

constexpr double kEpsilons[] = {1e-9, 0.01, 0.5, 1.0, 2.0, 5.0, 20.0, 44.0, 300.0, 4305.0, -3.0};

TEST(Exact, ADoubleIsItsRational) {
  for (const double value :
       {0.0, 1.0, -1.0, 0.1, 1e-300, -3.75e200, 0x1p-1074, 0x1.fffffffffffffp1023}) {
    EXPECT_EQ(rational(value).convert_to<double>(), value);
  }
  EXPECT_EQ(rational(0.375), Rational(3, 8));
  EXPECT_NE(rational(0.1), Rational(1, 10));
}

TEST(Exact, FloorAndCeilingEncloseTheProduct) {
  for (const double epsilon : kEpsilons) {
    for (const Rational& b :
         {Rational(1), Rational(1, 3), Rational(Integer(1) << 64), Rational(Integer(12345), 7)}) {
      const Integer low = floor_times_exp(b, epsilon);
      const Integer high = ceil_times_exp(b, epsilon);
      EXPECT_LT(low, high) << epsilon;
      const Decimal truth = exp(Decimal(epsilon)) * Decimal(numerator(b)) / Decimal(denominator(b));
      if (epsilon < 100) {
        EXPECT_EQ(high, low + 1) << epsilon;  // e^epsilon b is irrational
        EXPECT_LT(Decimal(low), truth);
        EXPECT_GT(Decimal(high), truth);
      }
      if (low > 0 && epsilon < 100) {
        EXPECT_TRUE(at_most_exp(Rational(low), b, epsilon));
      }
      EXPECT_FALSE(at_most_exp(Rational(high), b, epsilon));
    }
  }
  EXPECT_EQ(floor_times_exp(Rational(7, 2), 0.0), 3);
  EXPECT_EQ(ceil_times_exp(Rational(7, 2), 0.0), 4);
  EXPECT_TRUE(at_most_exp(Rational(2), Rational(2), 0.0));
}

TEST(Exact, LogRatioIsTheLeastDoubleNotBelow) {
  for (const auto& [a, b] : {std::pair<Integer, Integer>{3, 1},
                             {1, 3},
                             {(Integer(1) << 64) - 1, 1},
                             {Integer(1) << 63, (Integer(1) << 63) - 1},
                             {1'000'003, 1'000'002}}) {
    const double up = log_ratio_up(Rational(a), Rational(b));
    const Decimal truth = log(Decimal(a) / Decimal(b));
    EXPECT_GE(Decimal(up), truth);
    EXPECT_LT(Decimal(std::nextafter(up, -1e9)), truth);
    EXPECT_NEAR(log_ratio(Rational(a), Rational(b)), up, 1e-15 * std::max(1.0, std::abs(up)));
    EXPECT_TRUE(at_most_exp(Rational(a), Rational(b), up));
    EXPECT_FALSE(at_most_exp(Rational(a), Rational(b), std::nextafter(up, -1e9)));
  }
  EXPECT_EQ(log_ratio_up(Rational(5), Rational(5)), 0.0);
}

TEST(Exact, SumsAndProductsRoundOutward) {
  EXPECT_EQ(add_up(1.0, 1.0), 2.0);
  EXPECT_EQ(add_up(1.0, 0x1p-60), std::nextafter(1.0, 2.0));
  EXPECT_EQ(multiply_up(3.0, 2.0), 6.0);
  EXPECT_GT(Rational(rational(multiply_up(0.1, 0.1))), Rational(rational(0.1) * rational(0.1)));
  EXPECT_TRUE(std::isinf(add_up(1.0, INFINITY)));
  EXPECT_TRUE(std::isinf(multiply_up(0.5, INFINITY)));
  for (const double a : {1.0, 5.0, 0.3}) {
    for (const double b : {3.0, 7.0, 1e9}) {
      const double down = divide_down(a, b);
      EXPECT_LE(Rational(rational(down) * rational(b)), rational(a));
      EXPECT_GE(down, std::nextafter(a / b, 0.0) * (1 - 1e-15));
    }
  }
}

TEST(Exact, DownwardIsNeverAboveAndClose) {
  for (const double b : {0.3, 0.999999, 1.0 - 0x1p-53, 2.0 / 3.0}) {
    for (const std::uint64_t count : {1, 2, 3, 17, 60}) {
      Rational power = 1;
      for (std::uint64_t i = 0; i < count; ++i) power *= rational(b);
      const double down = power_down(b, count);
      EXPECT_LE(rational(down), power) << b << ' ' << count;
      const double up = std::nextafter(std::nextafter(down, 1.0), 1.0);
      if (down > 1e-300) {
        EXPECT_GT(rational(up), power) << b << ' ' << count;
      }
      EXPECT_LE(round_down(power), std::nextafter(down, 1.0));
      EXPECT_LE(rational(round_down(power)), power);
    }
  }
  EXPECT_EQ(power_down(1.0, 1'000'000), 1.0);
  EXPECT_EQ(power_down(0.5, 0), 1.0);
  EXPECT_EQ(power_down(0.0, 3), 0.0);
  EXPECT_EQ(power_down(0.01, std::uint64_t{1} << 40), 0.0);
  EXPECT_EQ(round_down(Rational(1, 4)), 0.25);
  const double third = round_down(Rational(1, 3));
  EXPECT_LT(rational(third), Rational(1, 3));
  EXPECT_GT(rational(std::nextafter(third, 1.0)), Rational(1, 3));
  EXPECT_LE(rational(multiply_down(0.1, 0.3)), rational(0.1) * rational(0.3));
}

}  // namespace
}  // namespace sotto::exact
