// What somebody else's randomizer prints: one output a line, its values divided by blanks or
// commas.
#pragma once

#include <string_view>

#include "audit/output_features.h"
#include "sotto/result.h"

namespace sotto {

/// As many lines as `rows`, each with as many numbers as the first; anything else is an error that
/// names the line.
Result<Outputs> parse_outputs(std::string_view text, std::size_t rows);

}  // namespace sotto
