// What a TOML text must not hold, looked at before a parser sees it.
//
// A client reads recipes that a server sends, and toml++ (3.3) has two weak places. It bounds how
// deep values may nest, but not keys: "a.a.a.(...).a = 1" makes a table for each dot, and some
// 50,000 of them exhaust the stack when they are freed. And where it expects a key or white space,
// a letter such as U+03A0 runs into code that is declared unreachable. Neither has a place in a
// recipe: keys are short, and bare keys are ASCII.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sotto/result.h"

namespace sotto {

/// Behind the string or comment that begins at `from`. An unfinished string ends with its line or
/// the text: there the parser stops too.
inline std::size_t behind_quoted(std::string_view text, std::size_t from) {
  const char quote = text[from];
  if (quote == '#') return std::min(text.find('\n', from), text.size());
  const std::string_view rest = text.substr(from);
  const std::string three(3, quote);
  const bool many_lines = rest.starts_with(three);
  std::size_t at = from + (many_lines ? 3 : 1);
  for (; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (!many_lines && (text[at] == quote || text[at] == '\n')) {
      return at + (text[at] == quote ? 1 : 0);
    } else if (many_lines && text.substr(at, 3) == three) {
      // Up to two quotes may stand before the three that end it.
      at += 3;
      for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
      return at;
    }
  }
  return text.size();
}

/// An error with place and line for a text that toml++ must not be given.
inline Result<void> check_toml(std::string_view text, const std::string& place) {
  constexpr int kMostDots = 200;
  int dots = 0;
  const auto bad = [&](std::size_t at, const std::string& what) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    return fail(ErrorKind::kUsage, place + ':' + std::to_string(line) + ": " + what);
  };
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  char before = '\n';  // the last character that is no blank
  for (std::size_t at = text.starts_with(kByteOrderMark) ? 3 : 0; at < text.size();) {
    const char c = text[at];
    const bool quote = c == '"' || c == '\'';
    // Inside of a word a quote begins no string, and the parser reads on behind it.
    if (quote && std::string_view("\n=,[{.").find(before) == std::string_view::npos) {
      return bad(at, "a quote where no text can begin");
    }
    if (quote || c == '#') {
      at = behind_quoted(text, at);
      if (quote) before = c;
      continue;
    }
    if (static_cast<unsigned char>(c) >= 0x80) {
      return bad(at, "a character that is not ASCII, outside of quotes and comments");
    }
    if (c == '.' && ++dots > kMostDots) return bad(at, "a key with more than 200 dots");
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    if (c != ' ' && c != '\t' && c != '\r') before = c;
    ++at;
  }
  return {};
}

}  // namespace sotto
