// The ledger for Python. SQLite may wait for another process: the interpreter is free meanwhile,
// and a lock keeps the threads of this one apart.
#include "sotto/ledger.h"

#include <pybind11/stl.h>

#include <mutex>

#include "bindings.h"
#include "errors.h"

namespace py = pybind11;
using namespace py::literals;

namespace sotto::python {
namespace {

const char* name_of(ChargeState state) {
  switch (state) {
    case ChargeState::kCharged:
      return "charged";
    case ChargeState::kBound:
      return "bound";
    case ChargeState::kDelivered:
      break;
  }
  return "delivered";
}

class OpenLedger {
 public:
  explicit OpenLedger(const std::string& path) : ledger_(take(open_ledger(path))) {}

  /// Runs `work` alone, with the interpreter free.
  template <class Work>
  auto alone(Work work) {
    py::gil_scoped_release free;
    const std::lock_guard lock(mutex_);
    if (!ledger_) throw Failure({ErrorKind::kUsage, "the ledger is closed"});
    return work(*ledger_);
  }

  void close() {
    py::gil_scoped_release free;
    const std::lock_guard lock(mutex_);
    ledger_.reset();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Ledger> ledger_;
};

Limits limits_of(double per_round, double epsilon, double delta,
                 std::optional<std::uint64_t> rounds) {
  Limits limits{per_round, epsilon, delta};
  if (rounds) limits.rounds = *rounds;
  return limits;
}

std::optional<std::uint64_t> rounds_of(const Limits& limits) {
  const bool any = limits.rounds == std::numeric_limits<std::uint64_t>::max();
  return any ? std::nullopt : std::optional(limits.rounds);
}

/// Nothing where there is no such account.
py::object spent(OpenLedger& self, const std::string& client, const std::string& dataset) {
  const auto found =
      self.alone([&](const Ledger& ledger) { return ledger.spent(client, dataset); });
  if (!found && found.error().kind == ErrorKind::kNotFound) return py::none();
  const Spent all = take(found);
  return py::dict("rounds"_a = all.rounds, "epsilon"_a = all.epsilon,
                  "epsilon_sum"_a = all.epsilon_sum, "delta_sum"_a = all.delta_sum,
                  "renyi_sum"_a = all.renyi_sum,
                  "limits"_a = py::make_tuple(all.limits.epsilon_per_round, all.limits.epsilon,
                                              all.limits.delta, rounds_of(all.limits)));
}

Charge charge(OpenLedger& self, const std::string& client, const std::string& dataset,
              const std::string& task, RoundId round, const Made& made) {
  const Mechanism& mechanism = *made.mechanism;
  auto charged = self.alone([&](Ledger& ledger) {
    return ledger.charge({client, dataset, task, round, std::string(mechanism.id()),
                          Cost::of(mechanism.guarantee())});
  });
  if (charged) return *charged;
  // An account that nobody opened allows nothing: that is a refusal as well.
  Error error = charged.error();
  if (error.kind == ErrorKind::kNotFound) error.kind = ErrorKind::kRefused;
  throw Failure(std::move(error), true);
}

py::bytes report(OpenLedger& self, const Charge& charge) {
  const auto bytes = take(self.alone([&](const Ledger& ledger) { return ledger.report(charge); }));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::dict verify(const std::string& path) {
  LedgerReport found;
  {
    py::gil_scoped_release free;
    found = take(verify_ledger(path));
  }
  return py::dict("entries"_a = found.head.entries, "hash"_a = found.head.hash,
                  "accounts"_a = found.accounts.size());
}

}  // namespace

void bind_ledger(py::module_& module) {
  py::class_<Charge>(module, "Charge")
      .def_readonly("id", &Charge::id)
      .def_readonly("round", &Charge::round)
      .def_readonly("mechanism_id", &Charge::mechanism_id)
      .def_property_readonly("state", [](const Charge& self) { return name_of(self.state); });
  py::class_<OpenLedger>(module, "OpenLedger")
      .def(py::init<const std::string&>())
      .def("close", &OpenLedger::close)
      .def("set_limits",
           [](OpenLedger& self, const std::string& client, const std::string& dataset,
              double per_round, double epsilon, double delta, std::optional<std::uint64_t> rounds) {
             const Limits limits = limits_of(per_round, epsilon, delta, rounds);
             take(self.alone(
                 [&](Ledger& ledger) { return ledger.set_limits(client, dataset, limits); }));
           })
      .def("spent", &spent)
      .def("charge", &charge)
      .def("bind",
           [](OpenLedger& self, const Charge& charge, const py::bytes& bytes) {
             const std::string_view text = bytes;
             take(self.alone([&](Ledger& ledger) {
               return ledger.bind(charge, std::as_bytes(std::span(text)));
             }));
           })
      .def("report", &report)
      .def("delivered",
           [](OpenLedger& self, const Charge& charge) {
             take(self.alone([&](Ledger& ledger) { return ledger.delivered(charge); }));
           })
      .def("head", [](OpenLedger& self) {
        const LedgerHead head =
            take(self.alone([](const Ledger& ledger) { return ledger.head(); }));
        return py::make_tuple(head.entries, head.hash);
      });
  module.def("verify_ledger", &verify);
}

}  // namespace sotto::python
