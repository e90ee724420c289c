// The charts of a study. All are of means over seeds, with the deviation as bars where there are
// several; a chart of a quick study says so in its title.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "experiment/results.h"
#include "sotto/claims.h"

namespace sotto {
namespace {

std::string title_of(const Summary& summary, const std::string& what) {
  return what + (summary.study->quick ? " (quick: not the full experiment)" : "");
}

std::optional<double> as_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string value_of(const Configuration& configuration, const std::string& key) {
  for (const auto& [name, value] : configuration.varied) {
    if (name == key) return value;
  }
  return "";
}

/// The mean accuracy over the runs that were evaluated in a round.
Series mean_curve(const Finding& finding) {
  std::map<std::uint64_t, std::vector<double>> rounds;
  for (const RunRecord& run : finding.runs) {
    for (const RecordedRound& round : run.rounds) {
      if (round.accuracy) rounds[round.round].push_back(*round.accuracy);
    }
  }
  Series series{finding.configuration->label, {}};
  for (const auto& [round, values] : rounds) {
    series.points.emplace_back(static_cast<double>(round), statistic_of(values).mean);
  }
  return series;
}

/// What is on the curve besides the key of the x axis.
std::string curve_name(const Configuration& configuration, const std::string& x,
                       const std::vector<Vary>& axes) {
  std::string name = configuration.series;
  for (const auto& [key, value] : configuration.varied) {
    if (key == x) continue;
    if (!name.empty()) name += ", ";
    name += short_key(key, axes) + " = " + value;
  }
  return name;
}

}  // namespace

LineChart rounds_chart(const Summary& summary) {
  LineChart chart;
  chart.title = title_of(summary, "Accuracy by round");
  chart.x_label = "round";
  chart.y_label = "share of test samples classified correctly";
  chart.y_percent = true;
  chart.width = 680.0;
  chart.plot_height = 290.0;
  for (const Finding& finding : summary.findings) chart.series.push_back(mean_curve(finding));
  return chart;
}

namespace {

LineChart varied_chart(const Summary& summary, const Vary* axis) {
  LineChart chart;
  chart.title = title_of(summary, "Accuracy by " + axis->key);
  chart.x_label = axis->key;
  chart.y_label = summary.study->statistic == "best" ? "best accuracy of the run"
                                                     : "accuracy after the last round";
  chart.y_percent = true;
  chart.width = 680.0;
  chart.plot_height = 290.0;
  std::vector<double> places;
  double low = HUGE_VAL;
  double high = 0.0;
  for (const std::string& value : axis->values) {
    const std::optional<double> number = as_number(value);
    if (!number) break;
    places.push_back(*number);
    low = std::min(low, *number);
    high = std::max(high, *number);
  }
  if (places.size() == axis->values.size()) {
    chart.x_log = low > 0.0 && high / low >= 50.0;
  } else {  // words: at equal distances, in their order
    chart.x_names = axis->values;
    places.clear();
    for (std::size_t i = 0; i < axis->values.size(); ++i) places.push_back(static_cast<double>(i));
  }
  std::vector<Series> paper;
  const auto curve = [](std::vector<Series>& all, const std::string& name) -> Series& {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Series& series) { return series.name == name; });
    if (same != all.end()) return *same;
    all.push_back({name, {}});
    return all.back();
  };
  for (const Finding& finding : summary.findings) {
    const Configuration& configuration = *finding.configuration;
    const std::string value = value_of(configuration, axis->key);
    const auto at = std::find(axis->values.begin(), axis->values.end(), value);
    if (at == axis->values.end()) continue;
    const double x = places[static_cast<std::size_t>(at - axis->values.begin())];
    const std::string name = curve_name(configuration, axis->key, summary.axes);
    if (finding.accuracy) {
      Series& series = curve(chart.series, name.empty() ? "measured" : name);
      series.points.emplace_back(x, finding.accuracy->mean);
      series.errors.push_back(finding.accuracy->deviation);
    }
    if (configuration.paper) {
      Series& series = curve(paper, (name.empty() ? "" : name + ", ") + "paper");
      series.line = false;
      series.points.emplace_back(x, (configuration.paper->low + configuration.paper->high) / 2.0);
      series.errors.push_back((configuration.paper->high - configuration.paper->low) / 2.0);
    }
  }
  chart.series.insert(chart.series.end(), paper.begin(), paper.end());
  return chart;
}

}  // namespace

std::vector<LineChart> varied_charts(const Summary& summary) {
  std::vector<LineChart> charts;
  for (const Vary& axis : summary.axes) {
    if (axis.values.size() > 1) charts.push_back(varied_chart(summary, &axis));
  }
  return charts;
}

BarChart bars_chart(const Summary& summary) {
  BarChart chart;
  chart.title = title_of(summary, summary.study->title);
  chart.x_label = summary.study->statistic == "best" ? "best accuracy" : "accuracy, last round";
  chart.value_name = "measured";
  chart.reference_name = "paper";
  chart.percent = true;
  for (const Finding& finding : summary.findings) {
    BarChart::Row row;
    row.name = finding.configuration->label;
    if (finding.accuracy) {
      row.value = finding.accuracy->mean;
      row.error = finding.accuracy->deviation;
    }
    if (const auto& paper = finding.configuration->paper) row.reference = {paper->low, paper->high};
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

LineChart privacy_chart(const Summary& summary, const std::vector<NamedPoint>& others) {
  LineChart chart;
  chart.title = title_of(summary, summary.study->title);
  chart.x_label = "epsilon of a client over the whole training, exact (smaller is more private)";
  chart.y_label = "test accuracy";
  chart.y_percent = true;
  chart.x_log = true;
  chart.x_infinity = true;
  chart.x_limit = {Claim::kVacuous, "vacuous: protects nobody"};
  chart.width = 860.0;
  chart.plot_height = 360.0;
  for (const Finding& finding : summary.findings) {
    if (!finding.accuracy || !finding.client) continue;
    const std::string& name = finding.configuration->series;
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const Series& s) { return s.name == name; });
    if (series == chart.series.end()) {
      series = chart.series.insert(chart.series.end(), Series{name, {}});
    }
    series->points.emplace_back(finding.client->epsilon, finding.accuracy->mean);
    series->errors.push_back(finding.accuracy->deviation);
  }
  // By epsilon, errors with their points.
  for (Series& series : chart.series) {
    std::vector<std::size_t> order(series.points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return series.points[a].first < series.points[b].first;
    });
    Series sorted{series.name, {}};
    for (const std::size_t i : order) {
      sorted.points.push_back(series.points[i]);
      sorted.errors.push_back(series.errors[i]);
    }
    series = std::move(sorted);
  }
  Series points{"systems of the papers, exact epsilon", {}};
  points.line = false;
  for (const NamedPoint& other : others) {
    points.points.emplace_back(other.epsilon, other.accuracy);
    points.labels.push_back(other.name);
  }
  if (!points.points.empty()) chart.series.push_back(std::move(points));
  return chart;
}

}  // namespace sotto
