// Shuffled batches, measured and proven side by side (Measuring-Privacy, table 3): what the paper
// states and measured, what its own statistic is worth without noise, a lower bound that holds at
// its confidence, and between which proven values the truth lies.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audit/shuffled.h"
#include "experiment/registry.h"
#include "report/chart.h"

namespace sotto {

struct ShuffleRow {
  std::string label;
  double epsilon0 = 0.0;
  std::uint64_t clients = 0;
  double delta = 0.0;
  double confidence = 0.0;
  std::uint64_t trials = 0;  // asked for; finding.trials are those of the bound
  std::uint64_t seed = 1;
  std::optional<double> paper_theoretical, paper_measured;

  double seed_exact = 0.0;      // the paper's statistic without noise
  double seed_mean = 0.0;       // as the paper measures it: 1,000 trials, repeated
  double seed_deviation = 0.0;  // of one such measurement
  ShuffledFinding finding;
  double exact_binary = 0.0;
  double numerical = 0.0;             // for every mechanism with this epsilon0
  std::optional<double> closed_form;  // equation 1, where it is valid
  double seconds = 0.0;
};

/// The rows of an experiment as its entry states them: `epsilon`, `clients`, `delta`, `trials`,
/// `confidence`, `seed`. An unknown key or a wrong value is an error that names the row.
Result<std::vector<ShuffleRow>> shuffle_rows(const Experiment& experiment, bool quick);
Result<void> measure_shuffle(std::vector<ShuffleRow>& rows, unsigned threads,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

nlohmann::ordered_json shuffle_json(const Experiment& experiment,
                                    const std::vector<ShuffleRow>& rows, bool quick);
std::string shuffle_csv(const std::vector<ShuffleRow>& rows);
LineChart shuffle_chart(const Experiment& experiment, const std::vector<ShuffleRow>& rows);

}  // namespace sotto
