#include "mechanism/value/constants.h"

#include "base/text.h"

namespace sotto {

Constant integer_constant(std::string name, const exact::Integer& value) {
  return {std::move(name), value.str()};
}

Constant real_constant(std::string name, double value) {
  return {std::move(name), hex_number(value)};
}

std::vector<Constant> grid_constants(const DecimalGrid& grid) {
  return {integer_constant("grid centre", grid.centre()),
          integer_constant("grid radius", grid.radius()),
          real_constant("grid scale", grid.scale())};
}

}  // namespace sotto
