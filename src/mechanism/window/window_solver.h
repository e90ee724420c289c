// The window channel with the least worst-case variance: which share of the slots a window has, and
// which values the slots carry.
//
// For N and n the variance under the window at s is V_s(v) = sum p_s(k) v(k)^2 - (sum p_s(k)
// v(k))^2, a positive semidefinite form in v, and unbiasedness fixes the scale of v: the last
// window has mean
// 1. Minimising the largest V_s over v is convex, with as many unknowns as half the slots (v is
// odd) and one constraint for each window: a primal-dual interior point method reaches 1e-4 of it
// in some ten steps. The window's length is then found by descent over neighbours.
//
// Arithmetic is that of IEEE doubles in one fixed order, with no function of the mathematics
// library but the square root: client and server find the same integers on any machine.
#pragma once

#include <vector>

namespace sotto {

struct WindowShape {
  int slots = 2;
  int window = 1;
  std::vector<double> upper;  // v of the upper half of the slots, ascending; empty: equal spacing
  double variance = 0.0;      // the largest over all inputs in [-1, 1]
};

/// The best v for N slots, which must be even, and windows of n.
WindowShape least_variance(double exp_epsilon, int slots, int window);

/// The largest variance over [-1, 1] of equally spaced slots.
double equal_spacing_variance(double exp_epsilon, double slots, double window);

/// The best shape that we find: two slots for a very small epsilon, equal spacing for a very large
/// one, and what the solver gives between them.
WindowShape best_window_shape(double epsilon);

/// e^epsilon, rounded the same way on every machine; epsilon is at most 700.
double portable_exp(double epsilon);

}  // namespace sotto
