// Makers of key bindings: one for each type of value that a recipe key can have.
//
// Each returns the reader (false: wrong type or out of range), the writer for run.json and the
// words for "must be ..." in errors, so that a line of the table in recipe_keys.cpp is all a key
// needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "recipe/choice_names.h"
#include "recipe/recipe_keys.h"

namespace sotto {

inline constexpr bool kDecidesModel = true;
inline constexpr bool kOnlyRun = false;

inline std::string shown(double value) {
  std::string text = nlohmann::json(value).dump();
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

/// Not-a-number for what is no number.
inline double number_of(const toml::node& node) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return node.is_number() ? node.value_or(kNone) : kNone;
}

inline std::string valid_words(const std::vector<std::string>& choices) {
  if (choices.empty()) return "text";
  std::string valid = "one of";
  for (const std::string& choice : choices) valid += " \"" + choice + '"';
  return valid;
}

template <class Get>
KeyBinding text(std::string key, Get get, bool decides, std::string meaning,
                const std::vector<std::string>& choices = {}) {
  const auto read = [get, choices](const toml::node& node, Recipe& recipe) {
    const auto value = node.value_exact<std::string>();
    if (!value) return false;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *value) == choices.end()) {
      return false;
    }
    get(recipe) = *value;
    return true;
  };
  return {std::move(key),
          valid_words(choices),
          std::move(meaning),
          decides,
          read,
          [get](const Recipe& recipe) { return nlohmann::json(get(recipe)); },
          {},
          choices};
}

/// An enum, by the names in its table.
template <class Get>
KeyBinding choice(std::string key, Get get, bool decides, std::string meaning) {
  using Choice = std::remove_cvref_t<decltype(get(std::declval<Recipe&>()))>;
  std::vector<std::string> names;
  for (const Name<Choice>& entry : names_of(Choice{})) names.emplace_back(entry.name);
  const auto read = [get](const toml::node& node, Recipe& recipe) {
    const auto value = node.value_exact<std::string>();
    const auto named = value ? choice_of<Choice>(*value) : std::nullopt;
    if (named) get(recipe) = *named;
    return named.has_value();
  };
  return {std::move(key),
          valid_words(names),
          std::move(meaning),
          decides,
          read,
          [get](const Recipe& recipe) { return nlohmann::json(name_of(get(recipe))); },
          {},
          names};
}

template <class Get>
KeyBinding boolean(std::string key, Get get, bool decides, std::string meaning) {
  const auto read = [get](const toml::node& node, Recipe& recipe) {
    const auto value = node.value_exact<bool>();
    if (value) get(recipe) = *value;
    return value.has_value();
  };
  return {std::move(key),
          "true or false",
          std::move(meaning),
          decides,
          read,
          [get](const Recipe& recipe) { return nlohmann::json(get(recipe)); }};
}

template <class Get>
KeyBinding whole(std::string key, Get get, std::int64_t low, std::int64_t high, bool decides,
                 std::string meaning) {
  const auto read = [get, low, high](const toml::node& node, Recipe& recipe) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < low || *value > high) return false;
    get(recipe) = *value;
    return true;
  };
  const std::string valid =
      "a whole number in [" + std::to_string(low) + ", " + std::to_string(high) + "]";
  return {
      std::move(key), valid, std::move(meaning),
      decides,        read,  [get](const Recipe& recipe) { return nlohmann::json(get(recipe)); }};
}

enum class Low { kOpen, kClosed };

template <class Get>
KeyBinding real(std::string key, Get get, Low end, double low, double high, bool decides,
                std::string meaning) {
  const auto read = [get, end, low, high](const toml::node& node, Recipe& recipe) {
    const double value = number_of(node);
    if (!std::isfinite(value) || value > high) return false;
    if (end == Low::kOpen ? value <= low : value < low) return false;
    get(recipe) = value;
    return true;
  };
  const std::string valid = std::string("a number in ") + (end == Low::kOpen ? "(" : "[") +
                            shown(low) + ", " + shown(high) + "]";
  return {
      std::move(key), valid, std::move(meaning),
      decides,        read,  [get](const Recipe& recipe) { return nlohmann::json(get(recipe)); }};
}

template <class T, class Get>
KeyBinding list(std::string key, Get get, std::string valid, std::function<bool(T)> accepts,
                const std::vector<std::size_t>& sizes, bool decides, std::string meaning) {
  const auto read = [get, accepts, sizes](const toml::node& node, Recipe& recipe) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) return false;
    std::vector<T> values;
    for (const toml::node& item : *array) {
      const auto value = item.is_number() ? item.value<T>() : std::nullopt;
      if (!value || !accepts(*value)) return false;
      values.push_back(*value);
    }
    if (std::find(sizes.begin(), sizes.end(), values.size()) == sizes.end()) return false;
    get(recipe) = values;
    return true;
  };
  return {std::move(key),
          std::move(valid),
          std::move(meaning),
          decides,
          read,
          [get](const Recipe& recipe) { return nlohmann::json(get(recipe)); }};
}

/// A list that is missing where the recipe does not give it, so that older recipes keep their
/// fingerprints.
template <class T, class Get>
KeyBinding optional_list(std::string key, Get get, std::string valid,
                         std::function<bool(const std::vector<T>&)> accepts, std::string meaning) {
  const auto read = [get, accepts](const toml::node& node, Recipe& recipe) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) return false;
    std::vector<T> values;
    for (const toml::node& item : *array) {
      const auto value = item.value_exact<T>();
      if (!value) return false;
      values.push_back(*value);
    }
    if (!accepts(values)) return false;
    get(recipe) = std::move(values);
    return true;
  };
  const auto show = [get](const Recipe& recipe) {
    const std::vector<T>& values = get(recipe);
    return values.empty() ? nlohmann::json(nullptr) : nlohmann::json(values);
  };
  return {std::move(key), std::move(valid), std::move(meaning), kDecidesModel, read, show};
}

/// One number for all clients or a list that they take turns with; missing where no limit is set.
template <class Get>
KeyBinding limits(std::string key, Get get, const std::string& valid,
                  const std::function<bool(double)>& accepts, std::string meaning) {
  const auto read = [get, accepts](const toml::node& node, Recipe& recipe) {
    std::vector<double> values;
    const auto add = [&](const toml::node& item) {
      const double value = number_of(item);
      if (!accepts(value)) return false;
      values.push_back(value);
      return true;
    };
    if (const toml::array* const array = node.as_array()) {
      if (array->empty() || !std::all_of(array->begin(), array->end(), add)) return false;
    } else if (!add(node)) {
      return false;
    }
    get(recipe) = values;
    return true;
  };
  const auto show = [get](const Recipe& recipe) -> nlohmann::json {
    const std::vector<double>& values = get(recipe);
    if (values.empty()) return nullptr;
    return values.size() == 1 ? nlohmann::json(values.front()) : nlohmann::json(values);
  };
  return {std::move(key), "a list or one " + valid, std::move(meaning), kDecidesModel, read, show};
}

/// A number that is missing where the recipe does not give it. Intervals depend on the mechanism
/// and are checked when all keys are read; true and false stand for 1 and 0.
template <class Set, class Get>
KeyBinding optional_number(std::string key, Set set, Get get, std::string valid,
                           std::string meaning) {
  const auto read = [set](const toml::node& node, Recipe& recipe) {
    double value = number_of(node);
    if (const auto flag = node.value_exact<bool>()) value = *flag ? 1.0 : 0.0;
    if (!std::isfinite(value)) return false;
    set(recipe, value);
    return true;
  };
  const auto show = [get](const Recipe& recipe) {
    const std::optional<double> value = get(recipe);
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  return {std::move(key), std::move(valid), std::move(meaning), kDecidesModel, read, show};
}

}  // namespace sotto
