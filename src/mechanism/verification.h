// What can be found out about a mechanism from its own integers: its exact epsilon beside the
// claimed one, bias, variance and expected error at many inputs, and whether its probabilities sum
// to one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

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
  bool encoded = false;                 // bits are those of encoded features
  std::size_t classes = 0;              // of the label that is the last input value

  /// Whether the exact epsilon is no larger than the claimed one.
  bool holds() const { return guarantee.unit_epsilon <= guarantee.claimed_epsilon; }
};

/// The mechanism called `info.name`, as make_mechanism() makes it from `parameters`. `shown` inputs
/// go into the table; `progress` receives how many of how many steps of a stage are done.
using VerifyProgress = std::function<void(std::size_t, std::size_t, const char* stage)>;
Verification verify(const MechanismInfo& info, std::unique_ptr<Mechanism> mechanism,
                    const Parameters& parameters, std::size_t shown,
                    const VerifyProgress& progress = {});

/// The vector that stands for `input` (see InputFinding).
std::vector<float> input_vector(const Verification& verification, double input,
                                std::size_t position = 0);

/// From the low end of what the mechanism accepts to the high end, both included.
std::pair<double, double> input_interval(const Verification& verification);

double decoded(const Mechanism& mechanism, Symbol symbol, std::size_t output = 0);

/// Bits that a feature is encoded in, with its sign; 0 where inputs are bits.
std::size_t bits_of_feature(const Parameters& parameters);
/// Classes of the label that is the last input value; 0 where there is none.
std::size_t classes_of(const Parameters& parameters);

}  // namespace sotto
