// Payloads that are all directions: what is scaled up to the norm of a vector mechanism's ball.
#pragma once

#include <span>

namespace sotto {

/// Scales the vector to the norm of the ball, a hair below it as bound() does, so that bound()
/// leaves it as it is. What is no finite number counts as 0; a zero vector becomes the first axis,
/// so that nobody can tell it from others by its length.
void fill_ball(std::span<float> values, double norm);

}  // namespace sotto
