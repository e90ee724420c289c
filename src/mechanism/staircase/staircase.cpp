#include "mechanism/staircase/staircase.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"

namespace sotto {
namespace {

using exact::Integer;

constexpr unsigned kFraction = 128;  // bits behind the point of e^eps

/// T_1 .. T_(m-1) of the ideal staircase, rounded down.
std::vector<std::uint64_t> rounded_thresholds(std::span<const std::int64_t> sizes, double epsilon) {
  const Integer one = Integer(1) << kFraction;
  const Integer power = exact::floor_times_exp(exact::Rational(one), epsilon);
  const Integer last = sizes.size() - 1;  // m - 1
  Integer outputs = 0, weighted = 0;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    outputs += sizes[j];
    weighted += Integer(sizes[j]) * j;
  }
  const Integer fall = power - one;
  const Integer whole = last * outputs * power - fall * weighted;
  std::vector<std::uint64_t> thresholds;
  Integer cumulated = 0, height = last * power;
  for (std::size_t j = 0; j + 1 < sizes.size(); ++j, height -= fall) {
    cumulated += height * sizes[j];
    thresholds.push_back(static_cast<std::uint64_t>(Integer((cumulated << 64) / whole)));
  }
  return thresholds;
}

}  // namespace

Staircase::Staircase(std::vector<std::int64_t> sizes, std::vector<std::uint64_t> thresholds)
    : sizes_(std::move(sizes)), thresholds_(std::move(thresholds)) {
  begins_.push_back(0);
  for (const std::int64_t size : sizes_) begins_.push_back(begins_.back() + size);
  const std::size_t last = groups() - 1;
  const Integer last_mass = mass(last);
  for (std::size_t j = 0; j < groups(); ++j) {
    const Integer of_group = mass(j);
    const auto size = static_cast<double>(sizes_[j]);
    const auto words = of_group.convert_to<double>();
    log_probabilities_.push_back(std::log(words / size) - 64.0 * std::numbers::ln2);
    probabilities_.push_back(std::ldexp(words / size, -64));
    // From the integers: the difference of two rounded probabilities would lose a small slope.
    const Integer over = of_group * sizes_[last] - last_mass * sizes_[j];
    excess_.push_back(
        std::ldexp(over.convert_to<double>() / size / static_cast<double>(sizes_[last]), -64));
  }
}

Integer Staircase::mass(std::size_t j) const {
  const Integer from = j == 0 ? Integer(0) : Integer(thresholds_[j - 1]);
  const Integer to = j + 1 == groups() ? Integer(1) << 64 : Integer(thresholds_[j]);
  return to - from;
}

bool Staircase::holds(double epsilon) const {
  Integer here = mass(0);
  for (std::size_t j = 0; j + 1 < groups(); ++j) {
    const Integer next = mass(j + 1);
    if (next <= 0 || here * sizes_[j + 1] < next * sizes_[j]) return false;
    here = next;
  }
  return exact::at_most_exp(exact::Rational(mass(0) * sizes_.back()),
                            exact::Rational(here * sizes_.front()), epsilon);
}

Result<Staircase> Staircase::make(std::vector<std::int64_t> sizes, double epsilon) {
  if (sizes.size() == 1) return Staircase(std::move(sizes), {});
  Staircase staircase(sizes, rounded_thresholds(sizes, epsilon));
  if (staircase.holds(epsilon)) return staircase;
  constexpr double kMost = 1000.0;
  double enough = epsilon;
  while (enough < kMost && !Staircase(sizes, rounded_thresholds(sizes, enough)).holds(enough)) {
    enough *= 2.0;
  }
  return fail(ErrorKind::kUsage, "epsilon = " + short_number(epsilon) + " is too small for " +
                                     with_commas(static_cast<std::uint64_t>(staircase.outputs())) +
                                     " grid values in " + std::to_string(sizes.size()) +
                                     " groups with 64-bit probabilities; valid: " +
                                     short_number(enough * 1.001) + " and above");
}

std::size_t Staircase::group_of_bits(std::uint64_t bits) const {
  const auto above = std::upper_bound(thresholds_.begin(), thresholds_.end(), bits);
  return static_cast<std::size_t>(above - thresholds_.begin());
}

std::size_t Staircase::group_of_rank(std::int64_t rank) const {
  const auto above = std::upper_bound(begins_.begin(), begins_.end(), rank);
  return static_cast<std::size_t>(above - begins_.begin()) - 1;
}

double Staircase::epsilon() const {
  return exact::log_ratio_up(exact::Rational(mass(0) * sizes_.back()),
                             exact::Rational(mass(groups() - 1) * sizes_.front()));
}

double Staircase::least_common() const {
  const std::int64_t radius = (outputs() - 1) / 2;
  exact::Rational sum = 0;
  for (std::size_t j = 0; j < groups(); ++j) {
    const std::int64_t beyond = begins_[j + 1] - std::max(begins_[j], radius + 1);
    const bool middle = begins_[j] <= radius && radius < begins_[j + 1];
    const Integer outputs_here = 2 * std::max<std::int64_t>(beyond, 0) + (middle ? 1 : 0);
    sum += exact::Rational(outputs_here * mass(j), sizes_[j]);
  }
  return exact::round_down(sum / (Integer(1) << 64));
}

double Staircase::mean_output(const DistanceRanks& input) const {
  // All outputs together sum to zero, so only what a group has beyond the last one counts.
  double mean = 0.0;
  double before = 0.0;
  for (std::size_t j = 0; j + 1 < groups(); ++j) {
    const double after = sums_before(begins_[j + 1], input).first;
    const double inputs = static_cast<double>(sizes_[j]) * static_cast<double>(input.centred);
    mean += excess_[j] * (inputs + (after - before));
    before = after;
  }
  return mean;
}

double Staircase::mean_of(const DistanceRanks& input, double RankSums::*part) const {
  double sum = 0.0;
  double before = 0.0;
  for (std::size_t j = 0; j < groups(); ++j) {
    const double after = sums_before(begins_[j + 1], input).*part;
    sum += probabilities_[j] * (after - before);
    before = after;
  }
  return sum;
}

double Staircase::slope() const {
  const std::int64_t radius = (outputs() - 1) / 2;
  if (radius == 0) return 1.0;
  const double squares = 2.0 * squares_to(static_cast<double>(radius));
  // sum over s of s F(B, s), where F is sums_before().first: inputs whose shorter side holds B
  // ranks have the same F for s and -s and cancel; for the others, |s| = a > (d - B) / 2, it is
  // -a B (2a - (d - B)) / 2.
  const auto cross = [&](std::int64_t end) {
    const std::int64_t cancels = (outputs() - end) / 2;  // the largest a that does
    const auto from = static_cast<double>(cancels);
    const auto to = static_cast<double>(radius);
    const auto rest = static_cast<double>(outputs() - end);
    return -static_cast<double>(end) *
           (2.0 * (squares_to(to) - squares_to(from)) - rest * (sum_to(to) - sum_to(from)));
  };
  double slope = 0.0;
  for (std::size_t j = 0; j + 1 < groups(); ++j) {
    const double turned = (cross(begins_[j + 1]) - cross(begins_[j])) / squares;
    slope += excess_[j] * (static_cast<double>(sizes_[j]) + turned);
  }
  return slope;
}

}  // namespace sotto
