// Charts: well-formed whatever the data, gaps where values are missing, hover text, scoped styles.
#include "report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "balanced.h"

namespace sotto {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

LineChart one_series(std::vector<std::pair<double, double>> points) {
  return {"Title", "round", "loss", {{"run", std::move(points)}}, {}, false};
}

/// The d attribute of the only series' line.
std::string line_of(const std::string& svg) {
  const std::size_t series = svg.find("<g class=\"s0\">\n<svg");
  const std::size_t start = svg.find(" d=\"", series) + 4;
  return svg.substr(start, svg.find('"', start) - start);
}

void expect_sound(const std::string& svg) {
  EXPECT_EQ(unbalanced(svg), "");
  const std::string body = svg.substr(svg.find("</style>"));
  EXPECT_EQ(body.find("nan"), std::string::npos);
  EXPECT_EQ(body.find("inf"), std::string::npos);
}

TEST(Balanced, FindsWhatIsWrong) {
  EXPECT_EQ(unbalanced("<!DOCTYPE html><p title=\"a>b\"><br>x</p>"), "");
  EXPECT_NE(unbalanced("<p><b></p></b>"), "");
  EXPECT_NE(unbalanced("<p>"), "");
  EXPECT_NE(unbalanced("</p>"), "");
  EXPECT_NE(unbalanced("<p <b>"), "");
}

TEST(LineChart, HasTitleLabelsLegendAndHoverText) {
  LineChart chart = one_series({{1, 0.5}, {2, 0.25}});
  chart.series.push_back({"other", {{1, 0.75}, {2, 0.125}}});
  const std::string svg = to_svg(chart);
  expect_sound(svg);
  for (const char* text :
       {">Title<", ">round<", ">loss<", ">run<", ">other<", "<title>run: round 2, 0.25</title>",
        "<title>other: round 2, 0.125</title>"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(LineChart, PercentsAreLabelledAsSuch) {
  LineChart chart = one_series({{1, 0.91}, {2, 0.97}});
  chart.y_percent = true;
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find(">97\xC2\xA0%<"), std::string::npos);
  EXPECT_NE(svg.find("run: round 1, 91.00\xC2\xA0%"), std::string::npos);
}

TEST(LineChart, NotANumberLeavesAGap) {
  const std::string svg = to_svg(one_series({{1, 1}, {2, 2}, {3, kNan}, {4, 3}, {5, 4}}));
  expect_sound(svg);
  EXPECT_EQ(count(line_of(svg), "M"), 2U);
  EXPECT_EQ(count(line_of(svg), "L"), 2U);
  EXPECT_EQ(count(svg, "<title>"), 4U);
}

TEST(LineChart, OddDataStillGiveAPicture) {
  expect_sound(to_svg(LineChart{}));
  expect_sound(to_svg(one_series({})));
  expect_sound(to_svg(one_series({{1, 0.5}})));
  expect_sound(to_svg(one_series({{1, 0.5}, {2, 0.5}, {3, 0.5}})));
  expect_sound(to_svg(one_series({{1, 0}, {2, 0}})));
  expect_sound(to_svg(one_series({{kNan, 1}, {1, kNan}, {kInfinity, 2}, {2, -kInfinity}})));
  expect_sound(to_svg(one_series({{-1e308, -1e308}, {1e308, 1e308}})));
  expect_sound(to_svg(one_series({{1, 1e15}, {2, 1e15 + 1}})));
  EXPECT_NE(to_svg(one_series({})).find("no values yet"), std::string::npos);
  LineChart reversed = one_series({{1, 1}, {2, 2}});
  reversed.y_range = {3.0, 3.0};
  expect_sound(to_svg(reversed));
}

TEST(LineChart, APointBetweenGapsHasAMarker) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < 200; ++i) points.emplace_back(i, i == 100 || i % 50 != 49 ? 1.0 + i : kNan);
  points[99].second = points[101].second = kNan;
  const std::string svg = to_svg(one_series(std::move(points)));
  EXPECT_EQ(count(svg, "class=\"mark\""), 1U);
}

TEST(LineChart, ManyPointsStaySmallAndKeepTheirExtremes) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < 100'000; ++i) points.emplace_back(i, std::sin(i * 0.7));
  points[50'000].second = 9.0;
  const std::string svg = to_svg(one_series(std::move(points)));
  expect_sound(svg);
  EXPECT_LT(svg.size(), 40'000U);
  // The highest point lies near the top of the plot, as only the spike can.
  double highest = kInfinity;
  const std::string line = line_of(svg);
  for (std::size_t at = line.find(' '); at != std::string::npos; at = line.find(' ', at + 1)) {
    highest = std::min(highest, std::stod(line.substr(at + 1)));
  }
  EXPECT_LT(highest, 110.0);
}

/// The x (0) or y (1) coordinates of the only series' line.
std::vector<double> coordinates(const std::string& svg, std::size_t which) {
  std::vector<double> found[2];
  const std::string line = line_of(svg);
  for (std::size_t at = 0; at < line.size();) {
    std::size_t used = 0;
    found[0].push_back(std::stod(line.substr(at + 1), &used));
    at += 1 + used;
    found[1].push_back(std::stod(line.substr(at + 1), &used));
    at += 1 + used;
  }
  return found[which];
}

TEST(LineChart, DecadesStandAtEqualDistancesOnALogAxis) {
  LineChart chart = one_series({{10, 0.01}, {100, 1}, {1000, 100}, {10000, 10000}});
  const std::string linear = to_svg(chart);
  chart.x_log = chart.y_log = true;
  const std::string svg = to_svg(chart);
  expect_sound(svg);
  for (const std::size_t which : {0U, 1U}) {
    const std::vector<double> places = coordinates(svg, which);
    ASSERT_EQ(places.size(), 4U);
    for (std::size_t i = 2; i < 4; ++i) {
      EXPECT_NEAR(places[i] - places[i - 1], places[1] - places[0], 0.02) << which;
    }
  }
  for (const char* label : {">10<", ">100<", ">1000<", ">10k<", ">0.01<"}) {
    EXPECT_NE(svg.find(label), std::string::npos) << label;
  }
  EXPECT_NE(coordinates(linear, 0)[1], coordinates(svg, 0)[1]);
  // Both ends are powers of ten, so the axis ends there: the line takes the whole height.
  EXPECT_NEAR(coordinates(svg, 1)[0] - coordinates(svg, 1)[3], 250.0, 0.05);
}

TEST(LineChart, ALogAxisTakesOddData) {
  LineChart chart = one_series({{0, 1}, {1, -1}, {2, 0.5}, {3, 2.5}, {kNan, 1}, {5, kInfinity}});
  chart.x_log = chart.y_log = true;
  const std::string svg = to_svg(chart);
  expect_sound(svg);
  EXPECT_EQ(count(svg, "<title>"), 2U);             // only two points have a place
  EXPECT_NE(svg.find(">0.5<"), std::string::npos);  // few decades: 2 and 5 between them
  EXPECT_NE(svg.find(">5<"), std::string::npos);
  for (auto points : std::vector<std::vector<std::pair<double, double>>>{
           {}, {{0, 0}}, {{1, 1}}, {{1e-300, 1e-300}, {1e300, 1e300}}, {{7, 3}, {7, 3}}}) {
    LineChart odd = one_series(points);
    odd.x_log = odd.y_log = true;
    expect_sound(to_svg(odd));
  }
}

TEST(LineChart, TextIsEscapedEverywhere) {
  LineChart chart{"<script>T</script>", "<x>", "<y>", {{"<a\"b>", {{1, 1}, {2, 2}}}}, {}, false};
  chart.series.push_back({"</svg><script>", {{1, 2}, {2, 1}}});
  const std::string svg = to_svg(chart);
  expect_sound(svg);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(count(svg, "</svg>"), 3U);  // two nested ones and the picture's own
}

TEST(LineChart, StylesAreScopedAndBytesRepeat) {
  const LineChart chart = one_series({{1, 1}, {2, 2}});
  LineChart other = chart;
  other.title = "Another";
  const auto style_class = [](const std::string& svg) {
    const std::size_t at = svg.find("class=\"sotto-") + 7;
    return svg.substr(at, svg.find('"', at) - at);
  };
  EXPECT_EQ(to_svg(chart), to_svg(chart));
  EXPECT_NE(style_class(to_svg(chart)), style_class(to_svg(other)));
  const std::string svg = to_svg(chart);
  const std::string style =
      svg.substr(svg.find("<style>") + 7, svg.find("</style>") - svg.find("<style>") - 7);
  // Every rule starts with the picture's class.
  EXPECT_EQ(count(style, "{") - 1, count(style, "." + style_class(svg)) - count(style, ",."));
  EXPECT_NE(style.find("prefers-color-scheme:dark"), std::string::npos);
}

HeatMap square(std::size_t side) {
  HeatMap map{"Map", "client", "round", {}, {}, {}};
  for (std::size_t i = 0; i < side; ++i) {
    map.rows.push_back("r" + std::to_string(i));
    map.columns.push_back("c" + std::to_string(i));
  }
  for (std::size_t i = 0; i < side * side; ++i) map.values.push_back(static_cast<double>(i));
  return map;
}

TEST(HeatMap, EveryCellHasItsValueAsHoverText) {
  const std::string svg = to_svg(square(3));
  expect_sound(svg);
  EXPECT_EQ(count(svg, "class=\"cell\""), 9U);
  EXPECT_NE(svg.find("<title>r1, c2: 5</title>"), std::string::npos);
}

TEST(HeatMap, TakesAHundredByAHundred) {
  const std::string svg = to_svg(square(100));
  expect_sound(svg);
  EXPECT_EQ(count(svg, "class=\"cell\""), 10'000U);
  EXPECT_LT(count(svg, "<text"), 300U);  // labels thin out, values disappear
  EXPECT_LT(svg.size(), 2'000'000U);
}

TEST(HeatMap, OddDataStillGiveAPicture) {
  HeatMap map = square(2);
  map.values = {1.0, kNan, kInfinity};  // and one missing
  const std::string svg = to_svg(map);
  expect_sound(svg);
  EXPECT_EQ(count(svg, "cell void"), 3U);
  EXPECT_EQ(count(svg, "no value<"), 3U);
  map.values = {1.0, 2.0, kInfinity, -kInfinity};  // the scale ends at the largest finite value
  EXPECT_NE(to_svg(map).find("fill=\"#fde45c\"><title>r0, c1: 2<"), std::string::npos);
  map.values = {2.0, 2.0, 2.0, 2.0};
  expect_sound(to_svg(map));
  map.values = {-1e308, 1e308, 0.0, 0.0};
  expect_sound(to_svg(map));
  expect_sound(to_svg(HeatMap{}));
  map.rows[0] = "<script>";
  EXPECT_EQ(to_svg(map).find("<script"), std::string::npos);
}

TEST(LineChart, ErrorBarsNamesAndInfinityHaveTheirPlaces) {
  LineChart chart = one_series({{0.5, 0.9}, {5, 0.95}});
  chart.series[0].errors = {0.05, 0.0};
  chart.series.push_back({"theirs", {{1e6, 0.96}, {kInfinity, 0.98}}});
  chart.series[1].line = false;
  chart.series[1].labels = {"SRR & co", "none"};
  chart.x_log = true;
  EXPECT_EQ(to_svg(chart).find(">none<"), std::string::npos);  // infinity has no place yet
  chart.x_infinity = true;
  chart.x_limit = {50.0, "vacuous"};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(unbalanced(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(count(svg, "class=\"error\""), 1U);
  EXPECT_EQ(count(svg, "class=\"limit\""), 1U);
  for (const char* text : {">infinite<", ">SRR &amp; co<", ">none<", ">vacuous<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(LineChart, NamesBesideEqualPointsDoNotLieOnEachOther) {
  LineChart chart = one_series({{1, 0.5}, {1, 0.5}, {1, 0.5}, {2, 0.9}});
  chart.series[0].line = false;
  chart.series[0].labels = {"first", "second", "third", ""};
  const std::string svg = to_svg(chart);
  std::set<std::string> places;
  for (const char* name : {">first<", ">second<", ">third<"}) {
    const std::size_t end = svg.find(name);
    ASSERT_NE(end, std::string::npos);
    const std::size_t start = svg.rfind("<text ", end);
    places.insert(svg.substr(start, svg.find(" class", start) - start));
  }
  EXPECT_EQ(places.size(), 3U);
}

TEST(LineChart, WordsStandBelowTheirPoints) {
  LineChart chart = one_series({{0, 0.5}, {1, 0.6}, {2, 0.7}});
  chart.x_names = {"iid", "dirichlet(0.5)", "shards(2)"};
  const std::string svg = to_svg(chart);
  expect_sound(svg);
  for (const char* text : {">iid<", ">dirichlet(0.5)<", ">shards(2)<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(BarChart, ShowsValuesReferencesAndWhatDidNotRun) {
  BarChart chart;
  chart.title = "Bars";
  chart.value_name = "measured";
  chart.reference_name = "paper";
  chart.percent = true;
  chart.rows = {{"a <b>", 0.5, 0.01, {{0.6, 0.6}}}, {"c", {}, 0.0, {{0.1, 0.2}}}, {"d", 0.25}};
  const std::string svg = to_svg(chart);
  expect_sound(svg);
  for (const char* text : {">a &lt;b&gt;<", ">not run<", ">measured<", ">paper<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(count(svg, "class=\"spread\""), 1U);
  EXPECT_EQ(count(svg, "class=\"outline\""), 4U);  // one value, two ends, and the legend's
  expect_sound(to_svg(BarChart{}));
}

TEST(Histogram, PartsAreSharesOfTheirOwnSum) {
  Histogram histogram;
  histogram.title = "cosines <&>";
  histogram.x_label = "cosine";
  histogram.low = -0.5;
  histogram.high = 0.5;
  histogram.parts = {{"g1", {1.0, 2.0, 1.0}}, {"g2", {100.0, 200.0, 100.0}}};
  const std::string svg = to_svg(histogram);
  expect_sound(svg);
  EXPECT_NE(svg.find("cosines &lt;&amp;&gt;"), std::string::npos);
  // Both have the same shares, so the same outline, twice each: area and line.
  const std::size_t start = svg.find("d=\"M62", svg.find("fill-opacity:.18")) + 3;
  const std::string outline = svg.substr(start, svg.find('Z', start) - start);
  EXPECT_EQ(count(svg, outline), 4U);
  EXPECT_EQ(count(outline, "H"), 3U);
}

TEST(Histogram, NothingCountedIsStillAPicture) {
  Histogram histogram;
  histogram.title = "empty";
  expect_sound(to_svg(histogram));
  histogram.parts = {{"g1", {0.0, 0.0}}, {"g2", {}}};
  expect_sound(to_svg(histogram));
  histogram.parts = {{"g1", {0.0, 1.0}}, {"g2", {0.0, 0.0}}};
  expect_sound(to_svg(histogram));
}

}  // namespace
}  // namespace sotto
