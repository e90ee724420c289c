// What audits of an experiment found, for programs and for people: JSON, CSV, the papers' pictures
// (figures 3 to 6 and 9 of measuring-privacy).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_number.h"
#include "experiment/audit_study.h"
#include "experiment/measure.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

/// "CIFAR-10: benign" -> the picture and the curve.
std::pair<std::string, std::string> parts_of(const std::string& label) {
  const std::size_t colon = label.find(": ");
  if (colon == std::string::npos) return {"", label};
  return {label.substr(0, colon), label.substr(colon + 2)};
}

double epsilon_of(const AuditRow& row) {
  const auto it = row.settings.parameters.find("epsilon");
  return it == row.settings.parameters.end() ? 0.0 : it->second;
}

/// The varied value, or the epsilon where nothing varies.
double place_of(const AuditRow& row) {
  return row.varied.empty() ? epsilon_of(row) : std::stod(row.varied.back().second);
}

Json bounds_json(const VectorFinding& finding) {
  return {{"distinguisher", name_of(finding.distinguisher)},
          {"mean_raw", number_or_null<Json>(finding.mean.raw)},
          {"mean_raw_deviation", number_or_null<Json>(finding.mean.raw_deviation)},
          {"mean_two_sided", finding.mean.two_sided},
          {"mean_pooled", finding.mean.pooled},
          {"epsilon_lower", finding.all.best},
          {"raw", number_or_null<Json>(finding.all.raw)},
          {"two_sided", finding.all.two_sided},
          {"pooled", finding.all.pooled},
          {"fpr", finding.all.fpr},
          {"fnr", finding.all.fnr},
          {"accuracy", finding.all.accuracy},
          {"verdict", name_of(finding.verdict)}};
}

}  // namespace

Json audit_json(const Experiment& experiment, const std::vector<AuditRow>& rows, bool quick) {
  Json json = measured_head("sotto.audit-study.v1", experiment, quick);
  json["rows"] = Json::array();
  for (const AuditRow& row : rows) {
    Json entry = {{"label", row.label}};
    for (const auto& [key, value] : row.varied) entry["varied"][key] = value;
    entry["mechanism"] = row.settings.mechanism;
    entry["adversary"] = row.settings.adversary;
    entry["data"] = row.settings.scene.data;
    entry["model"] = row.settings.scene.data.empty() ? "" : row.settings.scene.model;
    entry["model_accuracy"] = row.model_accuracy ? Json(*row.model_accuracy) : Json(nullptr);
    entry["dimension"] = row.dimension;
    entry["claim"] = number_or_null<Json>(row.finding.claim);
    entry["exact_epsilon"] = number_or_null<Json>(row.finding.exact);
    entry["delta"] = row.finding.delta;
    entry["confidence"] = row.settings.confidence;
    entry["trials"] = row.trials;
    entry["measurements"] = row.settings.measurements;
    entry["paper"] = row.paper ? Json(row.paper->high) : Json(nullptr);
    entry.update(bounds_json(row.finding));
    entry["other"] = bounds_json(row.other);
    entry["seconds"] = row.seconds;
    entry["similarities"] = {{"reach", row.similarities.reach},
                             {"of_first", row.similarities.of_first},
                             {"of_second", row.similarities.of_second}};
    if (!row.note.empty()) entry["note"] = row.note;
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

std::string audit_csv(const std::vector<AuditRow>& rows) {
  std::string text =
      "label,varied,epsilon,paper,mean_raw,mean_raw_deviation,mean_two_sided,mean_pooled,"
      "epsilon_lower,likelihood_epsilon_lower,accuracy,trials,seconds\n";
  for (const AuditRow& row : rows) {
    std::string varied;
    for (const auto& [key, value] : row.varied) {
      varied += (varied.empty() ? "" : " ") + key + '=' + value;
    }
    const bool cosine = row.finding.distinguisher == Distinguisher::kCosine;
    text += fmt::format("\"{}\",\"{}\",{},{},{},{},{},{},{},{},{},{},{}\n", row.label, varied,
                        epsilon_of(row), row.paper ? fmt::format("{}", row.paper->high) : "",
                        row.finding.mean.raw, row.finding.mean.raw_deviation,
                        row.finding.mean.two_sided, row.finding.mean.pooled, row.finding.all.best,
                        (cosine ? row.other : row.finding).all.best, row.finding.all.accuracy,
                        row.trials, row.seconds);
  }
  return text;
}

std::vector<LineChart> audit_charts(const Experiment& experiment,
                                    const std::vector<AuditRow>& rows) {
  const bool seconds = experiment.figure == "cost";
  std::vector<LineChart> charts;
  std::vector<std::string> pictures;
  for (const AuditRow& row : rows) {
    const auto parts = parts_of(row.label);
    auto at = std::find(pictures.begin(), pictures.end(), parts.first);
    if (at == pictures.end()) {
      LineChart chart;
      chart.title = experiment.name + (parts.first.empty() ? "" : ": " + parts.first);
      chart.x_label = row.varied.empty() ? "epsilon" : row.varied.back().first;
      chart.y_label = seconds ? "seconds" : "epsilon, measured (eq. 3, mean)";
      chart.x_log = chart.y_log = seconds;
      charts.push_back(std::move(chart));
      pictures.push_back(parts.first);
      at = std::prev(pictures.end());
    }
    LineChart& chart = charts[static_cast<std::size_t>(at - pictures.begin())];
    const auto series_of = [&chart](const std::string& name, bool line) -> Series& {
      for (Series& series : chart.series) {
        if (series.name == name) return series;
      }
      Series series;
      series.name = name;
      series.line = line;
      chart.series.push_back(std::move(series));
      return chart.series.back();
    };
    const double x = place_of(row);
    Series& measured = series_of(parts.second, true);
    measured.points.emplace_back(x, seconds ? row.seconds : row.finding.mean.raw);
    measured.errors.push_back(seconds ? 0.0 : row.finding.mean.raw_deviation);
    if (row.paper)
      series_of(parts.second + ", paper", false).points.emplace_back(x, row.paper->high);
  }
  for (LineChart& chart : charts) {
    if (seconds || chart.x_label != "epsilon") continue;
    Series theory;
    theory.name = "theoretical";
    for (const auto& [x, y] : chart.series.front().points) theory.points.emplace_back(x, x);
    chart.series.push_back(std::move(theory));
  }
  return charts;
}

std::vector<Histogram> audit_histograms(const std::vector<AuditRow>& rows) {
  std::vector<Histogram> all;
  for (const AuditRow& row : rows) {
    double least = epsilon_of(row), most = epsilon_of(row);
    for (const AuditRow& other : rows) {
      if (other.label != row.label) continue;
      least = std::min(least, epsilon_of(other));
      most = std::max(most, epsilon_of(other));
    }
    if (epsilon_of(row) != least && epsilon_of(row) != most) continue;
    const auto counts = [](const std::vector<std::uint64_t>& from) {
      return std::vector<double>(from.begin(), from.end());
    };
    Histogram histogram;
    histogram.title = row.label;
    for (const auto& [key, value] : row.varied) {
      histogram.title += fmt::format(", {} {}", key, value);
    }
    histogram.x_label = "cosine of report and first gradient";
    histogram.low = -row.similarities.reach;
    histogram.high = row.similarities.reach;
    histogram.parts = {{"it was g1", counts(row.similarities.of_first)},
                       {"it was g2", counts(row.similarities.of_second)}};
    all.push_back(std::move(histogram));
  }
  return all;
}

}  // namespace sotto
