// What a linear layer does for a few samples: scores, and sums of samples. A result is the same to
// the last bit for every instruction set: each score is summed in 16 lanes, whatever a register
// holds, without fused operations.
#pragma once

#include <cstddef>

namespace sotto::native {

struct LinearShape {
  std::size_t inputs, classes;
};

/// scores[c] = sum over i of weights[c][i] x[i] + biases[c].
void linear_scores(LinearShape shape, const float* weights, const float* biases, const float* x,
                   float* scores);

/// out[c][i] += factors[r][c] x[r][i], one sample r of `samples` after the other.
void add_weighted_samples(LinearShape shape, std::size_t samples, const float* factors,
                          const float* x, float* out);

}  // namespace sotto::native
