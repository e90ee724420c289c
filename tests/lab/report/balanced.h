// A small reader of tags: says whether every element that opens also closes, in order.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

/// Empty when `page` is balanced, otherwise what is wrong. Quotes inside tags are honoured, and the
/// content of <style> is passed over.
inline std::string unbalanced(std::string_view page) {
  static const std::set<std::string> kVoid = {"meta", "!doctype", "br", "hr", "img", "link"};
  std::vector<std::string> open;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] != '<') continue;
    std::size_t end = i + 1;
    char quote = 0;
    for (; end < page.size() && (quote != 0 || page[end] != '>'); ++end) {
      if (quote == 0 && page[end] == '<') return "'<' inside a tag at " + std::to_string(end);
      if (page[end] == quote) {
        quote = 0;
      } else if (quote == 0 && page[end] == '"') {
        quote = '"';
      }
    }
    if (end == page.size()) return "a tag does not end";
    std::string_view tag = page.substr(i + 1, end - i - 1);
    const bool closes = tag.starts_with('/');
    const bool empty = tag.ends_with('/');
    if (closes) tag.remove_prefix(1);
    std::string name;
    for (const char c : tag) {
      if (std::isspace(static_cast<unsigned char>(c)) || c == '/') break;
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else if (!empty && !kVoid.contains(name)) {
      open.push_back(name);
      if (name == "style") {
        end = page.find("</style>", end);
        if (end == std::string_view::npos) return "<style> does not end";
        --end;
      }
    }
    i = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace sotto
