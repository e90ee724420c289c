// `sotto account plan` where epsilon0 and rounds are both open: a whole training with a mechanism
// that has a cap, as a table over rounds, or for a share of the central model's signal.
#pragma once

#include <optional>
#include <vector>

#include "account/plan.h"
#include "account_report.h"

namespace sotto::cli {

struct TrainingArguments {
  std::vector<double> over_rounds;  // a row each
  std::vector<double> over_clients;
  std::optional<double> messages;
  std::optional<double> signal;
  std::optional<double> statistics_share;
  std::optional<double> statistics_dimension;
  std::optional<double> statistics_rounds;

  /// An option that only means something here, if one is given.
  const char* given() const;
};

void add_training_options(CLI::App& command, TrainingArguments& arguments);

/// `rounds`: as given, to find the messages for a signal.
Result<int> training_command(const TrainingArguments& arguments, const ReportOptions& report,
                             const Training& training, std::optional<double> rounds, double target,
                             bool json);

}  // namespace sotto::cli
