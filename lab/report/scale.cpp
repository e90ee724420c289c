#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/markup.h"

namespace sotto {
namespace {

constexpr double kLargest = 1e300;  // differences of such numbers are still finite

/// 1, 2 or 5 times a power of ten, such that `span` takes about `count` steps.
double round_step(double span, int count) {
  const double rough = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  return power * (lead <= 1.0 ? 1.0 : lead <= 2.0 ? 2.0 : lead <= 5.0 ? 5.0 : 10.0);
}

void widen(double& low, double& high) {
  low = std::clamp(low, -kLargest, kLargest);
  high = std::clamp(high, -kLargest, kLargest);
  // A span below a millionth of the values would label every tick alike.
  const double least = std::max(1e-12, 1e-6 * std::max(std::abs(low), std::abs(high)));
  if (high - low >= least) return;
  const double air = std::max(std::abs(high) * 0.05, 1e-9);
  low -= air;
  high += air;
}

void put_ticks(Axis& axis) {
  const double first = std::ceil(axis.low / axis.step - 1e-9);
  const double last = std::floor(axis.high / axis.step + 1e-9);
  const int count = static_cast<int>(std::clamp(last - first + 1.0, 0.0, 100.0));
  for (int i = 0; i < count; ++i) {
    axis.ticks.push_back((first + i) * axis.step + 0.0);  // no negative zero
  }
}

/// "100", "10k", "1M", "10\u2079": short, since decades reach far.
std::string log_label(double tick) {
  constexpr const char* kRaised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                     "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  const double power = std::round(std::log10(tick));
  if (power >= 9.0 && power <= 99.0 && std::abs(tick / std::pow(10.0, power) - 1.0) < 1e-9) {
    const auto digits = static_cast<std::size_t>(power);
    return std::string("10") + (digits >= 10 ? kRaised[digits / 10] : "") + kRaised[digits % 10];
  }
  if (tick >= 1e4 && tick < 1e6) return number(tick / 1e3) + "k";
  if (tick >= 1e6 && tick < 1e9) return number(tick / 1e6) + "M";
  return number(tick);
}

}  // namespace

std::string Axis::label(double tick, bool as_percent) const {
  const double unit = as_percent ? 100.0 : 1.0;
  if (logarithmic) return as_percent ? percent(tick, 0) : log_label(tick);
  const int decimals =
      std::clamp(static_cast<int>(-std::floor(std::log10(step * unit) + 1e-9)), 0, 12);
  if (as_percent) return percent(tick, decimals);
  const double size = std::max(std::abs(low), std::abs(high));
  if (size >= 1e6 || decimals > 5) return number(tick);
  const std::string text = fmt::format("{:.{}f}", tick, decimals);
  return std::stod(text) == 0.0 ? fmt::format("{:.{}f}", 0.0, decimals) : text;
}

Axis exact_axis(double low, double high, int count, bool whole_numbers) {
  if (whole_numbers && low == high) {
    low -= 1.0;
    high += 1.0;
  }
  widen(low, high);
  Axis axis{low, high, round_step(high - low, count), {}};
  if (whole_numbers) axis.step = std::max(1.0, axis.step);
  put_ticks(axis);
  return axis;
}

Axis fitted_axis(double low, double high, int count, bool share) {
  const bool never_negative = low >= 0.0;
  if (share && low == high) {  // a constant share: a window of ten per cent around it
    low = std::max(0.0, low - 0.05);
    high = std::min(1.0, low + 0.1);
    low = std::max(0.0, high - 0.1);
  }
  if (never_negative && low < 0.4 * high) low = 0.0;
  widen(low, high);
  const double step = round_step(high - low, count);
  low = std::floor(low / step + 1e-9) * step;
  high = std::ceil(high / step - 1e-9) * step;
  if (never_negative) low = std::max(low, 0.0);
  if (share && high > 1.0) high = 1.0;
  Axis axis{low, high, step, {}};
  put_ticks(axis);
  return axis;
}

Axis log_axis(double low, double high, int count, bool fitted) {
  constexpr double kFarthest = 1e200;  // powers of ten some way beyond are still finite
  constexpr double kClose = 1e-9;      // what misses a round number by rounding counts as it
  low = std::clamp(low, 1.0 / kFarthest, kFarthest);
  high = std::clamp(high, low, kFarthest);
  if (high < 1.001 * low) {
    low /= 2.0;
    high *= 2.0;
  }
  const double first = std::floor(std::log10(low) + kClose);
  const double last = std::ceil(std::log10(high) - kClose);
  const double step = std::max(1.0, std::ceil((last - first) / count));
  const bool between = 3.0 * (last - first) <= count;
  std::vector<double> marks;  // round numbers, the first not above `low`, the last not below `high`
  const int powers = static_cast<int>(std::ceil((last - first) / step));
  for (int i = 0; i <= powers; ++i) {
    const double power = std::pow(10.0, first + i * step);
    marks.push_back(power);
    if (between && i < powers) marks.insert(marks.end(), {2.0 * power, 5.0 * power});
  }
  if (fitted) {
    const auto above = std::upper_bound(marks.begin(), marks.end(), low * (1.0 + kClose));
    low = *std::prev(above);
    high = *std::lower_bound(marks.begin(), marks.end(), high * (1.0 - kClose));
  }
  Axis axis{low, high, step, {}, true};
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(axis.ticks), [&](double mark) {
    return mark >= low * (1.0 - kClose) && mark <= high * (1.0 + kClose);
  });
  return axis;
}

}  // namespace sotto
