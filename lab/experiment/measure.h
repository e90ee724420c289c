// What a mechanism costs a client: an experiment that is a measurement, not a training. Rows say
// which mechanism and how many weights; papers' figures are seconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiment/registry.h"
#include "report/chart.h"

namespace sotto {

/// What the JSON of every experiment without runs begins with: name, title, machine, date.
nlohmann::ordered_json measured_head(const std::string& format, const Experiment& experiment,
                                     bool quick);

struct MeasuredCost {
  std::string label;
  double weights = 0.0;
  std::optional<PaperFigure> paper;  // seconds
  double prepare_seconds = 0.0;      // making the mechanism: once, whatever the number of clients
  double perturb_seconds = 0.0;      // bounding and perturbing one client's weights, median
  double memory_bytes = 0.0;         // the most that perturbing took beyond what was there
};

/// On one thread; `turns` times each.
Result<std::vector<MeasuredCost>> measure_perturbation(const Experiment& experiment, int turns);

nlohmann::ordered_json costs_json(const Experiment& experiment,
                                  const std::vector<MeasuredCost>& costs, bool quick);
std::string costs_csv(const std::vector<MeasuredCost>& costs);
LineChart costs_chart(const Experiment& experiment, const std::vector<MeasuredCost>& costs);

}  // namespace sotto
