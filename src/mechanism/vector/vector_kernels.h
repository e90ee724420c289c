// Rounding to the lattice of a vector mechanism, for one block of coordinates.
#pragma once

#include "base/exact/sums.h"

namespace sotto {

/// values_i becomes the integer nearest to factor values_i, at most 32,767 in magnitude. Odd in the
/// values. `count` is a multiple of kSumLanes.
void rescale(std::int16_t* values, std::size_t count, float factor);

/// out_i becomes the integer nearest to a noise_i + b input_i, at most `most` (below 2^31) in
/// magnitude. `count` is a multiple of kSumLanes.
struct Combination {
  double a;
  double b;
  double most;
};
void combine(const Combination& how, const double* noise, const float* input, std::size_t count,
             std::int32_t* out);

/// How far a noise_i + b input_i may be from the real number that it stands for:
/// flat + of_value |a noise_i + b input_i| + of_input |input_i|.
struct Uncertainty {
  double flat;
  double of_value;
  double of_input;
};
/// The same symbols; true when none of the real numbers could be rounded to another one.
bool combine_surely(const Combination& how, const Uncertainty& off, const double* noise,
                    const float* input, std::size_t count, std::int32_t* out);

}  // namespace sotto
