#include "errors.h"

namespace sotto::python {
namespace {

/// Kept for as long as the interpreter lives: modules are never unloaded.
PyObject* privacy_error_class = nullptr;
PyObject* budget_exceeded_class = nullptr;

PyObject* class_of(const Failure& failure) {
  switch (failure.error().kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kCorrupt:
      return PyExc_ValueError;
    case ErrorKind::kNotFound:
      return PyExc_FileNotFoundError;
    case ErrorKind::kIo:
    case ErrorKind::kBusy:
      return PyExc_OSError;
    case ErrorKind::kRefused:
      return failure.by_ledger() ? budget_exceeded_class : privacy_error_class;
    case ErrorKind::kInternal:
      break;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void translate_failures(const pybind11::object& privacy_error,
                        const pybind11::object& budget_exceeded) {
  privacy_error_class = pybind11::object(privacy_error).release().ptr();
  budget_exceeded_class = pybind11::object(budget_exceeded).release().ptr();
  pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      PyErr_SetString(class_of(failure), failure.what());
    }
  });
}

}  // namespace sotto::python
