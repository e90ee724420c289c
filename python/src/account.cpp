// Accounting: privacy-loss distributions, bounds on composition and shuffling, plans, the claims of
// a mechanism or a recipe, and certificates.
#include "sotto/account.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <nlohmann/json.hpp>

#include "account/claim_text.h"
#include "account/plan.h"
#include "bindings.h"
#include "errors.h"
#include "sotto/certificate.h"
#include "sotto/claims.h"
#include "sotto/federation.h"

namespace py = pybind11;
using namespace py::literals;

namespace sotto::python {
namespace {

py::dict to_dict(const Bound& bound) {
  return py::dict("name"_a = bound.name, "epsilon"_a = bound.epsilon, "delta"_a = bound.delta,
                  "theorem"_a = bound.theorem, "assumption"_a = bound.assumption,
                  "reason"_a = bound.reason, "upper"_a = bound.upper);
}

py::list to_list(const std::vector<Bound>& bounds) {
  py::list all;
  for (const Bound& bound : bounds) all.append(to_dict(bound));
  return all;
}

py::list to_list(const std::vector<Claim>& claims) {
  py::list all;
  for (const Claim& claim : claims) {
    all.append(py::dict(
        "scope"_a = scope_text(claim), "epsilon"_a = claim.epsilon, "delta"_a = claim.delta,
        "theorem"_a = claim.theorem, "assumption"_a = assumption_text(claim),
        "source"_a = source_text(claim), "unit"_a = name_of(claim.scope.unit),
        "period"_a = name_of(claim.scope.period), "view"_a = name_of(claim.scope.view),
        "colluders"_a = name_of(claim.scope.colluders), "status"_a = name_of(claim.status)));
  }
  return all;
}

py::list compose(double epsilon0, std::uint64_t count, double delta) {
  std::vector<Bound> bounds;
  {
    py::gil_scoped_release free;
    bounds = composition_bounds(epsilon0, count, delta);
  }
  return to_list(bounds);
}

py::list shuffle(double epsilon0, std::uint64_t clients, double delta, std::uint64_t count,
                 double sampling, std::uint64_t chunks, const Made* made) {
  std::vector<Bound> bounds;
  {
    py::gil_scoped_release free;
    ShuffleQuestion question{epsilon0, clients, delta, count, sampling, std::nullopt, chunks};
    if (made != nullptr) {
      question.mechanism = made->mechanism->background(0, made->mechanism->outputs());
      question.epsilon0 = question.mechanism->epsilon;
    }
    bounds = shuffle_bounds(question);
  }
  return to_list(bounds);
}

py::dict plan(const std::string& solve, double target, const Training& training) {
  const std::map<std::string, PlanUnknown> unknowns = {{"epsilon0", PlanUnknown::kEpsilon0},
                                                       {"split", PlanUnknown::kSplit},
                                                       {"rounds", PlanUnknown::kRounds},
                                                       {"clients", PlanUnknown::kClients}};
  Plan found;
  {
    py::gil_scoped_release free;
    found = take(make_plan(training, unknowns.at(solve), target));
  }
  return py::dict("possible"_a = found.possible, "value"_a = found.value,
                  "price"_a = to_dict(found.price), "next"_a = found.next,
                  "next_price"_a = found.next_price ? py::object(to_dict(*found.next_price))
                                                    : py::object(py::none()));
}

py::list claims(const Made& made, std::uint64_t rounds, std::uint64_t batch, bool shuffled,
                std::uint64_t split, double delta, double honest) {
  std::vector<Claim> all;
  {
    py::gil_scoped_release free;
    Exposure exposure;
    exposure.turns = {turn_of(made.mechanism, rounds, batch)};
    exposure.shuffle = shuffled ? ShuffleMode::kShuffler : ShuffleMode::kNone;
    exposure.split = split;
    exposure.delta = delta;
    exposure.honest = honest;
    all = claims_of(exposure);
  }
  return to_list(all);
}

/// As `sotto account RECIPE --json` says it, in part: "claims", "groups", "clients", ...
std::string plan_recipe(const std::string& text, const std::string& place,
                        const std::vector<std::string>& settings, const std::string& data) {
  py::gil_scoped_release free;
  const Recipe recipe = take(parse_recipe(text, place, settings));
  const PrivacyPlan plan = take(plan_privacy(recipe, data, {}));
  nlohmann::json json = privacy_record(plan.groups, true);
  json["recipe"] = recipe.to_json();
  json["clients"] = plan.clients;
  json["clients_per_round"] = plan.clients_per_round;
  return json.dump();
}

py::dict check(const std::string& text, const std::optional<std::string>& key) {
  CheckedCertificate checked;
  {
    py::gil_scoped_release free;
    checked = take(examine_certificate(text, key));
  }
  py::list findings;
  for (const CertificateFinding& finding : checked.findings) {
    findings.append(
        py::dict("what"_a = finding.what, "holds"_a = finding.holds, "detail"_a = finding.detail));
  }
  return py::dict("holds"_a = checked.holds(), "claims"_a = to_list(checked.claims),
                  "findings"_a = findings, "public_key"_a = checked.public_key,
                  "signer_known"_a = checked.signer_known,
                  "coins"_a = std::string(name_of(checked.content.coins)),
                  "protects"_a = checked.holds() && protects(checked.content.coins),
                  "mechanism_ids"_a = checked.mechanism_ids);
}

}  // namespace

void bind_account(py::module_& module) {
  using Free = py::call_guard<py::gil_scoped_release>;
  py::class_<PrivacyLoss>(module, "PrivacyLoss")
      .def_static("pure", &PrivacyLoss::pure, "epsilon"_a, Free())
      .def_static("approximate", &PrivacyLoss::approximate, "epsilon"_a, "delta"_a, Free())
      .def_static("gaussian", &PrivacyLoss::gaussian, "ratio"_a, Free())
      .def_static(
          "shuffled",
          [](double epsilon, std::uint64_t clients) {
            return PrivacyLoss::shuffled(Background{epsilon}, clients);
          },
          "epsilon"_a, "clients"_a, Free())
      .def_static(
          "of", [](const Made& made) { return loss_of(*made.mechanism); }, Free())
      .def("times", &PrivacyLoss::times, "count"_a, Free())
      .def("then", &PrivacyLoss::with, "other"_a, Free())
      .def("sampled", py::overload_cast<double>(&PrivacyLoss::sampled, py::const_), "rate"_a,
           Free())
      .def("poisson", &PrivacyLoss::poisson, "rate"_a, Free())
      .def("epsilon", &PrivacyLoss::epsilon, "delta"_a, Free())
      .def("delta", &PrivacyLoss::delta, "epsilon"_a, Free())
      .def("renyi", &PrivacyLoss::renyi, "order"_a, Free());
  py::class_<Training>(module, "Training")
      .def(py::init([](double epsilon0, std::uint64_t weights, std::uint64_t split,
                       std::uint64_t rounds, std::uint64_t clients, bool local, double sampling,
                       double delta) {
        return Training{epsilon0, weights, split, rounds, clients, local, sampling, delta};
      }));
  module.def("compose", &compose);
  module.def("shuffle", &shuffle);
  module.def("plan", &plan);
  module.def("claims", &claims);
  module.def("plan_recipe", &plan_recipe);
  module.def("check_certificate", &check);
}

}  // namespace sotto::python
