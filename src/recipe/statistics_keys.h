// The keys of [statistics], and what must hold for them together.
#pragma once

#include <vector>

#include "recipe/recipe_check.h"
#include "recipe/recipe_keys.h"

namespace sotto {

std::vector<KeyBinding> statistics_bindings();

Result<void> check_statistics(const Given& given, const Recipe& recipe);

}  // namespace sotto
