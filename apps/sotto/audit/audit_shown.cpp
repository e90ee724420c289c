// What all forms of `sotto audit` print.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit_command.h"
#include "base/file.h"
#include "base/json_number.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "report/chart.h"
#include "report/markup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

/// Claimed, exact and audited epsilon, where they are finite.
std::string epsilon_bars(const nlohmann::json& json) {
  BarChart chart;
  chart.title = "Claimed, exact and audited epsilon";
  chart.x_label = "epsilon";
  chart.value_name = "epsilon";
  const std::pair<const char*, const char*> keys[] = {
      {"claim", "claimed"}, {"exact_epsilon", "exact"}, {"epsilon_lower", "audited, at least"}};
  for (const auto& [key, name] : keys) {
    const auto it = json.find(key);
    if (it != json.end() && it->is_number()) chart.rows.push_back({name, it->get<double>()});
  }
  return to_svg(chart);
}

/// The numbers and words of an object as rows; what is nested is left to results.json.
std::vector<std::vector<std::string>> rows_of(const nlohmann::json& json) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured()) continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    const bool real = value.is_number_float();
    rows.push_back({name, value.is_string() ? value.get<std::string>()
                          : value.is_null() ? "-"
                          : real            ? short_number(value.get<double>())
                                            : value.dump()});
  }
  return rows;
}

}  // namespace

AuditPlan AuditOptions::plan() const {
  AuditPlan plan;
  plan.trials = trials;
  plan.confidence = confidence;
  plan.claim = claim;
  plan.stop_early = !all_trials;
  plan.seed = seed;
  plan.threads = thread_count(threads);
  return plan;
}

nlohmann::json audit_json(const AuditFinding& finding, const AuditPlan& plan) {
  const LowerBounds& bounds = finding.bounds;
  return {
      {"epsilon_lower", number_or_null<nlohmann::json>(finding.epsilon_lower)},
      {"confidence", plan.confidence},
      {"delta", plan.delta},
      {"trials", finding.trials},
      {"learning_trials", finding.learned},
      {"stopped_early", finding.stopped_early},
      {"verdict", name_of(finding.verdict)},
      {"claim", plan.claim ? number_or_null<nlohmann::json>(*plan.claim) : nlohmann::json(nullptr)},
      {"fpr", bounds.fpr},
      {"fnr", bounds.fnr},
      {"accuracy", bounds.accuracy},
      {"raw", number_or_null<nlohmann::json>(bounds.raw)},
      {"two_sided", number_or_null<nlohmann::json>(bounds.two_sided)},
      {"pooled", number_or_null<nlohmann::json>(bounds.pooled)},
      {"rule", kBestRule},
      {"seconds", finding.seconds}};
}

Result<void> write_audit(const AuditOptions& options, const std::string& heading,
                         const nlohmann::json& json, std::vector<Figure> figures) {
  if (options.out.empty()) return {};
  const std::filesystem::path out = options.out;
  SOTTO_CHECK(write_file_atomically(
      out / "results.json",
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'));
  FindingsPage page{"Audit: " + heading,
                    machine_text(),
                    "",
                    {"what", "found"},
                    rows_of(json),
                    {"An audit can refute a claim and never prove one."},
                    {{"epsilon.svg", epsilon_bars(json)}}};
  std::move(figures.begin(), figures.end(), std::back_inserter(page.figures));
  return write_findings_page(out, page);
}

void print_line(std::string_view name, const std::string& text) {
  fmt::print("{:<18}{}\n", name, text);
}

void print_finding(const AuditFinding& finding, const AuditPlan& plan) {
  print_line(
      "audited epsilon",
      fmt::format("at least {}{}, with confidence {} %", number_down(finding.epsilon_lower, 4),
                  plan.delta > 0.0 ? " at delta " + short_number(plan.delta) : "",
                  short_number(100.0 * plan.confidence)));
  std::string verdict = "no claim to hold it against";
  if (finding.verdict == Verdict::kViolated) {
    verdict = "VIOLATED: the claimed " + epsilon_text(*plan.claim) + " is refuted";
  } else if (plan.claim && std::isfinite(*plan.claim)) {
    verdict =
        "consistent with the claimed " + epsilon_text(*plan.claim) + " (an audit cannot prove it)";
  }
  print_line("verdict", verdict);
  print_line("trials", fmt::format("{}, of which {} to learn the test{}",
                                   with_commas(finding.trials), with_commas(finding.learned),
                                   finding.stopped_early ? "; stopped early" : ""));
  const LowerBounds& bounds = finding.bounds;
  Table table({"FPR", "FNR", "accuracy", "plain rates", "two-sided", "pooled"});
  table.add({fmt::format("{:.5g}", bounds.fpr), fmt::format("{:.5g}", bounds.fnr),
             fmt::format("{:.4f}", bounds.accuracy), number_down(bounds.raw, 4),
             number_down(bounds.two_sided, 4), number_down(bounds.pooled, 4)});
  fmt::print("\n{}\n{} in {}\n", table.text(), "measured", duration(finding.seconds));
}

int exit_code(const AuditFinding& finding) { return finding.verdict == Verdict::kViolated ? 1 : 0; }

}  // namespace sotto::cli
