#include "report/markup.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/text.h"

namespace sotto {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The length of the UTF-8 sequence at the start of `text`, or 0 where there is none. Overlong
/// forms, surrogates and values beyond U+10FFFF are not UTF-8.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  const bool invalid = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return invalid ? 0 : length;
}

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0 || (length == 1 && is_control(text.front()))) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    switch (text.front()) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string number(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  return fmt::format("{:.{}g}", value == 0.0 ? 0.0 : value, digits);  // no "-0"
}

std::string number_up(double value) {
  if (!std::isfinite(value)) return number(value);
  if (value > 1e15) return number(value * 1.001);  // more than half a unit of the fourth digit
  if (value >= 1000.0) return with_commas(static_cast<std::uint64_t>(std::ceil(value)));
  if (value <= 0.0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3.0);
  // A value that is already short, such as 0.1, may lie a rounding error above its decimal form.
  const double steps = value / unit;
  const double nearest_step = std::round(steps);
  const bool is_short = std::abs(steps - nearest_step) < 1e-9 * steps;
  return number((is_short ? nearest_step : std::ceil(steps)) * unit);
}

std::string number_down(double value, int decimals) {
  if (!std::isfinite(value)) return "infinite";
  const double scale = std::pow(10.0, decimals);
  return fmt::format("{:.{}f}", std::floor(value * scale) / scale, decimals);
}

std::string percent(double share, int decimals) {
  return fmt::format("{:.{}f}\xC2\xA0%", 100.0 * share, decimals);
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace sotto
