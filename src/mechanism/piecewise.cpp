// `piecewise`: the piecewise mechanism of Wang et al. (ICDE 2019) on a lattice. An answer lies in a
// window around the input with probability H / (H + 1), H = e^(eps/2), and anywhere else in
// [-C, C], C = (H + 1) / (H - 1) in units of the radius, otherwise.
//
// It is the window channel (mechanism/window.h) of equally spaced slots of which the window has the
// share 1 / (H + 1). With that share the masses inside and outside are H : 1 and the densities
// e^eps : 1. Variance in units of r^2: x^2 / (H - 1) + (H + 3) / (3 (H - 1)^2) at x in [-1, 1].
#include "mechanism/value/value.h"
#include "mechanism/window/window.h"
#include "mechanism/window/window_solver.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon, kPrecision};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  const double epsilon = get(parameters, "epsilon");
  const double odds = 1.0 / portable_exp(epsilon / 2.0);
  return make_window_mechanism("piecewise.v1", std::move(domain), parameters,
                               linear_plan(odds, epsilon));
}

}  // namespace

const Registration piecewise_registration = {
    .info = {.name = "piecewise",
             .kind = MechanismKind::kValue,
             .summary = "a window around the weight is e^eps times as likely as the rest",
             .input = "a weight in [c - r, c + r], rounded to the grid of step 10^-p",
             .output = "a lattice value in [c - rC, c + rC], C = (H + 1) / (H - 1), H = e^(eps/2)",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = true,
             .bias = "unbiased for the rounded weight",
             .reference = "Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019 (ICDE)",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
