// How the integers of a window channel are chosen: masses as large as e^eps allows, in exact
// arithmetic, and a pair rounded outward to the lattice of the slots.
#include <algorithm>
#include <cmath>

#include "base/exact/exact.h"
#include "mechanism/value/coin.h"
#include "mechanism/window/window.h"

namespace sotto {
namespace {

using exact::Integer;

constexpr unsigned kExpBits = 256;
constexpr int kLeastLog = 12;
constexpr int kMostLog = 21;  // so that an alphabet can be listed
constexpr double kLeastWindow = 32.0;

/// floor(2^256 e^epsilon): dividing by 2^256 never gives more than e^epsilon.
Integer scaled_exp(double epsilon) {
  return exact::floor_times_exp(exact::Rational(Integer(1) << kExpBits), epsilon);
}

/// The mass that is left when `pair` is taken from 2^64.
Integer rest_of(std::uint64_t pair) { return (Integer(1) << 64) - pair; }

}  // namespace

void set_masses(WindowPlan& plan, double epsilon) {
  // M_out >= D (N - n) / (e^eps n + (N - n)), with e^eps rounded down: never too little outside.
  const Integer rest = rest_of(plan.pair);
  const Integer outside = (Integer(plan.slots) - plan.window) << kExpBits;
  const Integer inside = scaled_exp(epsilon) * plan.window;
  const Integer mass = (rest * outside + (inside + outside) - 1) / (inside + outside);
  plan.outside = mass.convert_to<std::uint64_t>();
  plan.inside = Integer(rest - mass).convert_to<std::uint64_t>();
}

WindowPlan linear_plan(double odds, double epsilon) {
  int log = kLeastLog;
  while (log < kMostLog && std::ldexp(odds, log) < kLeastWindow) ++log;
  const std::int32_t outside = std::int32_t{1} << log;
  WindowPlan plan;
  plan.window = static_cast<std::int32_t>(
      std::clamp(std::round(std::ldexp(odds, log)), 1.0, static_cast<double>(outside)));
  plan.slots = plan.window + outside;
  set_masses(plan, epsilon);
  return plan;
}

WindowPlan two_slot_plan(double epsilon) {
  WindowPlan plan;
  set_masses(plan, epsilon);
  return plan;
}

double window_reach(const WindowPlan& plan) {
  const Integer outside = plan.slots - plan.window;
  const Integer window = plan.window;
  Integer sum = window * outside;
  if (!plan.values.empty()) {
    sum = 0;
    for (auto k = static_cast<std::size_t>(plan.slots - plan.window); k < plan.values.size(); ++k) {
      sum += plan.values[k];
    }
  }
  // A (M_in / n - M_out / (N - n)) / (M_in + M_out), rounded once.
  const Integer gain = (Integer(plan.inside) * outside - Integer(plan.outside) * window) * sum;
  const exact::Rational mean(gain, window * outside * rest_of(plan.pair));
  return mean.convert_to<double>();
}

void add_pair(WindowPlan& plan, std::uint64_t share, double epsilon) {
  plan.pair = share;
  set_masses(plan, epsilon);
  if (share == 0) return;
  plan.pair_most = largest_lean(epsilon);
  // The least magnitude is reach times E = 2^63 / most. Slots have the parity of N - 1: the pair
  // takes the other one.
  auto symbol =
      static_cast<std::int32_t>(std::ceil(window_reach(plan) * (0x1p63 / plan.pair_most)));
  if ((symbol & 1) != (plan.slots & 1)) ++symbol;
  plan.pair_symbol = symbol;
}

}  // namespace sotto
