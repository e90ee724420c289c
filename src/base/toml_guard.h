// What a TOML text must not hold, looked at before a parser sees it.
//
// A client reads recipes that a server sends, and toml++ (3.3) has two weak places. It bounds how
// deep values may nest, but not keys: "a.a.a.(...).a = 1" makes a table for each dot, and some
// 50,000 of them exhaust the stack when they are freed. And where it expects a key or the end of a
// word, a letter such as U+03A0 runs into code that is declared unreachable. So letters that are
// not ASCII may stand where nobody can doubt that they are text: in a comment, or in a line key =
// "text".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sotto/result.h"

namespace sotto {

inline bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Whether letters that are not ASCII stand in this line only where they are text for certain.
inline bool is_safe_line(std::string_view line) {
  const std::string_view code = line.substr(0, line.find('#'));
  if (is_ascii(code) && code.find_first_of("\"'") == std::string_view::npos) return true;
  // A key, blanks, "=", a text without quotes and escapes, perhaps a comment.
  const std::size_t equals = line.find(" = ");
  if (equals == std::string_view::npos) return false;
  const std::string_view key = line.substr(0, equals);
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || c == ' ';
  });
  const std::size_t open = line.find_first_not_of(' ', equals + 3);
  if (!plain || open == std::string_view::npos || (line[open] != '"' && line[open] != '\'')) {
    return false;
  }
  const std::size_t close = line.find_first_of("\"'\\", open + 1);
  if (close == std::string_view::npos || line[close] != line[open]) return false;
  const std::size_t next = line.find_first_not_of(" \t\r", close + 1);
  return next == std::string_view::npos || line[next] == '#';
}

/// An error with place and line for a text that toml++ must not be given.
inline Result<void> check_toml(std::string_view text, const std::string& place) {
  constexpr int kMostDots = 200;
  const bool many_lines =
      text.find("\"\"\"") != std::string_view::npos || text.find("'''") != std::string_view::npos;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto bad = [&](const char* what) {
      return fail(ErrorKind::kUsage, place + ':' + std::to_string(number) + ": " + what);
    };
    if (!is_ascii(line) && (many_lines || !is_safe_line(line))) {
      return bad("letters that are not ASCII belong in comments, and in lines like key = \"text\"");
    }
    // A key stands on one line. Behind the first quote separators may be inside a text, so all dots
    // count as if they were of one key.
    const std::size_t quote = line.find_first_of("\"'");
    int dots = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '.' && ++dots > kMostDots) return bad("a key with more than 200 dots");
      if (at < quote && std::string_view("=,[]{}").find(line[at]) != std::string_view::npos) {
        dots = 0;
      }
    }
  }
  return {};
}

}  // namespace sotto
