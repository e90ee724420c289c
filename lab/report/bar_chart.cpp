// The bar chart: one line for each row, its name at the left, its number at the end of the bar.
// The axis starts at zero, so that lengths compare.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart.h"
#include "report/chart_marks.h"
#include "report/markup.h"
#include "report/scale.h"
#include "report/svg.h"

namespace sotto {
namespace {

constexpr double kWidth = 760.0;
constexpr double kMargin = 16.0;
constexpr double kRow = 30.0;
constexpr double kBar = 15.0;
constexpr double kNumberRoom = 104.0;  // right of the longest bar
constexpr std::size_t kLongestName = 50;

std::string number_of(const BarChart& chart, const BarChart::Row& row) {
  if (!row.value) return "not run";
  std::string text = chart.percent ? percent(*row.value) : number(*row.value, 4);
  if (row.error > 0.0) {
    text += " \xC2\xB1 " +
            (chart.percent ? fmt::format("{:.2f}", 100.0 * row.error) : number(row.error, 2));
  }
  return text;
}

std::string reference_mark(const std::pair<double, double>& reference, const Axis& axis,
                           double left, double right, double y, const std::string& hover) {
  const double low = axis.place(reference.first, left, right);
  const double high = axis.place(reference.second, left, right);
  std::string out = "<g class=\"s1\">";
  if (high - low > 1.0) {
    out += fmt::format("<path class=\"span\" d=\"M{} {}H{}\"/>", coordinate(low), coordinate(y),
                       coordinate(high));
  }
  for (const double x : {low, high}) {
    out += fmt::format(
        "<path class=\"outline\" d=\"M{} {}m0 -6l6 6l-6 6l-6 -6z\"><title>{}</title></path>",
        coordinate(x), coordinate(y), escape(hover));
    if (high - low <= 1.0) break;
  }
  return out + "</g>\n";
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  double most = 0.0;
  std::size_t longest = 4;
  bool references = false;
  for (const BarChart::Row& row : chart.rows) {
    if (row.value && std::isfinite(*row.value)) most = std::max(most, *row.value + row.error);
    if (row.reference) most = std::max(most, row.reference->second);
    references = references || row.reference.has_value();
    longest = std::max(longest, characters(shorten(row.name, kLongestName)));
  }
  const double left = kMargin + kCharacter * static_cast<double>(longest) + 12.0;
  const double right = kWidth - kNumberRoom - kMargin;
  const Axis axis = fitted_axis(0.0, most > 0.0 ? most : 1.0, 5, chart.percent);

  double y = 28.0;
  std::string body = svg_text(kMargin, y, "class=\"title\"", shorten(chart.title, 72));
  if (references) {
    y += 24.0;
    body += fmt::format("<g class=\"s0\"><path class=\"fill\" d=\"M{} {}h22v10h-22z\"/></g>",
                        coordinate(kMargin), coordinate(y - 9.0));
    body += svg_text(kMargin + 29.0, y, "class=\"name\"", chart.value_name);
    const double second =
        kMargin + 29.0 + 24.0 + kCharacter * static_cast<double>(characters(chart.value_name));
    body += fmt::format(
        "<g class=\"s1\"><path class=\"outline\" d=\"M{} {}m0 -6l6 6l-6 6l-6 -6z\"/></g>",
        coordinate(second + 6.0), coordinate(y - 4.0));
    body += svg_text(second + 19.0, y, "class=\"name\"", chart.reference_name);
  }
  const double top = y + 18.0;
  const double bottom =
      top + kRow * static_cast<double>(std::max<std::size_t>(1, chart.rows.size()));
  for (const double tick : axis.ticks) {
    const double x = axis.place(tick, left, right);
    body += fmt::format("<path class=\"{}\" d=\"M{} {}V{}\"/>", tick == 0.0 ? "axis" : "grid",
                        coordinate(x), coordinate(top), coordinate(bottom));
    body += svg_text(x, bottom + 18.0, "text-anchor=\"middle\"", axis.label(tick, chart.percent));
  }
  body += svg_text((left + right) / 2.0, bottom + 39.0, "text-anchor=\"middle\"", chart.x_label);
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const BarChart::Row& row = chart.rows[i];
    const double middle = top + kRow * (static_cast<double>(i) + 0.5);
    body += svg_text(left - 10.0, middle + 4.0, "class=\"name\" text-anchor=\"end\"",
                     shorten(row.name, kLongestName));
    const bool shown = row.value && std::isfinite(*row.value) && *row.value >= 0.0;
    const double end = shown ? axis.place(*row.value, left, right) : left;
    double text_at = end;
    if (shown) {
      body += fmt::format(
          "<g class=\"s0\"><path class=\"fill\" d=\"M{} "
          "{}H{}v{}H{}z\"><title>{}</title></path></g>\n",
          coordinate(left), coordinate(middle - kBar / 2.0), coordinate(end), coordinate(kBar),
          coordinate(left), escape(row.name + ": " + number_of(chart, row)));
      if (row.error > 0.0 && std::isfinite(row.error)) {
        const double low = axis.place(std::max(0.0, *row.value - row.error), left, right);
        text_at = std::min(axis.place(*row.value + row.error, left, right), right + 4.0);
        body += fmt::format("<path class=\"spread\" d=\"M{0} {2}H{1}M{0} {3}v8M{1} {3}v8\"/>\n",
                            coordinate(low), coordinate(text_at), coordinate(middle),
                            coordinate(middle - 4.0));
      }
    }
    if (row.reference) {
      body += reference_mark(
          *row.reference, axis, left, right, middle,
          chart.reference_name + ": " +
              (chart.percent ? percent(row.reference->first) : number(row.reference->first)));
      text_at = std::max(text_at, axis.place(row.reference->second, left, right) + 5.0);
    }
    body += svg_text(text_at + 8.0, middle + 4.0, "class=\"label\"", number_of(chart, row));
  }
  return svg_frame(kWidth, bottom + 54.0, chart.title, body);
}

}  // namespace sotto
