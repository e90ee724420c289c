#include "experiment/attack_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/machine.h"
#include "base/text.h"
#include "experiment/measure.h"
#include "experiment/summary.h"

namespace sotto {
namespace {

constexpr std::uint64_t kRepetitions = 1000;  // the paper has 100
constexpr std::uint64_t kQuickRepetitions = 10;
constexpr const char* kEpsilon = "privacy.epsilon";
constexpr const char* kClients = "federation.clients";
constexpr const char* kRounds = "federation.rounds";
constexpr const char* kRadius = "privacy.radius";

Result<std::vector<Combination>> grid_of(const std::vector<std::string>& texts) {
  std::vector<Vary> varied;
  for (const std::string& text : texts) {
    SOTTO_TRY(Vary vary, parse_vary(text));
    varied.push_back(std::move(vary));
  }
  return combinations(varied);
}

Result<AttackRow> row_of(const Experiment& experiment, const ExperimentRow& row,
                         const Combination& combination, const AttackStudyOptions& options) {
  SOTTO_TRY(const std::string text, carried_recipe(experiment.recipe));
  std::vector<std::string> settings = experiment.set;
  settings.insert(settings.end(), row.set.begin(), row.set.end());
  AttackRow made;
  made.series = row.label;
  made.label = row.label;
  made.varied = combination;
  for (const auto& [key, value] : combination) {
    settings.push_back(key + '=' + value);
    made.label += ", " + key.substr(key.find('.') + 1) + " = " + value;
  }
  SOTTO_TRY(const Recipe recipe,
            parse_recipe(text, "recipes/" + experiment.recipe + ".toml", settings));
  made.attack.mechanism = recipe.privacy.mechanism;
  made.attack.parameters = recipe.privacy.parameters;
  made.attack.range = {recipe.privacy.centre.value_or(0.0), recipe.privacy.radius.value_or(1.0)};
  made.attack.clients = static_cast<std::uint64_t>(recipe.federation.clients);
  made.attack.rounds = static_cast<std::uint64_t>(recipe.federation.rounds);
  made.attack.repetitions = options.quick ? kQuickRepetitions : kRepetitions;
  made.attack.weight = row.mean;
  made.attack.deviation = row.sigma;
  made.attack.tolerance = row.tolerance;
  made.attack.seed = options.seed;
  made.attack.threads = options.threads;
  return made;
}

Result<std::vector<AttackRow>> plan(const Experiment& experiment,
                                    const AttackStudyOptions& options) {
  std::vector<AttackRow> rows;
  for (const ExperimentRow& row : experiment.rows) {
    SOTTO_TRY(const std::vector<Combination> all, grid_of(row.vary));
    const bool fewer = options.quick && !row.quick_vary.empty();
    SOTTO_TRY(const std::vector<Combination> wanted, grid_of(fewer ? row.quick_vary : row.vary));
    for (const Combination& combination : wanted) {
      SOTTO_TRY(AttackRow made, row_of(experiment, row, combination, options));
      const auto at = std::find(all.begin(), all.end(), combination) - all.begin();
      if (row.papers.size() == all.size()) made.paper = row.papers[static_cast<std::size_t>(at)];
      rows.push_back(std::move(made));
    }
  }
  return rows;
}

double varied_value(const AttackRow& row) {
  const std::string& key = row.varied.front().first;
  if (key == kRounds) return static_cast<double>(row.attack.rounds);
  if (key == kRadius) return 2.0 * row.attack.range.radius;
  if (key == kEpsilon) return row.attack.parameters.at("epsilon");
  return static_cast<double>(row.attack.clients);
}

LineChart error_chart(const std::string& title, const std::string& x_label) {
  LineChart chart;
  chart.title = title;
  chart.x_label = x_label;
  chart.y_label = "error, share of the domain";
  chart.y_log = true;
  chart.width = 680.0;
  return chart;
}

/// The series called `name`, made where it is not there yet.
Series& series_of(LineChart& chart, const std::string& name) {
  for (Series& series : chart.series) {
    if (series.name == name) return series;
  }
  chart.series.push_back({name, {}});
  return chart.series.back();
}

LineChart varied_chart(const std::vector<AttackRow>& rows, const std::string& key,
                       const std::string& title, const std::string& x_label) {
  LineChart chart = error_chart(title, x_label);
  chart.x_log = true;
  for (const AttackRow& row : rows) {
    if (row.varied.empty() || row.varied.front().first != key) continue;
    const double x = varied_value(row);
    // A single point that continues another row's series belongs to it.
    std::string name = row.series;
    for (const Series& series : chart.series) {
      if (name.starts_with(series.name)) name = series.name;
    }
    series_of(chart, name).points.emplace_back(x, row.compared().mean);
    series_of(chart, name + ": theory").points.emplace_back(x, row.compared_theory());
    const std::optional<Estimate>& corrected = row.found.last().corrected;
    if (corrected && row.attack.mechanism == "srr") {
      series_of(chart, name + ": bias undone").points.emplace_back(x, corrected->mean);
    }
    if (row.paper) {
      Series& paper = series_of(chart, "paper");
      const std::pair<double, double> point{x, row.paper->high};
      if (std::find(paper.points.begin(), paper.points.end(), point) == paper.points.end()) {
        paper.points.push_back(point);
      }
      paper.line = false;
    }
  }
  for (Series& series : chart.series) std::sort(series.points.begin(), series.points.end());
  // Drawn last: what the paper has must not be hidden by what it is compared with.
  std::stable_partition(chart.series.begin(), chart.series.end(),
                        [](const Series& series) { return series.name != "paper"; });
  return chart;
}

}  // namespace

Result<std::vector<AttackRow>> measure_weight_inference(const Experiment& experiment,
                                                        const AttackStudyOptions& options,
                                                        const AttackProgress& progress) {
  SOTTO_TRY(std::vector<AttackRow> rows, plan(experiment, options));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Stopwatch clock;
    SOTTO_TRY(rows[i].found, infer_weight(rows[i].attack));
    rows[i].seconds = clock.seconds();
    if (progress) progress(i + 1, rows.size());
  }
  return rows;
}

nlohmann::ordered_json attack_json(const Experiment& experiment, const std::vector<AttackRow>& rows,
                                   const AttackStudyOptions& options) {
  using Json = nlohmann::ordered_json;
  Json json = measured_head("sotto.attack.v1", experiment, options.quick);
  json["seed"] = options.seed;
  json["rows"] = Json::array();
  for (const AttackRow& row : rows) {
    const WeightFinding& last = row.found.last();
    const WeightTheory& theory = row.found.theory;
    json["rows"].push_back(
        {{"label", row.label},
         {"mechanism", row.attack.mechanism},
         {"parameters", row.attack.parameters},
         {"clients", row.attack.clients},
         {"rounds", row.attack.rounds},
         {"deviation", row.attack.deviation},
         {"tolerance", row.attack.tolerance},
         {"paper", row.paper ? Json(row.paper->high) : Json(nullptr)},
         {"measured", row.compared().mean},
         {"standard_error", row.compared().standard_error},
         {"theory", row.compared_theory()},
         {"error", last.error.mean},
         {"error_to_round", last.error_to_round.mean},
         {"error_to_weight", last.error_to_weight.mean},
         {"corrected", last.corrected ? Json(last.corrected->mean) : Json(nullptr)},
         {"confidence", last.confidence ? Json(last.confidence->mean) : Json(nullptr)},
         {"theory_confidence", theory.confidence ? Json(*theory.confidence) : Json(nullptr)},
         {"client_epsilon", row.found.client_epsilon},
         {"seconds", row.seconds}});
  }
  return json;
}

std::string attack_csv(const std::vector<AttackRow>& rows) {
  std::string text =
      "label,clients,rounds,deviation,tolerance,paper,measured,standard_error,theory,error,"
      "corrected,"
      "confidence\n";
  const auto maybe = [](const std::optional<Estimate>& value) {
    return value ? fmt::format("{}", value->mean) : std::string();
  };
  for (const AttackRow& row : rows) {
    const WeightFinding& last = row.found.last();
    text += fmt::format("\"{}\",{},{},{},{},{},{},{},{},{},{},{}\n", row.label, row.attack.clients,
                        row.attack.rounds, row.attack.deviation, row.attack.tolerance,
                        row.paper ? fmt::format("{}", row.paper->high) : "", row.compared().mean,
                        row.compared().standard_error, row.compared_theory(), last.error.mean,
                        maybe(last.corrected), maybe(last.confidence));
  }
  return text;
}

std::vector<LineChart> attack_charts(const Experiment& experiment,
                                     const std::vector<AttackRow>& rows) {
  std::vector<LineChart> charts;
  charts.push_back(varied_chart(rows, kEpsilon, experiment.name + ": error by epsilon",
                                "epsilon of one report"));
  charts.push_back(
      varied_chart(rows, kClients, experiment.name + ": error by number of clients", "clients"));
  charts.push_back(varied_chart(rows, kRounds, experiment.name + ": error by rounds",
                                "rounds that the server has seen"));
  charts.push_back(
      varied_chart(rows, kRadius, experiment.name + ": error by size of the domain", "domain, 2r"));
  LineChart scatter = error_chart(experiment.name + ": error by scatter of clients' values",
                                  "deviation of clients' values");
  LineChart score = scatter;
  score.title = experiment.name + ": confidence by scatter of clients' values";
  score.y_label = "confidence score, at most 100";
  score.y_log = false;
  LineChart by_round = score;
  by_round.title = experiment.name + ": confidence by rounds";
  by_round.x_label = "rounds that the server has seen";
  for (const AttackRow& row : rows) {
    const WeightFinding& last = row.found.last();
    if (row.varied.empty() && last.confidence && row.found.theory.confidence) {
      const double x = row.attack.deviation;
      const std::string moved =
          row.attack.tolerance > 0.0 ? ", tolerance " + short_number(row.attack.tolerance) : "";
      if (!moved.empty()) {
        series_of(scatter, "against the last round" + moved)
            .points.emplace_back(x, last.error_to_round.mean);
        series_of(score, "measured" + moved).points.emplace_back(x, last.confidence->mean);
        continue;
      }
      series_of(scatter, "against w").points.emplace_back(x, last.error_to_weight.mean);
      series_of(scatter, "against w: theory")
          .points.emplace_back(x, row.found.theory.error_to_weight);
      series_of(scatter, "against the mean held").points.emplace_back(x, last.error.mean);
      series_of(score, "measured").points.emplace_back(x, last.confidence->mean);
      series_of(score, "theory").points.emplace_back(x, *row.found.theory.confidence);
    }
    if (!row.varied.empty() && row.varied.front().first == kEpsilon &&
        row.attack.deviation == 0.0 && row.attack.mechanism == "two-point") {
      Series& series =
          series_of(by_round, "epsilon " + short_number(row.attack.parameters.at("epsilon")));
      for (const WeightFinding& finding : row.found.by_round) {
        if (finding.confidence) {
          series.points.emplace_back(static_cast<double>(finding.rounds), finding.confidence->mean);
        }
      }
    }
  }
  charts.push_back(std::move(scatter));
  charts.push_back(std::move(by_round));
  charts.push_back(std::move(score));
  return charts;
}

}  // namespace sotto
