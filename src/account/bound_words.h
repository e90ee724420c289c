// What every bound is called, follows from and assumes: one table for single questions and plans.
#pragma once

#include <string_view>

#include "sotto/account.h"

namespace sotto {

/// The bound with this name, without a number yet. An unknown name is a fault of the program.
Bound bound_named(std::string_view name, double delta);

}  // namespace sotto
