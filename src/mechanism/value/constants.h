// How mechanisms write the numbers that decide their distributions: as text from which nothing is
// lost.
#pragma once

#include <string>
#include <vector>

#include "base/exact/exact.h"
#include "mechanism/value/grid.h"
#include "sotto/mechanism.h"

namespace sotto {

/// A whole number, in decimal.
Constant integer_constant(std::string name, const exact::Integer& value);
/// A double, as %a.
Constant real_constant(std::string name, double value);
/// Centre and radius of the grid as indices, and the scale 10^p.
std::vector<Constant> grid_constants(const DecimalGrid& grid);

}  // namespace sotto
