#include "base/utf8.h"

#include <cstdint>
#include <cstdio>

namespace sotto {
namespace {

/// Of a character of so many bytes.
std::uint32_t point_of(std::string_view text, std::size_t at, std::size_t bytes) {
  constexpr unsigned kLeadBits[] = {0x7F, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t point = static_cast<unsigned char>(text[at]) & kLeadBits[bytes];
  for (std::size_t i = 1; i < bytes; ++i) {
    point = point << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return point;
}

/// Controls of both sets, ends of lines of Unicode, and what changes the direction of text.
bool acts_on_terminals(std::uint32_t point) {
  return (point < 0x20 && point != '\t') || (point >= 0x7F && point < 0xA0) || point == 0x061C ||
         point == 0x200E || point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

std::string shown(std::string_view text, bool with_lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    const std::uint32_t point =
        bytes > 0 ? point_of(text, at, bytes) : static_cast<unsigned char>(text[at]);
    if (bytes > 0 && (!acts_on_terminals(point) || (with_lines && point == '\n'))) {
      out += text.substr(at, bytes);
    } else {
      char number[8];
      std::snprintf(number, sizeof number, point < 0x100 ? "\\x%02x" : "\\u%04x",
                    static_cast<unsigned>(point));
      out += number;
    }
    at += bytes > 0 ? bytes : 1;
  }
  return out;
}

}  // namespace

std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) -> unsigned {
    return at + k < text.size() ? static_cast<unsigned char>(text[at + k]) : 0U;
  };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (at >= text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  return overlong || surrogate || (lead == 0xF4 && byte(1) >= 0x90) ? 0 : length;
}

std::string for_terminal(std::string_view text) { return shown(text, true); }

std::string one_line(std::string_view text) { return shown(text, false); }

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

std::string shorten(std::string_view text, std::size_t limit) {
  if (characters(text) <= limit) return std::string(text);
  std::size_t kept = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (starts && kept++ == limit - 1) break;
    ++end;
  }
  return std::string(text.substr(0, end)) + "\xE2\x80\xA6";
}

}  // namespace sotto
