// The keys of [encode], and what must hold for them together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "recipe/recipe_keys.h"

namespace sotto {

std::vector<KeyBinding> encode_bindings();

/// `given` tells for each key that was given where: "r.toml:7" or "--set encode.alpha=4".
Result<void> check_encode(const std::string& file, const std::map<std::string, std::string>& given,
                          Recipe& recipe);

/// Names of the mechanisms that take bits of features, and "none".
std::vector<std::string> encode_mechanisms();

}  // namespace sotto
