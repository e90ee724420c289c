#include "base/utf8.h"

namespace sotto {

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
