// What all forms of `sotto audit` print.
#include <fmt/format.h>

#include <cmath>

#include "audit_command.h"
#include "base/json_number.h"
#include "base/parallel.h"
#include "report/markup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {}  // namespace

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
