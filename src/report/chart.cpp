// The line chart. Few points get markers of a shape of their own for each series (colour is never
// the only cue); many points get marks that show under the pointer only.
#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/markup.h"
#include "report/scale.h"
#include "report/svg.h"

namespace sotto {
namespace {

using Point = std::pair<double, double>;

constexpr double kWidth = 600.0;
constexpr double kPlotHeight = 250.0;
constexpr double kRight = kWidth - 22.0;
constexpr double kCharacter = 6.7;        // the mean width of one at 12 pixels
constexpr double kMarkerRoom = 11.0;      // pixels between markers; closer ones are not drawn
constexpr std::size_t kManyPoints = 600;  // beyond: a line alone, two points for each pixel column
constexpr std::size_t kLongestName = 40;

/// What has a place in the picture; on an axis of decades only positive numbers have.
std::vector<Point> placeable(const LineChart& chart, std::vector<Point> points) {
  for (auto& [x, y] : points) {
    if ((chart.x_log && !(x > 0.0)) || (chart.y_log && !(y > 0.0))) {
      y = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return points;
}

bool usable(const Point& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

struct Plot {
  Axis x;
  Axis y;
  double left = 0.0;
  double top = 0.0;
  double bottom() const { return top + kPlotHeight; }
  Point place(const Point& point) const {
    return {x.place(point.first, left, kRight), y.place(point.second, bottom(), top)};
  }
};

/// The lowest and the highest point of every pixel column, in their order; gaps stay.
std::vector<Point> thinned(const std::vector<Point>& points, const Plot& plot) {
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size();) {
    if (!usable(points[i])) {
      kept.push_back(points[i++]);
      continue;
    }
    const double column = std::floor(plot.place(points[i]).first);
    std::size_t low = i;
    std::size_t high = i;
    std::size_t end = i;
    for (; end < points.size() && usable(points[end]); ++end) {
      if (std::floor(plot.place(points[end]).first) != column) break;
      if (points[end].second < points[low].second) low = end;
      if (points[end].second > points[high].second) high = end;
    }
    kept.push_back(points[std::min(low, high)]);
    if (low != high) kept.push_back(points[std::max(low, high)]);
    i = end;
  }
  return kept;
}

/// The mean distance of neighbouring points along x, in pixels.
double marker_spacing(const std::vector<Point>& points, const Plot& plot) {
  Extent extent;
  double count = 0.0;
  for (const Point& point : points) {
    if (!usable(point)) continue;
    extent.add(plot.place(point).first);
    ++count;
  }
  return count > 1.0 ? (extent.high - extent.low) / (count - 1.0) : kWidth;
}

std::string path_data(const std::vector<Point>& points, const Plot& plot) {
  std::string data;
  bool drawing = false;
  for (const Point& point : points) {
    if (!usable(point)) {
      drawing = false;
      continue;
    }
    const auto [x, y] = plot.place(point);
    data += fmt::format("{}{} {}", drawing ? 'L' : 'M', coordinate(x), coordinate(y));
    drawing = true;
  }
  return data;
}

/// A marker around (x, y): circle, square, diamond or triangle.
std::string marker(std::size_t series, double x, double y, std::string_view css,
                   const std::string& hover) {
  const std::string title = hover.empty() ? std::string() : "<title>" + escape(hover) + "</title>";
  std::string shape;
  if (series % 4 == 0) {
    return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4.2\">{}</circle>\n", css,
                       coordinate(x), coordinate(y), title);
  }
  if (series % 4 == 1) shape = "m-3.8 -3.8h7.6v7.6h-7.6z";
  if (series % 4 == 2) shape = "m0 -5.2l5.2 5.2l-5.2 5.2l-5.2 -5.2z";
  if (series % 4 == 3) shape = "m0 -5l4.9 8.6h-9.8z";
  return fmt::format("<path class=\"{}\" d=\"M{} {}{}\">{}</path>\n", css, coordinate(x),
                     coordinate(y), shape, title);
}

std::string dash(std::size_t series) {
  constexpr std::array kDashes = {"", " stroke-dasharray=\"7 5\"", " stroke-dasharray=\"2 5\""};
  return kDashes[series / kPalette.size() % kDashes.size()];
}

struct Legend {
  std::string markup;
  double height = 0.0;
};

Legend legend(const std::vector<Series>& series, double left, double top) {
  if (series.size() < 2) return {};
  Legend out;
  double x = left;
  double y = top;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string name = shorten(series[i].name, kLongestName);
    const double width = 34.0 + kCharacter * static_cast<double>(characters(name)) + 16.0;
    if (x > left && x + width > kRight + 16.0) {
      x = left;
      y += 20.0;
    }
    out.markup += fmt::format("<g class=\"s{}\"><path class=\"path\"{} d=\"M{} {}h24\"/>",
                              i % kPalette.size(), dash(i), coordinate(x), coordinate(y - 4));
    out.markup += marker(i, x + 12.0, y - 4.0, "mark", "");
    out.markup += svg_text(x + 31.0, y, "class=\"name\"", name) + "</g>\n";
    x += width;
  }
  out.height = y - top + 20.0;
  return out;
}

std::string value_label(const LineChart& chart, double y) {
  return chart.y_percent ? percent(y) : number(y, 5);
}

std::string draw_series(const LineChart& chart, std::size_t index, const Plot& plot) {
  const std::vector<Point> all = placeable(chart, chart.series[index].points);
  const auto count = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), usable));
  const bool thin = count > kManyPoints;
  const std::vector<Point> points = thin ? thinned(all, plot) : all;
  const bool roomy = marker_spacing(all, plot) >= kMarkerRoom;
  std::string out = fmt::format("<g class=\"s{}\">\n", index % kPalette.size());
  // A nested svg clips at the plot's edge without needing an id.
  const double width = kRight - plot.left;
  out += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">"
      "<path class=\"path\"{4} d=\"{5}\"/></svg>\n",
      coordinate(plot.left - 2), coordinate(plot.top - 2), coordinate(width + 4),
      coordinate(kPlotHeight + 4), dash(index), path_data(points, plot));
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!usable(points[i])) continue;
    const auto [x, y] = plot.place(points[i]);
    if (y < plot.top - 0.5 || y > plot.bottom() + 0.5) continue;
    const bool alone =
        (i == 0 || !usable(points[i - 1])) && (i + 1 == points.size() || !usable(points[i + 1]));
    if (thin && !alone) continue;
    std::string hover = chart.series[index].name;
    if (!hover.empty()) hover += ": ";
    hover += fmt::format("{} {}, {}", chart.x_label, number(points[i].first, 12),
                         value_label(chart, points[i].second));
    out += marker(index, x, y, roomy || alone ? "mark" : "hit", hover);
  }
  return out + "</g>\n";
}

std::string draw_axes(const LineChart& chart, const Plot& plot) {
  std::string out;
  for (const double tick : plot.y.ticks) {
    const double y = plot.y.place(tick, plot.bottom(), plot.top);
    out += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/>", coordinate(plot.left),
                       coordinate(y), coordinate(kRight));
    out += svg_text(plot.left - 9.0, y + 4.0, "text-anchor=\"end\"",
                    plot.y.label(tick, chart.y_percent));
  }
  out += fmt::format("<path class=\"axis\" d=\"M{} {}H{}\"/>\n", coordinate(plot.left),
                     coordinate(plot.bottom()), coordinate(kRight));
  for (const double tick : plot.x.ticks) {
    const double x = plot.x.place(tick, plot.left, kRight);
    out += fmt::format("<path class=\"axis\" d=\"M{} {}v5\"/>", coordinate(x),
                       coordinate(plot.bottom()));
    out += svg_text(x, plot.bottom() + 20.0, "text-anchor=\"middle\"", plot.x.label(tick, false));
  }
  out += svg_text((plot.left + kRight) / 2.0, plot.bottom() + 41.0, "text-anchor=\"middle\"",
                  chart.x_label);
  return out;
}

}  // namespace

std::string to_svg(const LineChart& chart) {
  Extent x_extent;
  Extent y_extent;
  bool whole = true;
  for (const Series& series : chart.series) {
    for (const Point& point : placeable(chart, series.points)) {
      if (!usable(point)) continue;
      x_extent.add(point.first);
      y_extent.add(point.second);
      whole = whole && point.first == std::floor(point.first);
    }
  }
  const bool empty = x_extent.low > x_extent.high;
  if (empty) x_extent = y_extent = {chart.x_log || chart.y_log ? 0.1 : 0.0, 1.0};

  Plot plot;
  plot.x = chart.x_log ? log_axis(x_extent.low, x_extent.high, 9, false)
                       : exact_axis(x_extent.low, x_extent.high, 9, whole);
  plot.y = chart.y_log     ? log_axis(y_extent.low, y_extent.high, 8, true)
           : chart.y_range ? exact_axis(chart.y_range->first, chart.y_range->second, 6, false)
                           : fitted_axis(y_extent.low, y_extent.high, 6, chart.y_percent);
  std::size_t widest = 0;
  for (const double tick : plot.y.ticks) {
    widest = std::max(widest, characters(plot.y.label(tick, chart.y_percent)));
  }
  plot.left = 26.0 + kCharacter * static_cast<double>(widest);

  constexpr double kMargin = 16.0;
  double y = 28.0;
  std::string body = svg_text(kMargin, y, "class=\"title\"", shorten(chart.title, 64));
  const Legend names = legend(chart.series, kMargin, y + 24.0);
  body += names.markup;
  y += 24.0 + names.height;
  body += svg_text(kMargin, y, "", chart.y_label);
  plot.top = y + 19.0;

  if (empty) {
    body += svg_text(kWidth / 2.0, plot.top + kPlotHeight / 2.0, "text-anchor=\"middle\"",
                     "no values yet");
  } else {
    body += draw_axes(chart, plot);
    for (std::size_t i = 0; i < chart.series.size(); ++i) body += draw_series(chart, i, plot);
  }
  return svg_frame(kWidth, plot.bottom() + 56.0, chart.title, body);
}

}  // namespace sotto
