// What `sotto verify` finds out about a mechanism: its exact epsilon beside the claimed one, bias,
// variance and expected error at many inputs, and whether its probabilities sum to one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mechanism_options.h"

namespace sotto::cli {

/// One input, and what the mechanism makes of it. For a value mechanism the input is a weight. For
/// a vector mechanism it is the first coordinate, all others 0. For a bit mechanism it is the bit
/// at `position`.
struct InputFinding {
  double input = 0.0;
  std::size_t position = 0;
  Moments moments;
  bool sums_to_one = true;
  std::optional<double> l1;  // E|decoded - input|, where the outputs can be listed
};

struct Verification {
  const MechanismInfo* info = nullptr;
  std::unique_ptr<Mechanism> mechanism;
  Guarantee guarantee;
  WorstCase worst;
  std::vector<InputFinding> inputs;  // those that are shown
  double worst_variance = 0.0;       // over a much finer grid
  double max_bias = 0.0;
  std::size_t checked_inputs = 0;  // of the finer grid
  bool sums_to_one = true;
  std::optional<double> worst_l1;
  std::optional<double> squared_error;  // of a whole vector of the full norm

  /// Whether the exact epsilon is no larger than the claimed one.
  bool holds() const { return guarantee.unit_epsilon <= guarantee.claimed_epsilon; }
};

/// `shown` inputs go into the table.
Result<Verification> verify(const MechanismOptions& options, std::size_t shown);

/// The vector that stands for `input` (see InputFinding).
std::vector<float> input_vector(const Mechanism& mechanism, double input, std::size_t position);

/// From the low end of what the mechanism accepts to the high end, both included.
std::pair<double, double> input_interval(const Verification& verification);

double decoded(const Mechanism& mechanism, Symbol symbol, std::size_t output = 0);

/// The output distribution at the inputs `at` (where empty: low end, centre, half-way up), as SVG.
Result<std::string> plot_outputs(const Verification& verification, std::vector<double> at);

}  // namespace sotto::cli
