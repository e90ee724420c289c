// What all forms of `sotto audit` print.
#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "audit_command.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

nlohmann::json finite(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

/// A lower bound, never rounded up.
std::string down(double epsilon) {
  if (!std::isfinite(epsilon)) return "infinite";
  return fmt::format("{:.4f}", std::floor(epsilon * 1e4) / 1e4);
}

}  // namespace

AuditPlan AuditOptions::plan() const {
  AuditPlan plan;
  plan.trials = trials;
  plan.confidence = confidence;
  plan.claim = claim;
  plan.stop_early = !all_trials;
  plan.seed = seed;
  plan.threads = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  return plan;
}

nlohmann::json audit_json(const AuditFinding& finding, const AuditPlan& plan) {
  const LowerBounds& bounds = finding.bounds;
  return {{"epsilon_lower", finite(finding.epsilon_lower)},
          {"confidence", plan.confidence},
          {"delta", plan.delta},
          {"trials", finding.trials},
          {"learning_trials", finding.learned},
          {"stopped_early", finding.stopped_early},
          {"verdict", name_of(finding.verdict)},
          {"claim", plan.claim ? finite(*plan.claim) : nlohmann::json(nullptr)},
          {"fpr", bounds.fpr},
          {"fnr", bounds.fnr},
          {"accuracy", bounds.accuracy},
          {"raw", finite(bounds.raw)},
          {"two_sided", finite(bounds.two_sided)},
          {"pooled", finite(bounds.pooled)},
          {"rule", kBestRule},
          {"seconds", finding.seconds}};
}

void print_line(std::string_view name, const std::string& text) {
  fmt::print("{:<18}{}\n", name, text);
}

void print_finding(const AuditFinding& finding, const AuditPlan& plan) {
  print_line("audited epsilon",
             fmt::format("at least {}{}, with confidence {} %", down(finding.epsilon_lower),
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
             fmt::format("{:.4f}", bounds.accuracy), down(bounds.raw), down(bounds.two_sided),
             down(bounds.pooled)});
  fmt::print("\n{}\n{} in {}\n", table.text(), "measured", duration(finding.seconds));
}

int exit_code(const AuditFinding& finding) { return finding.verdict == Verdict::kViolated ? 1 : 0; }

}  // namespace sotto::cli
