// Pictures as SVG text: line charts and heat maps, readable in light and dark.
//
// Pure functions of their data: no files, no clock, the same bytes for the same input.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sotto {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  std::optional<std::pair<double, double>> y_range;
  bool y_percent = false;  // 0.97 is labelled 97 %
  bool x_log = false;      // decades at equal distances; points that are not positive are left out
  bool y_log = false;
};

struct HeatMap {
  std::string title;
  std::string row_label;
  std::string column_label;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<double> values;  // rows.size() * columns.size(), row by row
};

/// A complete <svg> element that can stand alone in a file or inside a page. Not-a-number points
/// leave a gap. Styles are scoped to the element and follow prefers-color-scheme.
std::string to_svg(const LineChart& chart);
std::string to_svg(const HeatMap& map);

}  // namespace sotto
