// The heat map: one square a value on a scale from dark blue to yellow, which stays a scale without
// colour vision and in grey print. Labels and values appear where there is room for them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/chart.h"
#include "report/markup.h"
#include "report/scale.h"
#include "report/svg.h"

namespace sotto {
namespace {

struct Colour {
  double red;
  double green;
  double blue;
};

// Even steps of lightness from dark blue to pale yellow; between them colours are mixed.
constexpr std::array<Colour, 6> kScale = {
    {{15, 32, 86}, {44, 78, 122}, {83, 119, 133}, {135, 155, 124}, {196, 188, 98}, {253, 228, 92}}};

constexpr double kMargin = 16.0;
constexpr double kCharacter = 6.2;
constexpr std::size_t kLongestLabel = 24;

Colour colour_at(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(kScale.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  const double part = at - static_cast<double>(low);
  const auto mix = [&](double Colour::*channel) {
    return kScale[low].*channel + part * (kScale[low + 1].*channel - kScale[low].*channel);
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

std::string hex(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(colour.red), std::lround(colour.green),
                     std::lround(colour.blue));
}

bool is_bright(const Colour& colour) {
  return 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue > 128.0;
}

struct Shades {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  Colour of(double value) const {
    return colour_at(high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5);
  }
};

struct Grid {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;  // of one cell
  double height = 0.0;
};

/// How many rows or columns share one label, so that labels keep `room` pixels each.
std::size_t label_stride(double cell, double room) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(room / cell)));
}

std::size_t longest(const std::vector<std::string>& labels) {
  std::size_t most = 0;
  for (const std::string& label : labels) most = std::max(most, characters(label));
  return std::min(most, kLongestLabel);
}

std::string draw_cells(const HeatMap& map, const Grid& grid, const Shades& shades) {
  std::string out;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const std::size_t i = r * map.columns.size() + c;
      const double value =
          i < map.values.size() ? map.values[i] : std::numeric_limits<double>::quiet_NaN();
      const bool known = std::isfinite(value);
      const Colour colour = known ? shades.of(value) : Colour{};
      const double x = grid.left + static_cast<double>(c) * grid.width;
      const double y = grid.top + static_cast<double>(r) * grid.height;
      const double seam = grid.width > 14.0 ? 1.0 : 0.0;  // paper between large cells
      out += fmt::format("<rect class=\"cell{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}>",
                         known ? "" : " void", coordinate(x), coordinate(y),
                         coordinate(grid.width - seam), coordinate(grid.height - seam),
                         known ? fmt::format(" fill=\"{}\"", hex(colour)) : "");
      out += fmt::format("<title>{}, {}: {}</title></rect>\n", escape(map.rows[r]),
                         escape(map.columns[c]), known ? number(value) : "no value");
      const std::string text = number(value, 3);
      const double needed = 6.0 + 5.6 * static_cast<double>(text.size());
      if (known && needed <= grid.width && grid.height >= 14.0) {
        const std::string style = fmt::format(
            "class=\"small\" text-anchor=\"middle\" pointer-events=\"none\" style=\"fill:{}\"",
            is_bright(colour) ? "#10202e" : "#ffffff");
        out += svg_text(x + grid.width / 2.0, y + grid.height / 2.0 + 3.5, style, text);
      }
    }
  }
  return out;
}

std::string draw_labels(const HeatMap& map, const Grid& grid, bool upright) {
  std::string out;
  const std::string_view size = grid.height < 12.0 ? "tiny" : "small";
  const double room = grid.height < 12.0 ? 9.0 : 12.0;
  const std::size_t row_stride = label_stride(grid.height, room);
  for (std::size_t r = 0; r < map.rows.size(); r += row_stride) {
    const double y = grid.top + (static_cast<double>(r) + 0.5) * grid.height + 3.5;
    out += svg_text(grid.left - 7.0, y, fmt::format("class=\"{}\" text-anchor=\"end\"", size),
                    shorten(map.rows[r], kLongestLabel));
  }
  const std::size_t column_stride = label_stride(grid.width, room);
  const double y = grid.top - 7.0;
  for (std::size_t c = 0; c < map.columns.size(); c += column_stride) {
    const double x = grid.left + (static_cast<double>(c) + 0.5) * grid.width;
    const std::string turn = upright ? fmt::format("class=\"{}\" transform=\"rotate(-90 {} {})\"",
                                                   size, coordinate(x + 3.5), coordinate(y))
                                     : fmt::format("class=\"{}\" text-anchor=\"middle\"", size);
    out += svg_text(upright ? x + 3.5 : x, y, turn, shorten(map.columns[c], kLongestLabel));
  }
  return out;
}

/// The bar that says which colour is which value.
std::string draw_scale(const Shades& shades, double x, double top, double height) {
  constexpr int kSteps = 48;
  constexpr double kBar = 12.0;
  std::string out;
  for (int i = 0; i < kSteps; ++i) {
    const double y = top + height * i / kSteps;
    const double share = 1.0 - (i + 0.5) / kSteps;
    out += fmt::format(
        "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
        coordinate(x), coordinate(y), coordinate(kBar), coordinate(height / kSteps + 0.5),
        hex(colour_at(share)));
  }
  const Axis axis = exact_axis(shades.low, shades.high, 6, false);
  for (const double tick : axis.ticks) {
    out += svg_text(x + kBar + 6.0, axis.place(tick, top + height, top) + 3.5, "class=\"small\"",
                    axis.label(tick, false));
  }
  return out + '\n';
}

}  // namespace

std::string to_svg(const HeatMap& map) {
  Shades shades;
  for (const double value : map.values) {
    if (!std::isfinite(value)) continue;
    shades.low = std::min(shades.low, value);
    shades.high = std::max(shades.high, value);
  }
  const bool empty = map.rows.empty() || map.columns.empty() || shades.low > shades.high;
  double y = 28.0;
  std::string body = svg_text(kMargin, y, "class=\"title\"", map.title);
  if (empty) {
    body += svg_text(kMargin, y + 40.0, "", "no values yet");
    return svg_frame(400.0, 100.0, map.title, body);
  }

  const auto columns = static_cast<double>(map.columns.size());
  const auto rows = static_cast<double>(map.rows.size());
  Grid grid;
  grid.width = grid.height = std::clamp(640.0 / std::max(columns, rows), 7.0, 46.0);
  const double row_room = kCharacter * static_cast<double>(longest(map.rows));
  const double column_room = kCharacter * static_cast<double>(longest(map.columns));
  const bool upright = column_room > grid.width;
  body += svg_text(kMargin, y + 22.0, "",
                   fmt::format("rows: {}, columns: {}", map.row_label, map.column_label));
  y += 22.0;
  grid.left = kMargin + row_room + 10.0;
  grid.top = y + 18.0 + (upright ? column_room : 12.0);
  body += draw_labels(map, grid, upright);
  body += draw_cells(map, grid, shades);
  const double bar = std::max(rows * grid.height, 120.0);
  const double bar_left = grid.left + columns * grid.width + 22.0;
  body += draw_scale(shades, bar_left, grid.top, bar);
  const double title_width = 2.0 * kMargin + 8.6 * static_cast<double>(characters(map.title));
  return svg_frame(std::max(bar_left + 70.0, title_width), grid.top + bar + kMargin, map.title,
                   body);
}

}  // namespace sotto
