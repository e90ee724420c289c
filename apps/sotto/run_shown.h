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
};

/// Runs on LibTorch and shows progress on stderr.
Result<RunResult> run_shown(ShownRun run);

/// "97.31 %", or "-" when it was not evaluated.
std::string percent(const std::optional<double>& accuracy);

}  // namespace sotto::cli
