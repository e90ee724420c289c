#include "base/text.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace sotto {
namespace {

std::string one_decimal(double value, const char* unit) {
  std::array<char, 400> text;  // a double has at most 309 digits before the point
  const int length = std::snprintf(text.data(), text.size(), "%.1f %s", value, unit);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view what) {
  return with_commas(count) + ' ' + std::string(what) + (count == 1 ? "" : "s");
}

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string duration(double seconds) {
  if (seconds < 9.95) return one_decimal(seconds, "s");
  constexpr double kLongest = 1e15;  // beyond it a double's seconds mean nothing anyway
  const auto whole = static_cast<std::uint64_t>(seconds < kLongest ? seconds + 0.5 : kLongest);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string byte_size(std::uint64_t bytes) {
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  return one_decimal(value, kUnits[unit]);
}

std::string hex_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

}  // namespace sotto
