#include "experiment/refutation_study.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_number.h"
#include "base/machine.h"
#include "experiment/measure.h"
#include "experiment/results.h"
#include "experiment/summary.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

Json finding_json(const AuditFinding& finding, double claim, double confidence) {
  return {{"epsilon_lower", finding.epsilon_lower},
          {"confidence", confidence},
          {"trials", finding.trials},
          {"verdict", name_of(finding.verdict)},
          {"claim", claim},
          {"fpr", finding.bounds.fpr},
          {"fnr", finding.bounds.fnr},
          {"accuracy", finding.bounds.accuracy},
          {"raw", number_or_null<Json>(finding.bounds.raw)},
          {"two_sided", finding.bounds.two_sided},
          {"pooled", finding.bounds.pooled},
          {"seconds", finding.seconds}};
}

}  // namespace

Result<std::vector<Refutation>> measure_refutations(
    const Experiment& experiment, const RefutationPlan& plan,
    const std::function<void(std::uint64_t, std::uint64_t, const std::string&)>& progress) {
  std::vector<Refutation> rows;
  for (const ExperimentRow& entry : experiment.rows) {
    if (progress) progress(rows.size(), experiment.rows.size(), entry.label);
    SOTTO_TRY(Refutation row, refute(entry.label, plan));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json refutations_json(const Experiment& experiment, const std::vector<Refutation>& rows,
                      const RefutationPlan& plan) {
  Json json = measured_head("sotto.refutations.v1", experiment, plan.quick);
  json["confidence"] = plan.confidence;
  json["seed"] = plan.seed;
  bool all = true;
  json["rows"] = Json::array();
  for (const Refutation& row : rows) {
    const RefutationCase& what = row.what;
    Json entry = {{"name", what.name},
                  {"paper", what.paper},
                  {"where", what.where},
                  {"claim_words", what.claim},
                  {"delta", what.delta},
                  {"exact", number_or_null<Json>(what.exact)},
                  {"exact_infinite", std::isinf(what.exact)},
                  {"derived", what.derived},
                  {"event", what.event},
                  {"why", what.why},
                  {"refuted", row.refuted()}};
    entry.update(finding_json(row.audited, what.claimed, row.confidence));
    entry["remedy"] = {{"what", what.remedy}};
    entry["remedy"].update(finding_json(row.remedy, what.remedy_claimed, row.confidence));
    entry["row_seconds"] = row.seconds;
    json["rows"].push_back(std::move(entry));
    all = all && row.refuted() && row.remedy_holds();
  }
  json["as_expected"] = all;
  return json;
}

std::string refutations_csv(const std::vector<Refutation>& rows) {
  std::string text =
      "name,paper,where,claim,claimed,delta,epsilon_lower,confidence,trials,exact,verdict,why,"
      "remedy,remedy_claimed,remedy_lower,remedy_trials,remedy_verdict,seconds\n";
  for (const Refutation& row : rows) {
    const RefutationCase& what = row.what;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", what.name,
                        csv_field(what.paper), csv_field(what.where), csv_field(what.claim),
                        what.claimed, what.delta, row.audited.epsilon_lower, row.confidence,
                        row.audited.trials, what.exact, name_of(row.audited.verdict),
                        csv_field(what.why), csv_field(what.remedy), what.remedy_claimed,
                        row.remedy.epsilon_lower, row.remedy.trials, name_of(row.remedy.verdict),
                        row.seconds);
  }
  return text;
}

LineChart refutations_chart(const Experiment& experiment, const std::vector<Refutation>& rows) {
  LineChart chart;
  chart.title = experiment.name + ": claimed, audited and exact epsilon";
  chart.x_label = "epsilon";
  chart.y_label = "cases, in the order of the table";
  chart.x_log = true;
  chart.x_infinity = true;
  chart.width = 760.0;
  chart.plot_height = 30.0 * static_cast<double>(rows.size() + 1);
  chart.y_range = std::pair(0.0, static_cast<double>(rows.size()) + 1.0);
  Series claimed{"claimed", {}}, lower{"audited lower bound", {}}, exact{"exact", {}};
  auto y = static_cast<double>(rows.size());
  for (const Refutation& row : rows) {
    claimed.points.emplace_back(row.what.claimed, y);
    lower.points.emplace_back(row.audited.epsilon_lower, y);
    lower.labels.push_back(row.what.name);
    exact.points.emplace_back(row.what.exact, y);
    y -= 1.0;
  }
  chart.series = {claimed, lower, exact};
  for (Series& series : chart.series) series.line = false;
  return chart;
}

}  // namespace sotto
