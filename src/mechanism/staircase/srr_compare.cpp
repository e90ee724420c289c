#include "mechanism/staircase/srr_compare.h"

#include <algorithm>
#include <cmath>

#include "sotto/mechanism.h"

namespace sotto {
namespace {

Result<std::unique_ptr<Mechanism>> made_for_one(std::string_view name, const Range& range,
                                                const Parameters& parameters) {
  auto layout = std::make_shared<Layout>();
  layout->add("input", {1}, TensorRole::kParameter);
  return make_mechanism(name, Domain{std::move(layout), {range}}, parameters);
}

/// The setting of the paper's MNIST experiments, 10 groups and the step 20 on 1,501 grid values; on
/// other grids the step in proportion, so that the staircase keeps its shape.
std::optional<SrrQuality> of_paper(const DecimalGrid& grid, double epsilon,
                                   const SrrInputs& inputs) {
  const double step = std::round(20.0 * static_cast<double>(grid.size()) / 1501.0);
  auto quality = srr_quality(grid, epsilon, {10, step}, inputs);
  return quality ? std::optional(*quality) : std::nullopt;
}

double squared_error(const Mechanism& mechanism, double input) {
  const auto weight = static_cast<float>(input);
  const Moments moments = mechanism.moments({&weight, 1}, 0);
  return moments.bias * moments.bias + moments.variance;
}

/// Its error at a hundred distances from the centre, to both sides, each with the weight of the
/// inputs around it.
std::optional<SquaredErrors> of_optimal(const SrrTask& task, const DecimalGrid& grid,
                                        const SrrInputs& inputs) {
  const auto made = made_for_one("optimal", task.range, {{"epsilon", task.epsilon}});
  if (!made) return std::nullopt;
  SquaredErrors error;
  error.centre_mse = squared_error(**made, task.range.centre);
  const std::int64_t count = grid.radius() + 1;
  const std::int64_t cells = std::min<std::int64_t>(count, 101);
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const std::int64_t from = cell * count / cells, to = (cell + 1) * count / cells;
    const double weight = inputs.weight_below(to) - inputs.weight_below(from);
    const double offset = static_cast<double>(grid.radius() - from) * grid.step();
    const double above = squared_error(**made, task.range.centre + offset);
    const double below = squared_error(**made, task.range.centre - offset);
    error.mse += weight * (above + below) / 2.0;
    error.worst_mse = std::max({error.worst_mse, above, below});
  }
  // For srr the worst input is an end; for another mechanism it may be anywhere.
  if (task.worst_input) error.mse = error.worst_mse;
  return error;
}

}  // namespace

Result<SrrComparison> tune_and_compare(
    const SrrTask& task, const std::function<void(std::size_t, std::size_t)>& progress) {
  Parameters parameters = {{"epsilon", task.epsilon}, {"precision", task.precision}};
  SOTTO_TRY(auto mechanism, made_for_one("srr", task.range, parameters));
  SOTTO_TRY(const DecimalGrid grid, DecimalGrid::make(task.range, task.precision));
  SOTTO_TRY(const SrrInputs inputs, task.inputs(grid));
  SrrComparison found;
  found.tuned = tune_srr(grid, task.epsilon, inputs, progress);
  found.paper = of_paper(grid, task.epsilon, inputs);
  found.optimal = of_optimal(task, grid, inputs);
  parameters["groups"] = static_cast<double>(found.tuned.setting.groups);
  parameters["step"] = found.tuned.setting.step;
  SOTTO_TRY(mechanism, made_for_one("srr", task.range, parameters));
  found.exact_epsilon = mechanism->guarantee().unit_epsilon;
  return found;
}

}  // namespace sotto
