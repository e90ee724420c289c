// What `tune` finds for srr, beside what it is worth comparing with: the published setting and the
// mechanism `optimal`, which is unbiased, at the same epsilon and on the same range. The command
// line and Python show the same numbers.
#pragma once

#include <functional>
#include <optional>

#include "mechanism/staircase/srr_tune.h"
#include "sotto/stages.h"

namespace sotto {

struct SquaredErrors {
  double mse = 0.0;  // over the chosen inputs
  double worst_mse = 0.0;
  double centre_mse = 0.0;
};

struct SrrComparison {
  SrrQuality tuned;
  double exact_epsilon = 0.0;       // of one weight under the tuned setting
  std::optional<SrrQuality> paper;  // nothing where it is not valid on this grid
  std::optional<SquaredErrors> optimal;
};

/// What to tune for. `inputs` is given the grid; with `worst_input` it is SrrInputs::worst_case,
/// and `optimal` is judged by its own worst input.
struct SrrTask {
  Range range;
  double epsilon = 0.0;
  double precision = 4.0;
  std::function<Result<SrrInputs>(const DecimalGrid&)> inputs;
  bool worst_input = false;
};

/// An error says what is wrong with epsilon, range, precision or inputs before the search begins.
Result<SrrComparison> tune_and_compare(
    const SrrTask& task, const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace sotto
