// What the keys of a recipe must fulfil together, once all are read.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sotto/mechanism.h"
#include "sotto/recipe.h"

namespace sotto {

/// The keys that were given, each with its place: "r.toml:7" or "--set train.lr=1".
using Given = std::map<std::string, std::string>;

/// Also takes out what the command line made useless: keys of the file for a mechanism or a
/// shuffler that --set has replaced.
Result<void> check_recipe(const Given& given, Recipe& recipe);

/// The parameter that a budget is split into: "alpha" or "epsilon"; nothing where there is none.
std::optional<std::string> budget_parameter(const MechanismInfo& info);

}  // namespace sotto
