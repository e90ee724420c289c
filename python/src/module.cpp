// The extension module sotto._core. What people call is python/sotto/*.py; this is the thin layer
// below, one file for each part of the library.
#include "bindings.h"
#include "errors.h"
#include "sotto/version.h"

namespace py = pybind11;

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled core of the package sotto.";
  module.attr("version") = SOTTO_VERSION;
  const auto make_error = [&](const char* name, PyObject* base, const char* doc) {
    const std::string full = std::string("sotto.") + name;
    auto made = py::reinterpret_steal<py::object>(
        PyErr_NewExceptionWithDoc(full.c_str(), doc, base, nullptr));
    module.attr(name) = made;
    return made;
  };
  const py::object privacy = make_error("PrivacyError", PyExc_RuntimeError,
                                        "Allowed by form, but it would give private data away.");
  const py::object budget =
      make_error("BudgetExceeded", privacy.ptr(),
                 "The ledger refused a charge: nothing was computed or sent.");
  sotto::python::translate_failures(privacy, budget);
  sotto::python::bind_mechanism(module);
  sotto::python::bind_facts(module);
  sotto::python::bind_account(module);
  sotto::python::bind_ledger(module);
  sotto::python::bind_audit(module);
  sotto::python::bind_data(module);
}
