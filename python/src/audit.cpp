// Audits: of a mechanism, and of any Python function, by the engine behind `sotto audit`.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "audit/mechanisms.h"
#include "audit/randomizers.h"
#include "bindings.h"
#include "errors.h"

namespace py = pybind11;
using namespace py::literals;

namespace sotto::python {
namespace {

using Rows = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Calls `draw(inputs)` with an array of as many rows as there are trials; it returns as many.
class PythonRandomizer final : public Randomizer {
 public:
  PythonRandomizer(py::function draw, const NumberPair& pair)
      : draw_(std::move(draw)), pair_(pair) {}

  Result<Outputs> draw(const std::vector<bool>& inputs, std::uint64_t /*batch*/) override {
    const py::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return outputs_of(draw_(rows_of(inputs)), inputs.size());
    } catch (py::error_already_set& error) {
      error.restore();
      PyErr_Fetch(&type_, &value_, &trace_);
      return fail(ErrorKind::kInternal, "the function raised an exception");
    }
  }

  /// Raises what the function raised, if it did.
  void rethrow() {
    if (type_ == nullptr) return;
    PyErr_Restore(type_, value_, trace_);
    throw py::error_already_set();
  }

 private:
  Rows rows_of(const std::vector<bool>& inputs) const {
    const std::size_t width = pair_.zero.size();
    std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(inputs.size())};
    if (width > 1) shape.push_back(static_cast<py::ssize_t>(width));
    Rows rows(shape);
    double* to = rows.mutable_data();
    for (const bool one : inputs) {
      const std::vector<double>& x = one ? pair_.one : pair_.zero;
      to = std::copy(x.begin(), x.end(), to);
    }
    return rows;
  }

  static Result<Outputs> outputs_of(const py::object& returned, std::size_t count) {
    const Rows rows(returned);
    if (rows.ndim() == 0 || static_cast<std::size_t>(rows.shape(0)) != count || rows.size() == 0) {
      return fail(ErrorKind::kUsage, "audit: the function returned " +
                                         std::to_string(rows.ndim() == 0 ? 1 : rows.shape(0)) +
                                         " outputs for " + std::to_string(count) +
                                         " inputs; valid: one row for each");
    }
    return Outputs{static_cast<std::size_t>(rows.size()) / count,
                   std::vector<double>(rows.data(), rows.data() + rows.size())};
  }

  py::function draw_;
  const NumberPair& pair_;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* trace_ = nullptr;
};

py::dict to_dict(const AuditFinding& finding) {
  const LowerBounds& bounds = finding.bounds;
  return py::dict("epsilon_lower"_a = finding.epsilon_lower, "verdict"_a = name_of(finding.verdict),
                  "trials"_a = finding.trials, "learning_trials"_a = finding.learned,
                  "stopped_early"_a = finding.stopped_early, "fpr"_a = bounds.fpr,
                  "fnr"_a = bounds.fnr, "accuracy"_a = bounds.accuracy,
                  "seconds"_a = finding.seconds);
}

AuditPlan plan_of(std::uint64_t trials, double confidence, double delta,
                  std::optional<double> claim, bool all_trials, std::uint64_t seed,
                  const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  AuditPlan plan;
  plan.trials = trials;
  plan.confidence = confidence;
  plan.delta = delta;
  plan.claim = claim;
  plan.stop_early = !all_trials;
  plan.seed = seed;
  plan.progress = progress;
  return plan;
}

py::dict audit_function(const py::function& draw, const std::vector<double>& zero,
                        const std::vector<double>& one, const AuditPlan& plan,
                        std::uint64_t batch) {
  const NumberPair pair{zero, one};
  PythonRandomizer randomizer(draw, pair);
  const auto found = [&] {
    py::gil_scoped_release free;
    return audit_randomizer(randomizer, pair, plan, batch);
  }();
  randomizer.rethrow();
  const RandomizerFinding finding = take(found);
  py::dict all = to_dict(finding);
  py::list events;
  for (const EventFinding& event : finding.events) {
    events.append(py::dict("event"_a = event.event.text, "rate_first"_a = event.rate_zero(),
                           "rate_second"_a = event.rate_one(),
                           "epsilon_lower"_a = event.epsilon_lower));
  }
  all["events"] = events;
  return all;
}

py::dict audit_made(const Made& made, const AuditPlan& plan) {
  AuditFinding finding;
  {
    py::gil_scoped_release free;
    finding = take(audit_mechanism(*made.mechanism, plan));
  }
  py::dict all = to_dict(finding);
  all["events"] = py::list();
  return all;
}

}  // namespace

void bind_audit(py::module_& module) {
  py::class_<AuditPlan>(module, "AuditPlan").def(py::init(&plan_of));
  module.def("audit_function", &audit_function);
  module.def("audit_mechanism", &audit_made);
  module.attr("audit_weights") = kAuditWeights;
}

}  // namespace sotto::python
