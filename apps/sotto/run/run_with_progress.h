// A run that people watch: progress bar while it goes, a line a round, a summary at the end.
#pragma once

#include <string>

#include "sotto/federation.h"

namespace sotto::cli {

struct ShownRun {
  Recipe recipe;
  RunOptions options;
  bool print_rounds = true;  // a line on stdout for each round
  std::string label = "round";
  std::filesystem::path ledger;  // empty: in the run's own folder
};

/// Whether this program can keep a ledger.
bool keeps_ledgers();

/// Runs with the recipe's engine, with a ledger where the recipe keeps one, and shows progress on
/// stderr.
Result<RunResult> run_with_progress(ShownRun run);

/// The engine that the recipe names, or for "auto" the native one where it applies.
Result<std::shared_ptr<const TrainerFactory>> make_engine(const TrainerRequest& request);

/// "97.31 %", or "-" when it was not evaluated.
std::string percent(const std::optional<double>& accuracy);

/// The record of a run with its rounds, as --json prints it.
void print_json(const RunResult& result, const std::filesystem::path& out);

}  // namespace sotto::cli
