#include "experiment/results.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/markup.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

Json claim_json(const std::optional<Claim>& claim) {
  if (!claim) return nullptr;
  return {{"scope", scope_text(*claim)},
          {"epsilon", std::isinf(claim->epsilon) ? Json(nullptr) : Json(claim->epsilon)},
          {"delta", claim->delta},
          {"vacuous", claim->vacuous()},
          {"theorem", claim->theorem},
          {"assumption", assumption_text(*claim)}};
}

Json run_json(const RunRecord& run) {
  const auto outcome = [](const std::optional<Outcome>& o) {
    return o && o->accuracy ? Json{{"round", o->round}, {"accuracy", *o->accuracy}} : Json(nullptr);
  };
  return {{"name", run.name},
          {"folder", run.folder.filename().string()},
          {"seed", run.seed},
          {"rounds", run.rounds.size()},
          {"stopped", run.stopped ? Json(*run.stopped) : Json(nullptr)},
          {"final", outcome(run.final)},
          {"best", outcome(run.best)},
          {"seconds", run.total_seconds()},
          {"device", run.device},
          {"threads", run.threads}};
}

Json finding_json(const Finding& finding) {
  const Configuration& configuration = *finding.configuration;
  Json json = {{"label", configuration.label}, {"series", configuration.series}};
  json["varied"] = Json::object();
  for (const auto& [key, value] : configuration.varied) json["varied"][key] = value;
  json["recipe"] = configuration.recipe.filename().string();
  json["set"] = configuration.settings;
  json["seeds"] = finding.accuracy ? finding.accuracy->count : 0;
  json["accuracy"] = finding.accuracy ? Json(finding.accuracy->mean) : Json(nullptr);
  json["deviation"] = finding.accuracy ? Json(finding.accuracy->deviation) : Json(nullptr);
  json["paper"] = nullptr;
  if (configuration.paper) {
    json["paper"] = {{"low", configuration.paper->low}, {"high", configuration.paper->high}};
  }
  json["note"] = configuration.note;
  json["mechanism"] = finding.mechanism;
  json["claims"] = {{"one_weight", claim_json(finding.unit)},
                    {"record", claim_json(finding.record)},
                    {"record_features", claim_json(finding.features)},
                    {"published", claim_json(finding.published)},
                    {"client_local", claim_json(finding.local)},
                    {"client", claim_json(finding.client)}};
  json["seconds"] = finding.seconds;
  json["runs"] = Json::array();
  for (const RunRecord& run : finding.runs) json["runs"].push_back(run_json(run));
  json["not_run"] = finding.absent;
  json["failed"] = Json::array();
  for (const auto& [name, why] : finding.failed) {
    json["failed"].push_back({{"run", name}, {"why", why}});
  }
  return json;
}

std::string csv_epsilon(const std::optional<Claim>& claim) {
  if (!claim) return "";
  return std::isinf(claim->epsilon) ? "inf" : fmt::format("{}", claim->epsilon);
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string paper_text(const std::optional<PaperFigure>& paper) {
  if (!paper) return "-";
  if (paper->low == paper->high) return fmt::format("{:.4g} %", 100.0 * paper->low);
  return fmt::format("{:.4g}-{:.4g} %", 100.0 * paper->low, 100.0 * paper->high);
}

std::string epsilon_words(const std::optional<Claim>& claim) {
  if (!claim) return "-";
  if (std::isinf(claim->epsilon)) return "infinite";
  std::string text = number_up(claim->epsilon);
  if (claim->delta > 0.0) text += ", delta " + number_up(claim->delta);
  return text + (claim->vacuous() ? " (vacuous)" : "");
}

std::string record_words(const Finding& finding) {
  std::string text = epsilon_words(finding.record);
  if (finding.record && std::isinf(finding.record->epsilon) && finding.features) {
    text += " (features alone " + number_up(finding.features->epsilon) + ")";
  }
  return text;
}

nlohmann::ordered_json results_json(const Summary& summary) {
  Json json = {{"format", "sotto.study.v1"},
               {"name", summary.study->name},
               {"title", summary.study->title},
               {"quick", summary.study->quick},
               {"statistic", summary.study->statistic},
               {"complete", summary.complete() && !summary.study->part},
               {"machine", summary.machine},
               {"date", summary.date},
               {"seeds", summary.study->seeds},
               {"seconds", summary.seconds}};
  json["configurations"] = Json::array();
  for (const Finding& finding : summary.findings) {
    json["configurations"].push_back(finding_json(finding));
  }
  return json;
}

std::string results_csv(const Summary& summary) {
  std::string text = "label";
  for (const Vary& axis : summary.axes) text += ',' + axis.key;
  text +=
      ",seeds,accuracy,deviation,paper_low,paper_high,epsilon_one_weight,epsilon_client_local,"
      "epsilon_client,delta_client,seconds,failed,quick\n";
  for (const Finding& finding : summary.findings) {
    const Configuration& configuration = *finding.configuration;
    text += csv_field(configuration.label);
    for (const Vary& axis : summary.axes) {
      text += ',';
      for (const auto& [key, value] : configuration.varied) {
        if (key == axis.key) text += csv_field(value);
      }
    }
    const auto& accuracy = finding.accuracy;
    text += accuracy
                ? fmt::format(",{},{},{}", accuracy->count, accuracy->mean, accuracy->deviation)
                : std::string(",0,,");
    text += configuration.paper
                ? fmt::format(",{},{}", configuration.paper->low, configuration.paper->high)
                : std::string(",,");
    text += fmt::format(
        ",{},{},{},{},{},{},{}\n", csv_epsilon(finding.unit), csv_epsilon(finding.local),
        csv_epsilon(finding.client), finding.client ? fmt::format("{}", finding.client->delta) : "",
        finding.seconds, finding.failed.size(), summary.study->quick ? "true" : "false");
  }
  return text;
}

}  // namespace sotto
