#include "mechanism/staircase/srr_groups.h"

#include <cmath>

#include "base/exact/exact.h"

namespace sotto {
namespace {

using exact::Integer;

bool valid(std::int64_t outputs, std::int64_t groups, double step) {
  return group_sizes(outputs, groups, step).has_value();
}

/// The last valid step from `inside`, which is valid, towards `outside`, which is not.
double last_valid(std::int64_t outputs, std::int64_t groups, double inside, double outside) {
  // Rounding can make a group empty and a little farther out fill it again: the first gap counts.
  constexpr int kProbes = 64;
  const double width = (outside - inside) / kProbes;
  for (int probe = 1; probe < kProbes; ++probe) {
    const double at = inside + width;
    if (!valid(outputs, groups, at)) {
      outside = at;
      break;
    }
    inside = at;
  }
  while (true) {
    const double middle = inside + (outside - inside) / 2.0;
    if (middle == inside || middle == outside) return inside;
    (valid(outputs, groups, middle) ? inside : outside) = middle;
  }
}

}  // namespace

std::optional<std::vector<std::int64_t>> group_sizes(std::int64_t outputs, std::int64_t groups,
                                                     double step) {
  const exact::Rational ratio = exact::rational(step);
  const Integer over = boost::multiprecision::numerator(ratio) * groups;
  const Integer under = boost::multiprecision::denominator(ratio);
  // S_j + 1/2 = ((2 j d + m) q + p m j (j-m)) / (2 m q) with Delta = p / q. Where it is negative a
  // group is empty anyway, so it does not matter that the division rounds towards zero.
  const Integer whole = 2 * under * groups;
  std::vector<std::int64_t> sizes;
  std::int64_t before = 0;
  for (std::int64_t j = 1; j <= groups; ++j) {
    const Integer twice = under * (2 * j * outputs + groups) + over * (j * (j - groups));
    const auto boundary = static_cast<std::int64_t>(Integer(twice / whole));
    if (boundary <= before) return std::nullopt;
    sizes.push_back(boundary - before);
    before = boundary;
  }
  return sizes;
}

StepInterval step_interval(std::int64_t outputs, std::int64_t groups) {
  const auto d = static_cast<double>(outputs);
  const auto m = static_cast<double>(groups);
  if (groups == 1) return {-d, d};  // one group has no step: any is as good
  const double sure = 2.0 * (d / m - 1.0) / (m - 1.0) * (1.0 - 1e-12);
  const double limit = 2.0 * d / m / (m - 1.0);  // eq. 5
  return {last_valid(outputs, groups, -sure, -limit), last_valid(outputs, groups, sure, limit)};
}

}  // namespace sotto
