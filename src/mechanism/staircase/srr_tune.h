// Which groups and step give srr the least mean squared error, at a given epsilon and grid.
//
// The distance of the output of rank t from the input depends on the input only through the number
// S of outputs on its shorter side, and grows as S falls (ranks.h). So an end of the range, S = 0,
// is the worst input for every staircase, and a distribution of inputs matters only as a
// distribution of S. The sum of squared distances over the first B ranks is
//
//   Q(B/2) + Q((B-1)/2)                     (integer halves)    where 2S + 1 >= B,
//   Q(n) - n (n+1) S + (n+1) S^2, n = B-1                       otherwise,
//
// with Q(n) = 1 + 4 + ... + n^2. With prefix sums of w, wS and wS^2 over S the expected squared
// error of a setting costs O(m), so thousands of settings are tried in milliseconds.
#pragma once

#include <functional>
#include <span>

#include "mechanism/value/grid.h"
#include "sotto/result.h"

namespace sotto {

struct SrrSetting {
  std::int64_t groups = 1;
  double step = 0.0;
};

/// What a setting costs. Errors are in the unit of the weights; the input is its grid value.
struct SrrQuality {
  SrrSetting setting;
  double mse = 0.0;        // over the chosen inputs
  double rmse = 0.0;       // its root
  double worst_mse = 0.0;  // at an end of the range
  double centre_mse = 0.0;
  double worst_l1 = 0.0;          // the largest expected |error|
  double edge_mean = 0.0;         // where an input at c + r comes back on average, in radii from c
  bool l1_within_radius = false;  // Theorem 5.2 of srr-fl
};

/// The inputs over which the error is averaged, as weights of S = 0 .. R.
class SrrInputs {
 public:
  static SrrInputs worst_case(const DecimalGrid& grid);
  static SrrInputs uniform(const DecimalGrid& grid);
  /// Normal around the centre, clipped to the range as bound() clips.
  static SrrInputs normal(const DecimalGrid& grid, double deviation);
  /// Values as they are, clipped; what is not finite counts as the centre.
  static SrrInputs values(const DecimalGrid& grid, std::span<const float> values);

  double weight_below(std::int64_t end) const { return sums_[index(end)].weight; }
  double first_below(std::int64_t end) const { return sums_[index(end)].first; }
  double second_below(std::int64_t end) const { return sums_[index(end)].second; }

 private:
  explicit SrrInputs(std::span<const double> weights);
  static std::size_t index(std::int64_t end) { return static_cast<std::size_t>(end); }
  struct Sums {
    double weight, first, second;
  };
  std::vector<Sums> sums_;  // over S < end, for end = 0 .. R + 1
};

/// The groups {g, d - g} with the least error at the worst input: what srr uses when it is given
/// neither groups nor step.
SrrSetting best_two_groups(std::int64_t outputs, double epsilon);

/// The closed form for one setting, with ideal probabilities; an error for an invalid setting.
Result<SrrQuality> srr_quality(const DecimalGrid& grid, double epsilon, const SrrSetting& setting,
                               const SrrInputs& inputs);

/// The best setting found: every m up to 64 and then larger ones in a geometric row, for each a
/// coarse row of steps over the valid interval and refinement around the best. `progress` receives
/// how many of how many m are done.
SrrQuality tune_srr(const DecimalGrid& grid, double epsilon, const SrrInputs& inputs,
                    const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace sotto
