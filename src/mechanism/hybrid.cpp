// `hybrid`: the hybrid mechanism of Wang et al. (ICDE 2019). For eps > 0.61 it is `piecewise` with
// probability 1 - e^(-eps/2) and two-point otherwise; for smaller eps it is two-point alone.
//
// Each part is eps-LDP and unbiased. The two values of the two-point part lie on the lattice of the
// slots, between two of them, so an answer tells which part it is from, and the ratio of two
// probabilities is that of one part: the mixture is eps-LDP. Their magnitude is rounded outward to
// the lattice and the probabilities lean accordingly less: unbiased still, and no ratio grows.
#include "base/exact/exact.h"
#include "mechanism/value/value.h"
#include "mechanism/window/window.h"
#include "mechanism/window/window_solver.h"

namespace sotto {
namespace {

constexpr double kTwoPointUpTo = 0.61;
constexpr ParameterInfo kParameters[] = {kEpsilon, kPrecision};

WindowPlan hybrid_plan(double epsilon) {
  if (epsilon <= kTwoPointUpTo) return two_slot_plan(epsilon);
  WindowPlan plan = linear_plan(1.0 / portable_exp(epsilon / 2.0), epsilon);
  const exact::Rational whole(exact::Integer(1) << 64);
  const exact::Integer share = exact::floor_times_exp(whole, -epsilon / 2.0);
  add_pair(plan, share.convert_to<std::uint64_t>(), epsilon);
  return plan;
}

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  return make_window_mechanism("hybrid.v1", std::move(domain), parameters,
                               hybrid_plan(get(parameters, "epsilon")));
}

}  // namespace

const Registration hybrid_registration = {
    .info = {.name = "hybrid",
             .kind = MechanismKind::kValue,
             .summary = "piecewise or two-point at random, less variance than either",
             .input = "a weight in [c - r, c + r], rounded to the grid of step 10^-p",
             .output = "a lattice value as of piecewise, or one of two as of two-point",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = true,
             .bias = "unbiased for the rounded weight",
             .reference = "Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019 (ICDE)",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
