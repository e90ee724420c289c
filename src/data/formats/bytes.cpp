#include "data/formats/bytes.h"

#include <utility>

namespace sotto {

std::uint64_t load_little(const std::byte* from, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

std::uint64_t load_big(const std::byte* from, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

std::optional<std::uint64_t> product_within(std::uint64_t limit,
                                            std::span<const std::uint64_t> factors) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    // A zero anywhere makes the product zero, however large the other factors are.
    if (factor == 0) return 0;
  }
  for (const std::uint64_t factor : factors) {
    if (factor > limit / product) return std::nullopt;
    product *= factor;
  }
  return product;
}

std::optional<std::uint64_t> product_within(std::uint64_t limit,
                                            std::initializer_list<std::uint64_t> factors) {
  return product_within(limit, std::span(factors.begin(), factors.size()));
}

std::string hex32(std::uint32_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[value >> shift & 15U];
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 120;
  std::string clean;
  for (const char c : text.substr(0, kMost)) clean += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kMost) clean += "...";
  return clean;
}

std::string shape_text(std::span<const std::uint64_t> dimensions) {
  std::string text;
  for (const std::uint64_t dimension : dimensions) {
    if (!text.empty()) text += " x ";
    text += std::to_string(dimension);
  }
  return text.empty() ? "scalar" : text;
}

std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::uint8_t> as_numbers(ByteSpan bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

tl::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorKind::kCorrupt, std::move(message));
}

}  // namespace sotto
