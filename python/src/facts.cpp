// What is known about mechanisms: the registry, what `sotto verify` finds out and what `sotto tune`
// chooses, as dictionaries with the keys of their --json.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>

#include "bindings.h"
#include "errors.h"
#include "mechanism/staircase/srr_compare.h"
#include "mechanism/verification.h"

namespace py = pybind11;
using namespace py::literals;

namespace sotto::python {
namespace {

py::dict to_dict(const MechanismInfo& info) {
  py::list parameters;
  for (const ParameterInfo& parameter : info.parameters) {
    parameters.append(py::dict("name"_a = parameter.name, "valid"_a = parameter.valid(),
                               "required"_a = parameter.required,
                               "preset"_a = parameter.default_value,
                               "integer"_a = parameter.integer, "meaning"_a = parameter.meaning));
  }
  return py::dict("name"_a = info.name, "kind"_a = name_of(info.kind), "summary"_a = info.summary,
                  "input"_a = info.input, "output"_a = info.output, "guarantee"_a = info.guarantee,
                  "bias"_a = info.bias, "reference"_a = info.reference,
                  "parameters"_a = parameters);
}

/// The given parameters and the defaults of the others.
Parameters complete(const MechanismInfo& info, const std::map<std::string, double>& given) {
  Parameters all(given.begin(), given.end());
  for (const ParameterInfo& parameter : info.parameters) {
    if (parameter.default_value)
      all.try_emplace(std::string(parameter.name), *parameter.default_value);
  }
  return all;
}

py::dict verify_mechanism(const std::string& name, const std::map<std::string, double>& given,
                          std::int64_t size, double centre, double radius, std::size_t shown) {
  const MechanismInfo* const info = take(find_mechanism(name));
  const Parameters parameters = complete(*info, given);
  Verification v;
  {
    py::gil_scoped_release free;
    auto layout = std::make_shared<Layout>();
    layout->add("input", {size}, TensorRole::kParameter);
    v = verify(*info,
               take(make_mechanism(name, Domain{std::move(layout), {{centre, radius}}},
                                   Parameters(given.begin(), given.end()))),
               parameters, shown);
  }
  py::list inputs;
  for (const InputFinding& finding : v.inputs) {
    inputs.append(py::dict("input"_a = finding.input, "position"_a = finding.position,
                           "mean"_a = finding.moments.mean, "bias"_a = finding.moments.bias,
                           "variance"_a = finding.moments.variance,
                           "sums_to_one"_a = finding.sums_to_one, "expected_l1"_a = finding.l1));
  }
  return py::dict(
      "mechanism"_a = name, "mechanism_id"_a = v.mechanism->id(), "parameters"_a = parameters,
      "unit"_a = name_of(v.guarantee.unit), "claimed_epsilon"_a = v.guarantee.claimed_epsilon,
      "exact_epsilon"_a = v.guarantee.unit_epsilon, "report_epsilon"_a = v.guarantee.epsilon,
      "outputs"_a = v.mechanism->outputs(), "delta"_a = v.guarantee.delta, "holds"_a = v.holds(),
      "statement"_a = v.guarantee.statement,
      "worst"_a = py::dict("input"_a = v.worst.input, "other_input"_a = v.worst.other_input,
                           "output"_a = v.worst.output),
      "worst_case_variance"_a = v.worst_variance, "max_bias"_a = v.max_bias,
      "checked_inputs"_a = v.checked_inputs, "sums_to_one"_a = v.sums_to_one,
      "worst_expected_l1"_a = v.worst_l1, "squared_error"_a = v.squared_error, "inputs"_a = inputs);
}

/// `inputs` is "worst", "uniform", a deviation around the centre, or values.
using TuneInputs = std::variant<double, std::string, std::vector<float>>;

py::dict to_dict(const SrrQuality& quality) {
  return py::dict("groups"_a = quality.setting.groups, "step"_a = quality.setting.step,
                  "mse"_a = quality.mse, "rmse"_a = quality.rmse, "worst_mse"_a = quality.worst_mse,
                  "centre_mse"_a = quality.centre_mse, "edge_mean"_a = quality.edge_mean,
                  "worst_l1"_a = quality.worst_l1, "l1_within_radius"_a = quality.l1_within_radius);
}

py::dict tune(double epsilon, double centre, double radius, double precision,
              const TuneInputs& inputs) {
  const auto chosen = [&](const DecimalGrid& grid) -> Result<SrrInputs> {
    if (const auto* const deviation = std::get_if<double>(&inputs)) {
      return SrrInputs::normal(grid, *deviation);
    }
    if (const auto* const values = std::get_if<std::vector<float>>(&inputs)) {
      return SrrInputs::values(grid, *values);
    }
    return std::get<std::string>(inputs) == "uniform" ? SrrInputs::uniform(grid)
                                                      : SrrInputs::worst_case(grid);
  };
  const auto* const word = std::get_if<std::string>(&inputs);
  const SrrTask task{
      {centre, radius}, epsilon, precision, chosen, word != nullptr && *word == "worst"};
  const SrrComparison found = [&] {
    const py::gil_scoped_release free;
    return take(tune_and_compare(task));
  }();
  py::dict all = to_dict(found.tuned);
  all["exact_epsilon"] = found.exact_epsilon;
  all["paper"] = py::none();
  all["optimal"] = py::none();
  if (found.paper) all["paper"] = to_dict(*found.paper);
  if (found.optimal) {
    const SquaredErrors& optimal = *found.optimal;
    all["optimal"] =
        py::dict("mse"_a = optimal.mse, "rmse"_a = std::sqrt(optimal.mse),
                 "worst_mse"_a = optimal.worst_mse, "centre_mse"_a = optimal.centre_mse);
  }
  return all;
}

}  // namespace

void bind_facts(py::module_& module) {
  module.def("mechanisms", [] {
    py::list all;
    for (const MechanismInfo& info : mechanisms()) all.append(to_dict(info));
    return all;
  });
  module.def("find_mechanism",
             [](const std::string& name) { return to_dict(*take(find_mechanism(name))); });
  module.def("bits_of_feature", [](const std::map<std::string, double>& given) {
    return bits_of_feature(Parameters(given.begin(), given.end()));
  });
  module.def("classes_of", [](const std::map<std::string, double>& given) {
    return classes_of(Parameters(given.begin(), given.end()));
  });
  module.def("verify", &verify_mechanism);
  module.def("tune", &tune);
}

}  // namespace sotto::python
