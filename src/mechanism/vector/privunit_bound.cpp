#include "mechanism/vector/privunit_bound.h"

#include <cmath>
#include <limits>

namespace sotto {
namespace {

constexpr double kUnit = 0x1p-53;  // the relative error of a rounding
constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Products of errors, and the rounding of the bound itself.
constexpr double kRoom = 1.02;

/// 2^-64 / U at the largest radius: what the missing bits of U change in ln U.
double open_bits(const RadiusRange& range) {
  return 0x1p-64 * std::exp(range.most * range.most / 2.0);
}

bool extreme(const RadiusRange& range) { return !(range.least >= 0x1p-20 && range.most <= 8.0); }

}  // namespace

double angle_error(std::size_t dimension, double relative) {
  // A relative change of the tail turns the angle by the ratio of tail and density, which is
  // largest at the equator: pi / 2 in two dimensions, below 2.3 / sqrt(d) in all.
  constexpr double kQuantile = 0x1p-42;  // sixteen times what sphere.h allows its tails
  if (!(relative <= 0x1p-20)) return kInfinite;
  return (kQuantile + 2.5 * relative) / std::sqrt(static_cast<double>(dimension));
}

double deviate_error(const RadiusRange& range) {
  if (extreme(range)) return kInfinite;
  // 2^-64 / (U r) falls up to r = 1, where it is nothing beside u / (2 r), and rises from there on.
  return kRoom * (10.0 * kUnit * range.most + 2.0 * kUnit + 0.5 * kUnit / range.least +
                  open_bits(range) / std::fmax(range.most, 1.0));
}

void NoiseError::add(const RadiusRange& range, double each, std::size_t count) {
  const auto n = static_cast<double>(count);
  square += n * each * each;
  // 2 u r is at most u r^2 + u, and there are no more pairs than deviates.
  radial += n * kRoom * (1.5 * kUnit + open_bits(range));
  widest = std::fmax(widest, range.most);
}

FastPlan plan_fast(const FastVector& v) {
  const double reach = kPrivUnitScale * std::sqrt(static_cast<double>(v.dimension));
  const double t = v.minus ? -std::sin(v.psi) : std::sin(v.psi);
  const double left = v.square - v.along * v.along;
  const double across = std::sqrt(std::fmax(left, 0.0));
  const double cosine = std::cos(v.psi);
  FastPlan plan{};
  plan.a = across > 0.0 ? reach * cosine / across : 0.0;
  const double numerator = reach * t - plan.a * v.along;
  plan.b = numerator / v.length;
  plan.off = {kInfinite, kInfinite, kInfinite};

  // |g|^2. A pair of radius r with deviates off by e changes it by at most 2 sqrt 2 r e, and r e is
  // 11 u r^2 + 1.5 u + 2^-64 / U. Deviates of the last pairs may be missing in the sum of squares.
  const double missing = v.dimension % kSumLanes == 0
                             ? 0.0
                             : static_cast<double>(kSumLanes) * v.noise.widest * v.noise.widest;
  const double noise_length = std::sqrt(v.noise.square);
  const double square_error = 2.83 * (11.0 * kUnit * (v.square + missing) + v.noise.radial) +
                              v.noise.square + 5.0 * kUnit * v.square;
  // A: the deviates' errors, the sum of products, the length of x and the quotient.
  const double along = std::fabs(v.along);
  const double along_error = noise_length + 4.0 * kUnit * std::sqrt(v.square) + 6.0 * kUnit * along;
  const double left_error =
      square_error + along_error * (2.0 * along + along_error) + 3.0 * kUnit * v.square;
  if (!(16.0 * left_error <= left)) return plan;
  // a, relative: P, the cosine, and five roundings. 0.55 is the root's slope where 1/16 is lost.
  const double a_error =
      0.55 * left_error / left + 8.0 * kUnit + v.psi_error * (std::fabs(t / cosine) + v.psi_error);
  if (!(a_error < 0x1p-10)) return plan;
  const double numerator_error = reach * v.psi_error + 5.0 * kUnit * reach * std::fabs(t) +
                                 (a_error + 2.0 * kUnit) * plan.a * along + plan.a * along_error +
                                 9.0 * kUnit * std::fabs(numerator);
  plan.off.flat = kRoom * plan.a;
  plan.off.of_value = kRoom * (a_error + 3.0 * kUnit);
  plan.off.of_input =
      kRoom * (numerator_error / v.length + (a_error + 3.0 * kUnit) * std::fabs(plan.b));
  return plan;
}

}  // namespace sotto
