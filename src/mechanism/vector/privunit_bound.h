// How far privunit's doubles may be from real arithmetic: a bound for every coordinate of one
// report, computed from the values that occurred in it. docs/research/proofs.md derives it.
//
// Let g be the real deviates, A = <g, u>, P = |g - A u|, R = 16 sqrt(d). The report is the lattice
// rounding of y = a g + b x with a = R cos(psi) / P and b = (R t - a A) / |x|. The doubles know g
// up to the error of a deviate (normal.h), psi up to that of the quantile (sphere.h), and round
// every step. A block whose coordinates keep their distance from the boundaries between lattice
// points has, for certain, the symbols of real arithmetic; privunit_exact.h computes the others.
#pragma once

#include <cstddef>

#include "mechanism/vector/normal.h"
#include "mechanism/vector/vector_kernels.h"

namespace sotto {

inline constexpr double kPrivUnitScale = 16.0;  // lattice points in 1 / sqrt(d)

/// The error of the angle psi, given that of the probability it is the quantile of: `relative` is
/// what 63 bits for a real number leave open. Infinite where they leave too much open.
double angle_error(std::size_t dimension, double relative);

/// What is known of the errors of all deviates.
struct NoiseError {
  double square = 0.0;  // of their vector's length
  double radial = 0.0;  // sum over pairs: radius times error, the part that does not grow with r^2
  double widest = 0.0;  // the largest radius
  /// Adds a block of `count` deviates, of which none is off by more than `each`.
  void add(const RadiusRange& range, double each, std::size_t count);
};

/// The largest error of a deviate whose pair has a radius in `range`; infinite at extreme radii.
double deviate_error(const RadiusRange& range);

/// What the fast computation found.
struct FastVector {
  std::size_t dimension = 0;
  double square = 0.0;  // |g|^2
  double along = 0.0;   // A
  double length = 0.0;  // |x|
  double psi = 0.0;     // the angle of v to the equator
  double psi_error = 0.0;
  bool minus = false;  // u = -x / |x|: t = -sin(psi)
  NoiseError noise;
};

/// a and b, and how far a coordinate may be off: `flat` is for deviates that are off by 1, so a
/// block takes its own deviate_error() times that. Not finite where nothing is certain.
struct FastPlan {
  double a;
  double b;
  Uncertainty off;
};
FastPlan plan_fast(const FastVector& vector);

}  // namespace sotto
