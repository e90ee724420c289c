// The inner loop of DP-SGD's clipping, in vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

/// sums[i] += gradient[i] * scale, cut to an integer towards zero. `count`: a multiple of
/// 8; no product may reach 2^62.
void add_cut(const float* gradient, double scale, std::size_t count, std::int64_t* sums);

}  // namespace sotto
