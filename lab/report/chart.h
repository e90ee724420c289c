// Pictures as SVG text: line charts, bars, histograms and heat maps, readable in light and dark.
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
  std::vector<double> errors;       // one for each point, drawn as a bar of +- so much; or empty
  std::vector<std::string> labels;  // one for each point, written beside it; or empty
  bool line = true;                 // false: points alone
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
  bool x_infinity = false;           // points at infinity have a place, at the right end
  std::vector<std::string> x_names;  // what stands below x = 0, 1, 2, ... instead of numbers
  std::optional<std::pair<double, std::string>> x_limit;  // a line there, and what lies beyond it
  double width = 600.0;
  double plot_height = 250.0;
};

/// Bars that lie, one below the other: names of any length have room. A reference, such as what a
/// paper reports, is a diamond on the bar or, where it is known as an interval, a stroke.
struct BarChart {
  struct Row {
    std::string name;
    std::optional<double> value;
    double error = 0.0;
    std::optional<std::pair<double, double>> reference;
  };
  std::string title;
  std::string x_label;
  std::string value_name;      // "measured"
  std::string reference_name;  // "paper"
  std::vector<Row> rows;
  bool percent = false;
};

/// Several distributions over the same bins, one on top of the other.
struct Histogram {
  struct Part {
    std::string name;
    std::vector<double> counts;  // one for each bin; every part has as many
  };
  std::string title;
  std::string x_label;
  double low = 0.0;  // where the first bin starts
  double high = 1.0;
  std::vector<Part> parts;  // drawn as shares of their own sum
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
std::string to_svg(const BarChart& chart);
std::string to_svg(const Histogram& histogram);
std::string to_svg(const HeatMap& map);

}  // namespace sotto
