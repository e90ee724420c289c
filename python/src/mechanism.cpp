// Mechanisms, envelopes and the aggregator for Python.
//
// Arrays of float32 that lie in one piece are read once, where they are: they are clipped on the
// way into a vector whose memory is used again by the thread's next call. The interpreter is free
// for other threads while the core works.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/clock.h"
#include "bindings.h"
#include "errors.h"
#include "sotto/aggregate.h"

namespace py = pybind11;

namespace sotto::python {
namespace {

constexpr double kMost = std::numeric_limits<float>::max();

Made make(const std::string& name, const std::map<std::string, double>& parameters,
          const std::vector<TensorArgument>& tensors) {
  auto layout = std::make_shared<Layout>();
  Domain domain;
  for (const TensorArgument& tensor : tensors) {
    layout->add(tensor.name, tensor.shape,
                tensor.buffer ? TensorRole::kBuffer : TensorRole::kParameter);
    domain.ranges.push_back(tensor.range);
  }
  domain.layout = std::move(layout);
  const Parameters set(parameters.begin(), parameters.end());
  py::gil_scoped_release free;
  return {take(make_mechanism(name, std::move(domain), set))};
}

/// Memory for a client's values, kept for the thread's next report: fresh pages cost as much as the
/// sampling.
thread_local std::vector<float> scratch;

/// The values of an array, bounded; what is finite stays finite on the way from float64.
Bounded bounded(const Domain& domain, const py::array& x, std::vector<float> memory) {
  const std::size_t size = domain.layout->size();
  if (static_cast<std::size_t>(x.size()) != size) {
    throw Failure({ErrorKind::kUsage, "the array has " + std::to_string(x.size()) +
                                          " values; this mechanism was made for " +
                                          std::to_string(size)});
  }
  const bool in_one_piece = (x.flags() & py::array::c_style) != 0;
  if (in_one_piece && py::isinstance<py::array_t<float>>(x)) {
    const auto* const values = static_cast<const float*>(x.data());
    const py::gil_scoped_release free;
    return bound(std::span(values, size), domain, std::move(memory));
  }
  if (in_one_piece && py::isinstance<py::array_t<double>>(x)) {
    const auto* const values = static_cast<const double*>(x.data());
    const py::gil_scoped_release free;
    memory.resize(size);
    std::transform(values, values + size, memory.begin(), [](double value) {
      return static_cast<float>(std::isfinite(value) ? std::clamp(value, -kMost, kMost) : value);
    });
    return bound(Update(domain.layout, std::move(memory)), domain);
  }
  throw Failure({ErrorKind::kUsage, "an array of float32 or float64 in C order is needed"});
}

Envelope perturb(const Made& made, const py::array& x, std::optional<std::uint64_t> seed,
                 unsigned threads, RoundId round) {
  const Mechanism& mechanism = *made.mechanism;
  Bounded input = bounded(mechanism.domain(), x, std::move(scratch));
  const py::gil_scoped_release free;
  BitSource bits = seed ? BitSource::from_seed(*seed, "perturb") : BitSource::from_system();
  Report report = mechanism.perturb(input, bits, threads);
  scratch = std::move(input).take();
  return std::move(pack(std::move(report), round).front());
}

/// Seconds that C++ alone takes for what perturb() does: what a comparison of speeds calls in turns
/// with perturb(), so that both meet the same machine. The values stay as they are and are bounded
/// into memory that was used before, or `in_place`, in a vector that was filled beforehand.
double seconds_of_core(const Made& made, const py::array_t<float, py::array::c_style>& x,
                       bool in_place) {
  const Mechanism& mechanism = *made.mechanism;
  const Domain& domain = mechanism.domain();
  const std::span values(x.data(), static_cast<std::size_t>(x.size()));
  const py::gil_scoped_release free;
  std::vector<float> memory = std::move(scratch);
  if (in_place) memory.assign(values.begin(), values.end());
  const Stopwatch clock;
  BitSource bits = BitSource::from_system();
  Bounded input = in_place ? bound(Update(domain.layout, std::move(memory)), domain)
                           : bound(values, domain, std::move(memory));
  const Report report = mechanism.perturb(input, bits);
  const double seconds = clock.seconds();
  scratch = std::move(input).take();
  return seconds;
}

std::vector<float> bounded_values(const Made& made, const py::array& x) {
  return bounded(made.mechanism->domain(), x, {}).take();
}

/// The symbols as NumPy sees them: where the width is one of its types, the very bytes.
py::array symbols_of(const py::object& self) {
  const auto& packed = self.cast<const Envelope&>().symbols();
  const auto count = static_cast<py::ssize_t>(packed.size());
  const char* type = nullptr;
  switch (packed.bits()) {
    case 8:
      type = "<i1";
      break;
    case 16:
      type = "<i2";
      break;
    case 32:
      type = "<i4";
      break;
    case 64:
      type = "<i8";
      break;
    default:
      break;
  }
  if (type != nullptr) {
    py::array view(py::dtype(type), {count}, {}, packed.bytes().data(), self);
    view.attr("setflags")(py::arg("write") = false);
    return view;
  }
  const std::vector<Symbol> all = packed.unpacked();
  if (packed.bits() > 1) return py::array_t<Symbol>(count, all.data());
  py::array_t<std::uint8_t> bits(count);
  std::transform(all.begin(), all.end(), bits.mutable_data(),
                 [](Symbol bit) { return static_cast<std::uint8_t>(bit); });
  return bits;
}

/// What one report is taken for. Decoded block by block, without a copy of all symbols.
template <class Float>
py::array decode_as(const Made& made, const Envelope& envelope) {
  const Mechanism& mechanism = *made.mechanism;
  if (envelope.mechanism_id() != mechanism.id() || envelope.position() != 0 ||
      envelope.symbols().size() != mechanism.outputs()) {
    throw Failure({ErrorKind::kUsage, "a report of " + envelope.mechanism_id() + " with " +
                                          std::to_string(envelope.symbols().size()) +
                                          " symbols; valid: one of " + std::string(mechanism.id()) +
                                          " with " + std::to_string(mechanism.outputs())});
  }
  const std::size_t size = mechanism.outputs();
  py::array_t<Float> out(static_cast<py::ssize_t>(size));
  Float* const to = out.mutable_data();
  py::gil_scoped_release free;
  constexpr std::size_t kBlock = 4096;
  std::vector<Symbol> symbols(std::min(kBlock, size));
  std::vector<double> values(symbols.size());
  for (std::size_t first = 0; first < size; first += kBlock) {
    const std::size_t count = std::min(kBlock, size - first);
    const std::span part(symbols.data(), count);
    envelope.symbols().read(first, part);
    mechanism.decode(part, 1, first, {values.data(), count});
    std::transform(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), to + first,
                   [](double value) { return static_cast<Float>(value); });
  }
  return out;
}

double log_prob(const Made& made,
                const py::array_t<Symbol, py::array::c_style | py::array::forcecast>& symbols,
                const py::array& x) {
  const std::vector<float> values = bounded_values(made, x);
  if (static_cast<std::size_t>(symbols.size()) != made.mechanism->outputs()) {
    throw Failure({ErrorKind::kUsage, std::to_string(symbols.size()) + " symbols; valid: " +
                                          std::to_string(made.mechanism->outputs())});
  }
  const std::span all(symbols.data(), static_cast<std::size_t>(symbols.size()));
  py::gil_scoped_release free;
  return made.mechanism->log_prob(all, values);
}

/// Rows of mean, bias and variance of every output.
py::array_t<double> moments(const Made& made, const py::array& x) {
  const std::vector<float> values = bounded_values(made, x);
  const std::size_t size = made.mechanism->outputs();
  py::array_t<double> out({py::ssize_t{3}, static_cast<py::ssize_t>(size)});
  double* const to = out.mutable_data();
  py::gil_scoped_release free;
  for (std::size_t i = 0; i < size; ++i) {
    const Moments found = made.mechanism->moments(values, i);
    to[i] = found.mean;
    to[size + i] = found.bias;
    to[2 * size + i] = found.variance;
  }
  return out;
}

py::tuple release(const Aggregator& aggregator) {
  const Released released = take(aggregator.release());
  const auto values = released.values();
  return py::make_tuple(py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data()),
                        released.reports());
}

}  // namespace

py::dict to_dict(const Guarantee& guarantee) {
  using namespace py::literals;
  return py::dict("epsilon"_a = guarantee.epsilon, "delta"_a = guarantee.delta,
                  "statement"_a = guarantee.statement, "unit"_a = name_of(guarantee.unit),
                  "unit_epsilon"_a = guarantee.unit_epsilon,
                  "claimed_epsilon"_a = guarantee.claimed_epsilon, "units"_a = guarantee.units);
}

void bind_mechanism(py::module_& module) {
  py::class_<TensorArgument>(module, "Tensor")
      .def(py::init([](std::string name, std::vector<std::int64_t> shape, bool buffer,
                       double centre, double radius) {
        return TensorArgument{std::move(name), std::move(shape), buffer, {centre, radius}};
      }));
  py::class_<Envelope>(module, "Envelope")
      .def_property_readonly("round", &Envelope::round)
      .def_property_readonly("mechanism_id", &Envelope::mechanism_id)
      .def_property_readonly("symbols", &symbols_of)
      .def_property_readonly("symbol_bits",
                             [](const Envelope& self) { return self.symbols().bits(); })
      .def("serialize",
           [](const Envelope& self) {
             const auto bytes = self.serialize();
             return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def_static("parse", [](const py::bytes& bytes) {
        const std::string_view text = bytes;
        return take(Envelope::parse(std::as_bytes(std::span(text))));
      });
  py::class_<Made>(module, "Made")
      .def(py::init(&make))
      .def_property_readonly("id", [](const Made& self) { return self.mechanism->id(); })
      .def_property_readonly("outputs", [](const Made& self) { return self.mechanism->outputs(); })
      .def_property_readonly("symbol_bits",
                             [](const Made& self) { return self.mechanism->symbol_bits(); })
      .def("guarantee", [](const Made& self) { return to_dict(self.mechanism->guarantee()); })
      .def("perturb", &perturb)
      .def("seconds_of_core", &seconds_of_core)
      .def("decode32", &decode_as<float>)
      .def("decode64", &decode_as<double>)
      .def("log_prob", &log_prob)
      .def("moments", &moments);
  py::class_<Aggregator>(module, "Aggregator")
      .def(py::init(
          [](const Made& made, RoundId round) { return Aggregator(made.mechanism, round); }))
      .def("accept",
           [](Aggregator& self, const Envelope& envelope) { take(self.accept(envelope)); })
      .def("release", &release);
}

}  // namespace sotto::python
