// The group sizes of srr (srr-fl, eq. 4-6), exactly.
//
// The real sizes of m groups are an arithmetic progression with the step Delta that sums to d:
// s_j = d/m + (j - (m+1)/2) Delta. The integer sizes are differences of rounded cumulated ones,
// S_j = j d/m + Delta j (j-m)/2, B_j = floor(S_j + 1/2), g_j = B_j - B_(j-1): so they sum to d
// whatever is rounded. A step is a double, which is a rational number, and everything is computed
// with rationals: in floating point a tie would move a boundary, and with it a probability.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sotto {

/// g_1 .. g_m, or nothing when some group would be empty.
std::optional<std::vector<std::int64_t>> group_sizes(std::int64_t outputs, std::int64_t groups,
                                                     double step);

/// The steps around 0 with which no group is empty; both ends are valid.
struct StepInterval {
  double low = 0.0;
  double high = 0.0;
};

/// Found by search between what certainly works (the smallest real size is 1) and what certainly
/// does not (it is below 1/2, or 0 as eq. 5 has it). `groups` must be at most `outputs`.
StepInterval step_interval(std::int64_t outputs, std::int64_t groups);

}  // namespace sotto
