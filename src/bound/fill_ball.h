// Payloads that are all directions: what is scaled up to the norm of a vector mechanism's ball.
#pragma once

#include <span>

namespace sotto {

/// Scales the vector to the norm of the ball, a hair below it as bound() does, so that bound()
/// leaves it as it is. What is no finite number counts as 0. A vector shorter than `floor` keeps
/// its length: it is rounding more than signal, and stretched it would be as loud as a real one.
/// With floor 0 a zero vector becomes the first axis. Either way the mechanism hides the length.
void fill_ball(std::span<float> values, double norm, double floor);

}  // namespace sotto
