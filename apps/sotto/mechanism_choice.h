// Mechanisms as words of a command line, several of them: "none", "srr:epsilon=5,groups=10".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto::cli {

struct MechanismChoice {
  std::string text;  // as it was given
  const MechanismInfo* info = nullptr;
  std::vector<std::pair<std::string, std::string>> settings;  // in their order

  /// For a mechanism without a recipe: every setting is one of its parameters and a number.
  Result<Parameters> parameters() const;
  /// For a recipe, as --set takes them: "privacy.mechanism=srr", "privacy.epsilon=5"; a key with a
  /// dot is a key of the recipe itself.
  std::vector<std::string> overrides() const;
};

/// An unknown mechanism is an error that names the nearest.
Result<MechanismChoice> parse_choice(const std::string& text);

}  // namespace sotto::cli
