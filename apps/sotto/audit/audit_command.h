// What the forms of `sotto audit` share: options, JSON keys and the lines people read. Each form is
// a file of its own: audit_mechanism.cpp, audit_program.cpp, ...
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "audit/scores.h"
#include "audit_forms.h"
#include "audit_gradients.h"
#include "mechanism_options.h"
#include "report/findings.h"

namespace sotto::cli {

struct AuditOptions {
  MechanismOptions mechanism;
  std::optional<double> claim;
  std::uint64_t trials = 1'000'000;
  double confidence = 0.95;
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: all cores
  bool all_trials = false;
  std::string out;
  bool json = false;
  const CLI::App* command = nullptr;  // which options were given

  // of --program
  std::string program;
  std::string inputs;
  std::string format = "text";
  double timeout_seconds = 60.0;
  std::uint64_t batch = 100'000;

  /// Of --shuffled and --adversary, each with names and a default of its own; empty: the default.
  std::string distinguisher;

  // of --shuffled
  bool shuffled = false;
  std::uint64_t clients = 0;

  GradientOptions gradients;  // of --adversary

  std::vector<std::string> settings;  // of a recipe

  /// The part of a plan that options give.
  AuditPlan plan() const;
};

Result<int> audit_registered(const AuditOptions& options);
Result<int> audit_foreign(const AuditOptions& options);
Result<int> audit_shuffled_batches(const AuditOptions& options);
Result<int> audit_recipe(const AuditOptions& options);
void add_shuffled_options(CLI::App& command, AuditOptions& options);

/// The keys that every audit's JSON has; infinite values are null.
nlohmann::json audit_json(const AuditFinding& finding, const AuditPlan& plan);
/// Verdict, bounds, rates and time.
void print_finding(const AuditFinding& finding, const AuditPlan& plan);
/// 0, or 1 where the claim is violated.
int exit_code(const AuditFinding& finding);

/// With --out: results.json, and a page of its numbers, the epsilons as bars and `figures`, which
/// `sotto report` shows.
Result<void> write_audit(const AuditOptions& options, const std::string& heading,
                         const nlohmann::json& json, std::vector<Figure> figures = {});

/// "name             text"
void print_line(std::string_view name, const std::string& text);

}  // namespace sotto::cli
