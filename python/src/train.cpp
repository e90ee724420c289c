// The extension module sotto._train: runs of recipes. The only part of the package that may load
// LibTorch; without it, Sotto's own networks train on the native engine.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <nlohmann/json.hpp>

#include "errors.h"
#include "sotto/federation.h"
#include "sotto/native.h"

namespace py = pybind11;
using namespace py::literals;

namespace sotto::python {
namespace {

struct Watched {
  std::function<void(const std::string& metrics)> on_round;
  std::function<void(std::uint32_t round, std::uint64_t done, std::uint64_t total)> on_client;
  std::function<void(const std::string& stage, std::uint64_t done, std::uint64_t total)> on_prepare;
  std::function<void(const std::string& note)> on_note;
};

/// Makes the engine for a request and leaves it in `made`, too.
MakeFactory engine(std::shared_ptr<const TrainerFactory>& made) {
  return [&made](const TrainerRequest& request) -> Result<std::shared_ptr<const TrainerFactory>> {
#ifdef SOTTO_WITH_TORCH
    SOTTO_TRY(made, choose_engine(request, make_torch_factory));
#else
    SOTTO_TRY(made, choose_engine(request, nullptr));
#endif
    return made;
  };
}

py::dict tensors_of(const Layout& layout, const std::vector<float>& model) {
  py::dict all;
  for (const TensorSpec& tensor : layout.tensors()) {
    const std::vector<py::ssize_t> shape(tensor.shape.begin(), tensor.shape.end());
    all[py::str(tensor.name)] = py::array_t<float>(shape, model.data() + tensor.offset);
  }
  return all;
}

py::tuple run(const std::string& text, const std::string& place,
              const std::vector<std::string>& settings, const std::string& out,
              const std::string& data, const std::string& ledger, unsigned threads, bool resume,
              bool replace, const Watched& watched) {
  std::shared_ptr<const TrainerFactory> made;
  RunResult result;
  nlohmann::json record;
  {
    py::gil_scoped_release free;
    const Recipe recipe = take(parse_recipe(text, place, settings));
    RunOptions options;
    options.out = out;
    options.data_folder = data;
    options.threads = threads;
    options.resume = resume;
    options.replace = replace;
    options.on_client = watched.on_client;
    options.on_prepare = watched.on_prepare;
    options.on_note = watched.on_note;
    options.on_round = [&](const RoundMetrics& metrics) {
      {
        // Called by the thread that called us: what is raised here ends the run.
        const py::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      }
      watched.on_round(metrics.to_json().dump());
    };
    if (recipe.ledger.keep && (!ledger.empty() || !out.empty())) {
      options.open_ledger = [&]() -> Result<std::shared_ptr<Ledger>> {
        const auto file =
            ledger.empty() ? options.out / kLedgerName : std::filesystem::path(ledger);
        std::error_code code;
        if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), code);
        SOTTO_TRY(std::unique_ptr<Ledger> opened, open_ledger(file));
        return std::shared_ptr<Ledger>(std::move(opened));
      };
    }
    result = take(run_recipe(recipe, options, engine(made)));
    record = result.record ? *result.record : nlohmann::json::object();
    record["rounds"] = nlohmann::json::array();
    for (const RoundMetrics& metrics : result.rounds) record["rounds"].push_back(metrics.to_json());
    record["stopped"] = result.stopped;
    record["claims"] = nlohmann::json::array();
    for (const Claim& claim : result.claims) record["claims"].push_back(to_json(claim));
    const Claim* const promise = client_claim(result.claims);
    record["client_claim"] = promise != nullptr ? to_json(*promise) : nlohmann::json(nullptr);
  }
  return py::make_tuple(record.dump(),
                        tensors_of(made->layout(), network_weights(made->layout(), result.model)));
}

}  // namespace
}  // namespace sotto::python

PYBIND11_MODULE(_train, module) {
  using sotto::python::Watched;
  module.doc() = "Runs of recipes.";
#ifdef SOTTO_WITH_TORCH
  module.attr("has_torch") = true;
#else
  module.attr("has_torch") = false;
#endif
  const py::module_ core = py::module_::import("sotto._core");
  sotto::python::translate_failures(core.attr("PrivacyError"), core.attr("BudgetExceeded"));
  py::class_<Watched>(module, "Watched")
      .def(py::init<>())
      .def_readwrite("on_round", &Watched::on_round)
      .def_readwrite("on_client", &Watched::on_client)
      .def_readwrite("on_prepare", &Watched::on_prepare)
      .def_readwrite("on_note", &Watched::on_note);
  module.def("run", &sotto::python::run);
}
