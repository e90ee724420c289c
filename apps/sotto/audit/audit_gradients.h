// sotto audit MECH --adversary NAME: gradients of real examples (or made-up ones) against a vector
// mechanism.
#pragma once

#include <filesystem>
#include <string>

#include "command.h"

namespace sotto::cli {

struct GradientOptions {
  std::string adversary;  // empty: another form of the audit
  std::string data;
  std::filesystem::path data_folder;
  std::string model = "srr-mnist";
  std::uint64_t train_rounds = 0;
  std::uint64_t malicious_rounds = 100;
  double dummy_norm = 1.0;  // in units of L
  std::uint64_t measurements = 10;
  std::string plot;
  const CLI::Option* trials = nullptr;  // the command's --trials: here of one measurement
};

struct AuditOptions;

/// After the command's own options, of which it looks at --trials.
void add_gradient_options(CLI::App& command, GradientOptions& options);
Result<int> audit_gradients(const AuditOptions& options);

}  // namespace sotto::cli
