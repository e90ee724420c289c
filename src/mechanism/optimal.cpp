// `optimal`: the unbiased eps-LDP mechanism with the least worst-case variance.
//
// Why a window: let l(y) be the least probability of output y over all inputs. Every input's
// distribution lies between l and e^eps l. Among the distributions with a given mean, the one of
// least variance puts e^eps l on an interval of outputs and l elsewhere (a linear program in the
// density p / l with one constraint besides the mass: bang-bang, and the variance is convex in y).
// Measured in l-mass all these intervals are equally long, since each distribution sums to one. So
// with outputs replaced by their l-quantiles, cut into N slots of equal l-mass, the best mechanism
// is the window channel (mechanism/window.h) with some odd ascending values v(k), and
// mechanism/window_solver.h finds those: a convex minimax. Privacy and unbiasedness do not depend
// on how well it does that.
#include <cmath>
#include <map>
#include <mutex>

#include "mechanism/value/value.h"
#include "mechanism/window/window.h"
#include "mechanism/window/window_solver.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon, kPrecision};

WindowPlan optimal_plan(double epsilon) {
  constexpr double kLargestSymbol = 32767.0;  // two bytes
  const WindowShape shape = best_window_shape(epsilon);
  WindowPlan plan;
  plan.slots = shape.slots;
  plan.window = shape.window;
  if (!shape.upper.empty()) {
    const double lattice = kLargestSymbol / shape.upper.back();
    for (std::size_t j = shape.upper.size(); j-- > 0;) {
      plan.values.push_back(-static_cast<std::int32_t>(std::round(shape.upper[j] * lattice)));
    }
    for (std::size_t j = shape.upper.size(); j-- > 0;) plan.values.push_back(-plan.values[j]);
    // The second window must have a larger sum than the first. It has for whatever the solver
    // finds; if not, equal spacing takes its place.
    if (plan.values[static_cast<std::size_t>(plan.window)] == plan.values[0]) plan.values.clear();
  }
  set_masses(plan, epsilon);
  return plan;
}

/// Solved once for each epsilon in a process.
WindowPlan cached_plan(double epsilon) {
  static std::mutex mutex;
  static std::map<double, WindowPlan> plans;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto it = plans.find(epsilon);
  if (it != plans.end()) return it->second;
  return plans.emplace(epsilon, optimal_plan(epsilon)).first->second;
}

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  return make_window_mechanism("optimal.v1", std::move(domain), parameters,
                               cached_plan(get(parameters, "epsilon")));
}

}  // namespace

const Registration optimal_registration = {
    .info = {.name = "optimal",
             .kind = MechanismKind::kValue,
             .summary = "the least worst-case variance that an unbiased mechanism can have",
             .input = "a weight in [c - r, c + r], rounded to the grid of step 10^-p",
             .output = "one of some hundred values, from a convex program solved for epsilon",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = true,
             .bias = "unbiased for the rounded weight",
             .reference = "derived in docs/research/proofs.md; compare Kairouz, Oh, Viswanath 2016 "
                          "(extremal mechanisms) and Wang et al. 2019",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
