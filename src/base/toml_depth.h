// How deep the keys of a TOML text go, before a parser sees it.
//
// toml++ bounds how deep values may nest, but not keys: "a.a.a.(...).a = 1" makes a table for each
// dot, and some 50,000 of them exhaust the stack when they are freed. A client reads recipes that a
// server sends, so such a text has to be refused and not parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace sotto {

/// True for every text with a key of more than `most` dots. A key stands on one line. Before the
/// first quote of a line its separators can be trusted; behind it they may be inside a string, so
/// all dots of the rest count as if they were of one key.
constexpr bool has_deep_key(std::string_view text, std::size_t most = 200) {
  std::size_t dots = 0;
  bool quoted = false;
  for (const char c : text) {
    switch (c) {
      case '.':
        if (++dots > most) return true;
        break;
      case '\n':
        quoted = false;
        dots = 0;
        break;
      case '"':
      case '\'':
        quoted = true;
        break;
      case '=':
      case ',':
      case '[':
      case ']':
      case '{':
      case '}':
        if (!quoted) dots = 0;
        break;
      default:
        break;
    }
  }
  return false;
}

}  // namespace sotto
