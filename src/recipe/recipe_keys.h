// The table of recipe keys: one line a key, with type, valid values and meaning.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/toml.h"
#include "sotto/recipe.h"

namespace sotto {

struct KeyBinding {
  std::string key;
  std::string valid;
  std::string meaning;
  bool decides_model;  // counts for the fingerprint
  /// False when the value's type or range is wrong.
  std::function<bool(const toml::node&, Recipe&)> read;
  std::function<nlohmann::json(const Recipe&)> show;
  /// Whether the key means anything in this recipe; empty: always.
  std::function<bool(const Recipe&)> applies = {};
  std::vector<std::string> choices = {};  // where the value is one of a few words

  /// Null for a key that means nothing here.
  nlohmann::json value(const Recipe& recipe) const {
    return applies && !applies(recipe) ? nlohmann::json(nullptr) : show(recipe);
  }
};

const std::vector<KeyBinding>& key_bindings();

}  // namespace sotto
