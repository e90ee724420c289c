// [[tensor]] entries of a recipe: ranges and parameters for the tensors whose names they match.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/toml.h"
#include "sotto/layout.h"
#include "sotto/recipe.h"

namespace sotto {

/// What all entries that match `tensor` say together; of two that say the same key, the later one.
TensorRule rule_of(const Recipe& recipe, const std::string& tensor);

/// Whether `name` is `pattern`, in which * stands for any text.
bool matches(const std::string& pattern, const std::string& name);

/// Reads the array of tables; `file` names it in errors.
Result<void> read_tensor_rules(const std::string& file, const toml::node& node, Recipe& recipe);

/// An entry that matches no tensor is an error: it would silently protect nothing as intended.
Result<void> check_tensor_rules(const Recipe& recipe, const Layout& layout);

}  // namespace sotto
