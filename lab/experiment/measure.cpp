#include "experiment/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/machine.h"
#include "experiment/summary.h"
#include "sotto/bits.h"
#include "sotto/mechanism.h"
#include "sotto/stages.h"

namespace sotto {
namespace {

/// The largest resident size since its making, beyond that at its making.
class MemoryPeak {
 public:
  MemoryPeak() {
    restart_peak();
    before_ = resident_bytes();
  }
  double bytes() const {
    return static_cast<double>(std::max(before_, peak_resident_bytes()) - before_);
  }

 private:
  std::uint64_t before_ = 0;
};

/// Weights around the centre that reach beyond the range, as trained ones do.
std::vector<float> trained_weights(std::size_t count, const Range& range) {
  BitSource bits = BitSource::from_seed(1, "cost");
  std::vector<float> weights(count);
  for (float& weight : weights) {
    weight = static_cast<float>(range.centre + 1.2 * range.radius * (2.0 * bits.unit() - 1.0));
  }
  return weights;
}

Result<MeasuredCost> measure_row(const Experiment& experiment, const ExperimentRow& row,
                                 int turns) {
  SOTTO_TRY(const std::string text,
            carried_recipe(row.recipe.empty() ? experiment.recipe : row.recipe));
  std::vector<std::string> settings = experiment.set;
  settings.insert(settings.end(), row.set.begin(), row.set.end());
  SOTTO_TRY(const Recipe recipe,
            parse_recipe(text, "recipes/" + experiment.recipe + ".toml", settings));
  MeasuredCost cost;
  cost.label = row.label;
  cost.weights = row.weights;
  if (!row.papers.empty()) cost.paper = row.papers.front();
  const auto count = static_cast<std::size_t>(row.weights);
  auto layout = std::make_shared<Layout>();
  layout->add("weights", {static_cast<std::int64_t>(count)}, TensorRole::kParameter);
  const Range range{recipe.privacy.centre.value_or(0.0), recipe.privacy.radius.value_or(1.0)};
  const std::vector<float> weights = trained_weights(count, range);
  std::vector<double> seconds;
  const Stopwatch preparing;
  SOTTO_TRY(const auto mechanism, make_mechanism(recipe.privacy.mechanism, Domain{layout, {range}},
                                                 recipe.privacy.parameters));
  cost.prepare_seconds = preparing.seconds();
  BitSource bits = BitSource::from_seed(2, "cost");
  const MemoryPeak peak;
  for (int turn = 0; turn < turns; ++turn) {
    Update update(layout, weights);
    const Stopwatch clock;
    const Report report = mechanism->perturb(bound(std::move(update), mechanism->domain()), bits);
    seconds.push_back(clock.seconds());
  }
  cost.memory_bytes = peak.bytes();
  std::sort(seconds.begin(), seconds.end());
  cost.perturb_seconds = seconds[seconds.size() / 2];
  return cost;
}

}  // namespace

nlohmann::ordered_json measured_head(const std::string& format, const Experiment& experiment,
                                     bool quick) {
  return {{"format", format},
          {"name", experiment.name},
          {"title", experiment.name + ": " + experiment.summary},
          {"quick", quick},
          {"complete", true},
          {"machine", machine_text()},
          {"date", today()}};
}

Result<std::vector<MeasuredCost>> measure_perturbation(const Experiment& experiment, int turns) {
  std::vector<MeasuredCost> costs;
  for (const ExperimentRow& row : experiment.rows) {
    SOTTO_TRY(MeasuredCost cost, measure_row(experiment, row, turns));
    costs.push_back(std::move(cost));
  }
  return costs;
}

nlohmann::ordered_json costs_json(const Experiment& experiment,
                                  const std::vector<MeasuredCost>& costs, bool quick) {
  nlohmann::ordered_json json = measured_head("sotto.cost.v1", experiment, quick);
  json["rows"] = nlohmann::ordered_json::array();
  for (const MeasuredCost& cost : costs) {
    json["rows"].push_back(
        {{"label", cost.label},
         {"weights", cost.weights},
         {"paper_seconds", cost.paper ? nlohmann::ordered_json(cost.paper->high) : nullptr},
         {"prepare_seconds", cost.prepare_seconds},
         {"perturb_seconds", cost.perturb_seconds},
         {"memory_bytes", cost.memory_bytes}});
  }
  return json;
}

std::string costs_csv(const std::vector<MeasuredCost>& costs) {
  std::string text = "label,weights,paper_seconds,prepare_seconds,perturb_seconds,memory_bytes\n";
  for (const MeasuredCost& cost : costs) {
    text += fmt::format("\"{}\",{},{},{},{},{}\n", cost.label, cost.weights,
                        cost.paper ? fmt::format("{}", cost.paper->high) : "", cost.prepare_seconds,
                        cost.perturb_seconds, cost.memory_bytes);
  }
  return text;
}

LineChart costs_chart(const Experiment& experiment, const std::vector<MeasuredCost>& costs) {
  LineChart chart;
  chart.title = experiment.name + ": " + experiment.summary;
  chart.x_label = "weights of the model";
  chart.y_label = "seconds, one client, one round";
  chart.x_log = true;
  chart.y_log = true;
  chart.width = 680.0;
  Series paper{"paper", {}};
  Series perturb{"measured: perturbation", {}};
  Series prepare{"measured: making the mechanism, once", {}};
  for (const MeasuredCost& cost : costs) {
    if (cost.paper) paper.points.emplace_back(cost.weights, cost.paper->high);
    perturb.points.emplace_back(cost.weights, cost.perturb_seconds);
    prepare.points.emplace_back(cost.weights, cost.prepare_seconds);
  }
  chart.series = {perturb, paper, prepare};
  return chart;
}

}  // namespace sotto
