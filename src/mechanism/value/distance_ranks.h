// The outputs of a grid in the order of their distance from an input, in closed form.
//
// Around the centred index s of a grid of radius R the 2R + 1 outputs are ranked by distance, the
// lower of two first: rank 0 is s itself, rank 1 is s - 1, rank 2 is s + 1, and so on while both
// sides last. The shorter side has S = R - |s| outputs, so this alternation holds for the ranks
// t <= 2S; beyond, only the longer side is left and rank t lies at the distance t - S.
//
// A mechanism whose probabilities depend on the rank alone and are constant on intervals of ranks
// has moments that are sums over those intervals of sums over ranks; the latter are the polynomials
// here, so moments cost O(intervals) and not O(grid).
#pragma once

#include <cstdint>
#include <cstdlib>

namespace sotto {

struct DistanceRanks {
  std::int64_t radius;   // R
  std::int64_t centred;  // s

  std::int64_t shorter() const { return radius - std::abs(centred); }

  /// The centred index of the output of rank t.
  std::int64_t output(std::int64_t t) const {
    if (t <= 2 * shorter()) return centred + (t % 2 == 1 ? -(t + 1) / 2 : t / 2);
    return centred < 0 ? t - radius : radius - t;
  }

  /// The rank of an output; its index must be on the grid.
  std::int64_t rank(std::int64_t output_index) const {
    const std::int64_t distance = std::abs(output_index - centred);
    if (distance > shorter()) return distance + shorter();
    return output_index < centred ? 2 * distance - 1 : 2 * distance;
  }
};

/// 1 + 2 + ... + n and 1 + 4 + ... + n^2.
inline double sum_to(double n) { return n * (n + 1.0) / 2.0; }
inline double squares_to(double n) { return n * (n + 1.0) * (2.0 * n + 1.0) / 6.0; }

/// Sums over the first `end` ranks of output minus input, its square and its magnitude.
struct RankSums {
  double first;
  double second;
  double absolute;
};

inline RankSums sums_before(std::int64_t end, const DistanceRanks& ranks) {
  const std::int64_t shorter = ranks.shorter();
  if (end <= 2 * shorter + 1) {
    // Distances below the input 1 .. end/2, above it 0 .. (end-1)/2.
    const std::int64_t down = end / 2;
    const std::int64_t up = (end + 1) / 2 - 1;
    const auto below = static_cast<double>(down);
    const auto above = static_cast<double>(up);
    return {end % 2 == 0 ? -below : 0.0, squares_to(below) + squares_to(above),
            sum_to(below) + sum_to(above)};
  }
  // All of the shorter side, and end - 1 - S of the longer one.
  const auto near = static_cast<double>(shorter);
  const auto far = static_cast<double>(end - 1 - shorter);
  const double first = static_cast<double>(end) * (far - near) / 2.0;
  return {ranks.centred < 0 ? first : -first, squares_to(near) + squares_to(far),
          sum_to(near) + sum_to(far)};
}

}  // namespace sotto
