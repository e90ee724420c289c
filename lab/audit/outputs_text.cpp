#include "audit/outputs_text.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace sotto {

Result<Outputs> parse_outputs(std::string_view text, std::size_t rows) {
  Outputs outputs;
  std::size_t line = 0;
  for (std::size_t first = 0; first < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', first), text.size());
    const char* at = text.data() + first;
    const char* const stop = text.data() + end;
    const std::size_t before = outputs.values.size();
    const auto divides = [](char c) { return c == ' ' || c == ',' || c == '\t' || c == '\r'; };
    for (;;) {
      while (at < stop && divides(*at)) ++at;
      if (at == stop) break;
      if (*at == '+') ++at;
      double value = 0.0;
      const auto [next, code] = std::from_chars(at, stop, value);
      if (code != std::errc{} || (next < stop && !divides(*next))) {
        const std::string_view shown(
            at, std::min<std::size_t>(40, static_cast<std::size_t>(stop - at)));
        return fail(ErrorKind::kCorrupt, "line " + std::to_string(line + 1) +
                                             " of the program's output: '" + std::string(shown) +
                                             "' is not a number");
      }
      outputs.values.push_back(value);
      at = next;
    }
    const std::size_t width = outputs.values.size() - before;
    if (line == 0) outputs.width = width;
    if (width == 0 || width != outputs.width) {
      return fail(
          ErrorKind::kCorrupt,
          "line " + std::to_string(line + 1) + " of the program's output has " +
              std::to_string(width) + " numbers; valid: " +
              (width == 0 ? "one or more" : std::to_string(outputs.width) + ", like the first"));
    }
    first = end + 1;
  }
  if (line != rows) {
    return fail(ErrorKind::kCorrupt, "the program printed " + with_commas(line) + " outputs for " +
                                         with_commas(rows) + " inputs; valid: one line for each");
  }
  return outputs;
}

}  // namespace sotto
