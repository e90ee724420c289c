// sotto audit MECH: attacks a registered mechanism at its worst pair of inputs.
#include <fmt/format.h>

#include <cmath>

#include "audit/mechanisms.h"
#include "audit_command.h"
#include "base/json_number.h"
#include "terminal.h"

namespace sotto::cli {

Result<int> audit_registered(const AuditOptions& options) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(options.mechanism.name));
  SOTTO_CHECK(check_sizes(*options.command, *info));
  std::size_t size = kAuditWeights;
  if (info->kind != MechanismKind::kValue) {
    SOTTO_TRY(size, options.mechanism.input_size(info->kind));
  }
  SOTTO_TRY(const auto mechanism, options.mechanism.make(size));
  const Guarantee guarantee = mechanism->guarantee();
  const WorstCase worst = mechanism->worst_case();
  AuditPlan plan = options.plan();
  if (!plan.claim) plan.claim = guarantee.claimed_epsilon;
  plan.delta = guarantee.delta;
  Progress progress("audit", plan.trials);
  plan.progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  SOTTO_TRY(const AuditFinding finding, audit_mechanism(*mechanism, plan));
  progress.clear();

  const Parameters parameters = options.mechanism.parameters(*info);
  nlohmann::json json = audit_json(finding, plan);
  json["mechanism"] = info->name;
  json["mechanism_id"] = mechanism->id();
  json["parameters"] = parameters;
  json["unit"] = name_of(guarantee.unit);
  json["exact_epsilon"] = number_or_null<nlohmann::json>(guarantee.unit_epsilon);
  json["inputs"] = {worst.other_input, worst.input};
  json["threshold"] = number_or_null<nlohmann::json>(finding.threshold);
  SOTTO_CHECK(write_audit(options, std::string(info->name) + with_parameters(parameters), json));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
    return exit_code(finding);
  }
  fmt::print("{}{}: {}\n\n", info->name, with_parameters(parameters), info->summary);
  const std::string a_unit = " a " + std::string(name_of(guarantee.unit));
  print_line("claimed epsilon",
             epsilon_text(guarantee.claimed_epsilon) + a_unit +
                 (guarantee.delta > 0.0 ? ", delta " + epsilon_text(guarantee.delta) : ""));
  print_line("exact epsilon", epsilon_text(guarantee.unit_epsilon) + a_unit);
  print_line("inputs", worst.other_input + " or " + worst.input);
  print_line("guess", fmt::format("the second, where the log-likelihood ratio is above {:.6g}",
                                  finding.threshold));
  print_finding(finding, plan);
  return exit_code(finding);
}

}  // namespace sotto::cli
