// Data sets as arrays: the memory that was read into becomes the array's own.
#include "sotto/data.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings.h"
#include "errors.h"

namespace py = pybind11;
using namespace py::literals;

namespace sotto::python {
namespace {

template <class T>
py::array own(std::vector<T>&& values, std::vector<py::ssize_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept,
                          [](void* pointer) { delete static_cast<std::vector<T>*>(pointer); });
  return py::array_t<T>(std::move(shape), kept->data(), owner);
}

py::dict to_dict(Dataset&& data) {
  const auto count = static_cast<py::ssize_t>(data.size());
  const std::vector<py::ssize_t> shape = {count, data.shape.channels, data.shape.height,
                                          data.shape.width};
  py::array x =
      std::visit([&](auto&& values) { return own(std::forward<decltype(values)>(values), shape); },
                 std::move(data.values));
  py::object users = py::none();
  if (!data.users.empty()) users = own(std::move(data.users), {count});
  return py::dict("x"_a = x, "y"_a = own(std::move(data.labels), {count}),
                  "classes"_a = data.classes, "class_names"_a = data.class_names,
                  "users"_a = users);
}

py::dict load(const std::string& source, const std::string& labels, const std::string& test,
              const std::string& test_labels, double test_fraction, std::uint64_t seed,
              const std::string& folder) {
  DataSplit split;
  {
    py::gil_scoped_release free;
    split = take(load_data({source, labels, test, test_labels, test_fraction, seed, folder}));
  }
  return py::dict("name"_a = split.name, "train"_a = to_dict(std::move(split.train)),
                  "test"_a = to_dict(std::move(split.test)));
}

}  // namespace

void bind_data(py::module_& module) { module.def("load_data", &load); }

}  // namespace sotto::python
