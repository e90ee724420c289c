// The range that each tensor is clipped to: given, taken from the initial weights, or adapted to
// what was released (LDP-FL: the server computes C_l and R_l from what it received, which is
// post-processing and costs nothing).
//
// A tensor's range is centre = mean and radius = margin times the standard deviation, of the
// initial weights (public: the server drew them) or of the released values. The released ones carry
// the mechanism's noise, whose known variance is taken off. What is released is a mean over
// clients, which spreads less than their weights, and less again when these are clipped: with a
// small margin a range shrinks from round to round (on MNIST with 3, not with 6).
#pragma once

#include <span>
#include <vector>

#include "sotto/layout.h"
#include "sotto/recipe.h"
#include "sotto/stages.h"

namespace sotto {

/// One range for each tensor of the layout, as the recipe gives them. `initial` are the weights
/// that training starts from; empty where they are not known, then tensors that would take their
/// range from them get that of PyTorch's initialisation at most: 0 +- 1.
std::vector<Range> start_ranges(const Recipe& recipe, const Layout& layout,
                                std::span<const float> initial);

/// The range for the next round, from what a round released of one tensor. `noise_variance` is that
/// of one released value. `now` where the values say nothing (fewer than two, or all noise).
Range adapted_range(std::span<const double> released, double noise_variance, double margin,
                    Range now);

}  // namespace sotto
