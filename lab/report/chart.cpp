// The line chart. Few points get markers of a shape of their own for each series (colour is never
// the only cue); many points get marks that show under the pointer only.
#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/chart_marks.h"
#include "report/markup.h"
#include "report/scale.h"
#include "report/svg.h"

namespace sotto {
namespace {

using Point = std::pair<double, double>;

constexpr double kMarginRight = 22.0;
constexpr double kInfinityRoom = 64.0;    // right of the finite axis, for points at infinity
constexpr double kMarkerRoom = 11.0;      // pixels between markers; closer ones are not drawn
constexpr std::size_t kManyPoints = 600;  // beyond: a line alone, two points for each pixel column
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kLongestTick = 18;
constexpr int kMostDecades = 9;

bool at_infinity(const Point& point) { return std::isinf(point.first) && point.first > 0.0; }

/// What has a place in the picture; on an axis of decades only positive numbers have.
std::vector<Point> placeable(const LineChart& chart, std::vector<Point> points) {
  for (auto& [x, y] : points) {
    if ((chart.x_log && !(x > 0.0)) || (chart.y_log && !(y > 0.0)) ||
        (!std::isfinite(x) && !(chart.x_infinity && x > 0.0))) {
      y = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return points;
}

bool usable(const Point& point) { return std::isfinite(point.second); }

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
  double right = 0.0;   // of the picture's plot
  double finite = 0.0;  // where the finite part of the x axis ends
  double height = 0.0;
  double bottom() const { return top + height; }
  double infinity() const { return right - 18.0; }
  Point place(const Point& point) const {
    const double across = at_infinity(point) ? infinity() : x.place(point.first, left, finite);
    return {across, y.place(point.second, bottom(), top)};
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
  return count > 1.0 ? (extent.high - extent.low) / (count - 1.0) : plot.right;
}

std::string path_data(const std::vector<Point>& points, const Plot& plot) {
  std::string data;
  bool drawing = false;
  for (const Point& point : points) {
    if (!usable(point) || at_infinity(point)) {
      drawing = false;
      continue;
    }
    const auto [x, y] = plot.place(point);
    data += fmt::format("{}{} {}", drawing ? 'L' : 'M', coordinate(x), coordinate(y));
    drawing = true;
  }
  return data;
}

std::string dash(std::size_t series) {
  constexpr std::array kDashes = {"", " stroke-dasharray=\"7 5\"", " stroke-dasharray=\"2 5\""};
  return kDashes[series / kPalette.size() % kDashes.size()];
}

/// A tick for each name, with half a place of air on both sides.
Axis named_axis(std::size_t names) {
  Axis axis{-0.5, static_cast<double>(names) - 0.5, 1.0, {}};
  for (std::size_t i = 0; i < names; ++i) axis.ticks.push_back(static_cast<double>(i));
  return axis;
}

struct Legend {
  std::string markup;
  double height = 0.0;
};

Legend legend(const std::vector<Series>& series, double left, double right, double top) {
  if (series.size() < 2) return {};
  Legend out;
  double x = left;
  double y = top;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string name = shorten(series[i].name, kLongestName);
    const double width = 34.0 + kCharacter * static_cast<double>(characters(name)) + 16.0;
    if (x > left && x + width > right + 16.0) {
      x = left;
      y += 20.0;
    }
    out.markup += fmt::format("<g class=\"s{}\">", i % kPalette.size());
    if (series[i].line) {
      out.markup += fmt::format("<path class=\"path\"{} d=\"M{} {}h24\"/>", dash(i), coordinate(x),
                                coordinate(y - 4));
    }
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

/// The bar of +- error around a point, with short ends.
std::string whisker(const Point& point, double error, const Plot& plot) {
  if (!(error > 0.0) || !std::isfinite(error)) return "";
  const double x = plot.place(point).first;
  const auto clamped = [&](double y) {
    const double at = plot.y.place(y, plot.bottom(), plot.top);
    return std::isfinite(at) ? std::clamp(at, plot.top, plot.bottom()) : plot.bottom();
  };
  const double low = clamped(point.second - error);
  const double high = clamped(point.second + error);
  return fmt::format("<path class=\"error\" d=\"M{0} {1}V{2}M{3} {1}h8M{3} {2}h8\"/>\n",
                     coordinate(x), coordinate(low), coordinate(high), coordinate(x - 4.0));
}

std::string draw_series(const LineChart& chart, std::size_t index, const Plot& plot,
                        LabelPlacer& placer) {
  const Series& series = chart.series[index];
  const std::vector<Point> all = placeable(chart, series.points);
  const auto count = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), usable));
  const bool thin = count > kManyPoints;
  const std::vector<Point> points = thin ? thinned(all, plot) : all;
  const bool roomy = marker_spacing(all, plot) >= kMarkerRoom;
  std::string out = fmt::format("<g class=\"s{}\">\n", index % kPalette.size());
  // A nested svg clips at the plot's edge without needing an id.
  const double width = plot.right - plot.left;
  out += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">"
      "<path class=\"path\"{4} d=\"{5}\"/></svg>\n",
      coordinate(plot.left - 2), coordinate(plot.top - 2), coordinate(width + 4),
      coordinate(plot.height + 4), dash(index), series.line ? path_data(points, plot) : "");
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!usable(points[i])) continue;
    const auto [x, y] = plot.place(points[i]);
    if (y < plot.top - 0.5 || y > plot.bottom() + 0.5) continue;
    if (!thin && i < series.errors.size()) out += whisker(points[i], series.errors[i], plot);
    const bool edge =
        (i == 0 || !usable(points[i - 1])) && (i + 1 == points.size() || !usable(points[i + 1]));
    const bool alone = edge || !series.line || at_infinity(points[i]);
    if (thin && !alone) continue;
    std::string hover = chart.series[index].name;
    if (!hover.empty()) hover += ": ";
    hover += fmt::format("{} {}, {}", chart.x_label, number(points[i].first, 12),
                         value_label(chart, points[i].second));
    out += marker(index, x, y, roomy || alone ? "mark" : "hit", hover);
    placer.occupy({x - 6.0, y - 6.0, x + 6.0, y + 6.0});
  }
  return out + "</g>\n";
}

/// Names of points, when all points have their place.
std::string draw_labels(const LineChart& chart, const Plot& plot, LabelPlacer& placer) {
  std::string out;
  for (const Series& series : chart.series) {
    const std::vector<Point> points = placeable(chart, series.points);
    for (std::size_t i = 0; i < points.size() && i < series.labels.size(); ++i) {
      if (!usable(points[i]) || series.labels[i].empty()) continue;
      const auto [x, y] = plot.place(points[i]);
      if (y < plot.top - 0.5 || y > plot.bottom() + 0.5) continue;
      out += placer.put(x, y, shorten(series.labels[i], kLongestName));
    }
  }
  return out;
}

std::string draw_axes(const LineChart& chart, const Plot& plot) {
  std::string out;
  for (const double tick : plot.y.ticks) {
    const double y = plot.y.place(tick, plot.bottom(), plot.top);
    out += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/>", coordinate(plot.left),
                       coordinate(y), coordinate(plot.right));
    out += svg_text(plot.left - 9.0, y + 4.0, "text-anchor=\"end\"",
                    plot.y.label(tick, chart.y_percent));
  }
  out += fmt::format("<path class=\"axis\" d=\"M{} {}H{}\"/>\n", coordinate(plot.left),
                     coordinate(plot.bottom()), coordinate(plot.finite));
  const auto tick_mark = [&](double x, const std::string& label) {
    out += fmt::format("<path class=\"axis\" d=\"M{} {}v5\"/>", coordinate(x),
                       coordinate(plot.bottom()));
    out += svg_text(x, plot.bottom() + 20.0, "text-anchor=\"middle\"", label);
  };
  for (const double tick : plot.x.ticks) {
    std::string label = plot.x.label(tick, false);
    if (!chart.x_names.empty()) {
      const auto index = static_cast<std::size_t>(std::max(0.0, tick));
      label = tick >= 0.0 && index < chart.x_names.size()
                  ? shorten(chart.x_names[index], kLongestTick)
                  : "";
    }
    tick_mark(plot.x.place(tick, plot.left, plot.finite), label);
  }
  if (chart.x_limit && chart.x_limit->first > plot.x.low && chart.x_limit->first < plot.x.high) {
    const double x = plot.x.place(chart.x_limit->first, plot.left, plot.finite);
    out += fmt::format("<path class=\"limit\" d=\"M{} {}V{}\"/>", coordinate(x),
                       coordinate(plot.top), coordinate(plot.bottom()));
    out += svg_text(x + 7.0, plot.bottom() - 9.0, "class=\"beyond\"", chart.x_limit->second);
  }
  if (plot.finite < plot.right) {  // the axis breaks off, and goes on at infinity
    out += fmt::format("<path class=\"axis\" d=\"M{} {}l4 -8m4 8l4 -8\"/>",
                       coordinate(plot.finite + 1.0), coordinate(plot.bottom() + 4.0));
    out += fmt::format("<path class=\"axis\" d=\"M{} {}H{}\"/>", coordinate(plot.finite + 14.0),
                       coordinate(plot.bottom()), coordinate(plot.right));
    tick_mark(plot.infinity(), "infinite");
  }
  out += svg_text((plot.left + plot.right) / 2.0, plot.bottom() + 41.0, "text-anchor=\"middle\"",
                  chart.x_label);
  return out;
}

}  // namespace

std::string to_svg(const LineChart& chart) {
  Extent x_extent;
  Extent y_extent;
  bool whole = true;
  bool infinite = false;
  for (const Series& series : chart.series) {
    const std::vector<Point> points = placeable(chart, series.points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!usable(points[i])) continue;
      const auto& [x, y] = points[i];
      const double error = i < series.errors.size() ? series.errors[i] : 0.0;
      y_extent.add(y);
      if (error > 0.0 && std::isfinite(error)) {
        y_extent.add(y + error);
        if (!chart.y_log || y > error) y_extent.add(y - error);
      }
      infinite = infinite || at_infinity(points[i]);
      if (at_infinity(points[i])) continue;
      x_extent.add(x);
      whole = whole && x == std::floor(x);
    }
  }
  const bool empty = y_extent.low > y_extent.high;
  if (x_extent.low > x_extent.high) x_extent = {chart.x_log || chart.y_log ? 0.1 : 0.0, 1.0};
  if (empty) y_extent = x_extent;

  Plot plot;
  plot.right = chart.width - kMarginRight;
  plot.finite = infinite ? plot.right - kInfinityRoom : plot.right;
  plot.height = chart.plot_height;
  plot.x = chart.x_log ? log_axis(x_extent.low, x_extent.high, kMostDecades, chart.x_infinity)
                       : exact_axis(x_extent.low, x_extent.high, 9, whole);
  if (!chart.x_names.empty()) plot.x = named_axis(chart.x_names.size());
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
  const Legend names = legend(chart.series, kMargin, plot.right, y + 24.0);
  body += names.markup;
  y += 24.0 + names.height;
  body += svg_text(kMargin, y, "", chart.y_label);
  plot.top = y + 19.0;

  if (empty) {
    body += svg_text(chart.width / 2.0, plot.top + plot.height / 2.0, "text-anchor=\"middle\"",
                     "no values yet");
  } else {
    body += draw_axes(chart, plot);
    LabelPlacer placer({plot.left, plot.top - 8.0, plot.right + 14.0, plot.bottom()});
    if (chart.x_limit) {
      const double x = plot.place({chart.x_limit->first, 0.0}).first;
      placer.occupy({x - 2.0, plot.top, x + 2.0, plot.bottom()});
    }
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      body += draw_series(chart, i, plot, placer);
    }
    body += draw_labels(chart, plot, placer);
  }
  return svg_frame(chart.width, plot.bottom() + 56.0, chart.title, body);
}

}  // namespace sotto
