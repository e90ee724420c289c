// The output distribution of a mechanism, drawn by `sotto verify --plot`.
#pragma once

#include <string>
#include <vector>

#include "mechanism/verification.h"

namespace sotto::cli {

/// The output distribution at the inputs `at` (where empty: low end, centre, half-way up), as SVG.
Result<std::string> plot_outputs(const Verification& verification, std::vector<double> at);

}  // namespace sotto::cli
