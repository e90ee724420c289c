// The parts of sotto._core, one function for each file, and the class that two of them share.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto::python {

/// A tensor as Python describes it: name, shape, whether it is a buffer, centre, radius.
struct TensorArgument {
  std::string name;
  std::vector<std::int64_t> shape;
  bool buffer = false;
  Range range;
};

/// A mechanism made for inputs of one layout: what a sotto.Mechanism keeps for each shape it met.
struct Made {
  std::shared_ptr<const Mechanism> mechanism;
};

/// Epsilon, delta, unit, ... by name; the claims and bounds of accounting likewise.
pybind11::dict to_dict(const Guarantee& guarantee);

void bind_mechanism(pybind11::module_& module);
void bind_facts(pybind11::module_& module);
void bind_account(pybind11::module_& module);
void bind_ledger(pybind11::module_& module);
void bind_audit(pybind11::module_& module);
void bind_data(pybind11::module_& module);

}  // namespace sotto::python
