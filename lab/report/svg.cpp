#include "report/svg.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "report/markup.h"

namespace sotto {
namespace {

/// `@` stands for the picture's class.
constexpr std::string_view kStyle =
    "@{--ink:#1b2733;--soft:#5b6b7b;--line:#e3e8ee;--axis:#9aa7b4;--paper:#ffffff;--void:#d7dde4;"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    "font-size:12px}"
    "@ .paper{fill:var(--paper)}"
    "@ text{fill:var(--soft);font-variant-numeric:tabular-nums}"
    "@ .title{fill:var(--ink);font-size:15px;font-weight:600}"
    "@ .name{fill:var(--ink)}"
    "@ .grid{stroke:var(--line);stroke-width:1}"
    "@ .axis{stroke:var(--axis);stroke-width:1}"
    "@ .path{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;"
    "stroke-linecap:round}"
    "@ .mark{fill:currentColor;stroke:var(--paper);stroke-width:1.5}"
    "@ .error{fill:none;stroke:currentColor;stroke-width:1.3}"
    "@ .spread{fill:none;stroke:var(--ink);stroke-width:1.3}"
    "@ .fill{fill:currentColor;fill-opacity:.82}"
    "@ .outline{fill:var(--paper);stroke:currentColor;stroke-width:2}"
    "@ .span{fill:none;stroke:currentColor;stroke-width:3;stroke-linecap:round}"
    "@ .label{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3.5px;"
    "stroke-linejoin:round}"
    "@ .limit{stroke:var(--axis);stroke-width:1.5;stroke-dasharray:5 4}"
    "@ .beyond{font-style:italic}"
    "@ .leader{stroke:var(--axis);stroke-width:1}"
    "@ .hit{fill:transparent}"
    "@ .hit:hover{fill:currentColor}"
    "@ .cell,@ .bar{shape-rendering:crispEdges}"
    "@ .cell:hover{stroke:var(--ink);stroke-width:1.5}"
    "@ .void{fill:var(--void)}"
    "@ .small{font-size:10px}"
    "@ .tiny{font-size:8px}";

constexpr std::string_view kDark =
    "@{--ink:#e8eef4;--soft:#a3b1bf;--line:#2a3541;--axis:#5b6a79;--paper:#161d25;--void:#33404d}";

std::string scoped(std::string_view style, std::string_view selector) {
  std::string out;
  for (const char c : style) {
    if (c == '@') {
      out += selector;
    } else {
      out += c;
    }
  }
  return out;
}

std::string palette(bool dark) {
  std::string out;
  for (std::size_t i = 0; i < kPalette.size(); ++i) {
    out += fmt::format("@ .s{}{{color:{}}}", i, dark ? kPalette[i].dark : kPalette[i].light);
  }
  return out;
}

}  // namespace

std::string svg_text(double x, double y, std::string_view attributes, std::string_view content) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", coordinate(x), coordinate(y),
                     attributes.empty() ? "" : " ", attributes, escape(content));
}

std::string svg_frame(double width, double height, std::string_view title,
                      const std::string& body) {
  const std::string name = "sotto-" + sha256_hex(std::string(title) + '\n' + body).substr(0, 10);
  const std::string selector = "." + name;
  const std::string light = std::string(kStyle) + palette(false);
  const std::string dark = std::string(kDark) + palette(true);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{0}\" viewBox=\"0 0 {1} {2}\" "
      "width=\"{1}\" height=\"{2}\" role=\"img\" aria-label=\"{3}\">\n"
      "<style>{4}@media screen and (prefers-color-scheme:dark){{{5}}}</style>\n"
      "<rect class=\"paper\" width=\"{1}\" height=\"{2}\"/>\n{6}</svg>\n",
      name, coordinate(width), coordinate(height), escape(title), scoped(light, selector),
      scoped(dark, selector), body);
}

}  // namespace sotto
