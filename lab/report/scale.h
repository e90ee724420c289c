// From data to pixels: ranges that hold the data with some air, ticks at round numbers.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace sotto {

struct Axis {
  double low = 0.0;
  double high = 1.0;
  double step = 0.2;          // between ticks
  std::vector<double> ticks;  // inside [low, high]
  bool logarithmic = false;
  /// Where `value` lies between two pixel positions.
  double place(double value, double from, double to) const {
    if (logarithmic) {
      const double start = std::log(low);
      return from + (std::log(value) - start) / (std::log(high) - start) * (to - from);
    }
    return from + (value - low) / (high - low) * (to - from);
  }
  /// "97.5 %" or "0.05": as many decimals as the step needs.
  std::string label(double tick, bool as_percent) const;
};

/// An axis over exactly [low, high], with about `count` round ticks. low < high is made true where
/// it is not.
Axis exact_axis(double low, double high, int count, bool whole_numbers);

/// An axis that ends on round numbers around the data. Data that never leave zero's neighbourhood
/// start at zero; shares stay within [0, 1].
Axis fitted_axis(double low, double high, int count, bool share);

/// An axis of decades over [low, high], both positive; `fitted`: that ends on ticks. Ticks are
/// powers of ten, about `count` of them, with 2 and 5 in between where decades are few.
Axis log_axis(double low, double high, int count, bool fitted);

}  // namespace sotto
