// TOML text -> Recipe, strictly.
#include "sotto/recipe.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/toml.h"
#include "base/toml_guard.h"
#include "plan/baselines.h"
#include "recipe/encode_keys.h"
#include "recipe/recipe_check.h"
#include "recipe/recipe_keys.h"
#include "recipe/statistics_keys.h"
#include "recipe/tensor_rules.h"

namespace sotto {
namespace {

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const KeyBinding& binding : key_bindings()) {
    std::string section = binding.key.substr(0, binding.key.find('.'));
    if (std::find(names.begin(), names.end(), section) == names.end()) names.push_back(section);
  }
  return names;
}

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const KeyBinding& binding : key_bindings()) keys.push_back(binding.key);
  return keys;
}

std::string shown(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

/// A valid key whose last part is `name` exactly, before one that is merely close.
std::string suggestion(const std::string& section, const std::string& name) {
  const std::vector<std::string> keys = all_keys();
  for (const std::string& key : keys) {
    if (key.substr(key.find('.') + 1) == name) return "; did you mean '" + key + "'?";
  }
  std::vector<std::string> here;
  for (const std::string& key : keys) {
    if (key.starts_with(section + '.')) here.push_back(key);
  }
  return did_you_mean(section + '.' + name, here) + "; valid in [" + section + "]: " + join(here);
}

Result<void> read_key(const std::string& place, const std::string& section, const std::string& name,
                      const toml::node& node, Recipe& recipe) {
  const std::string key = section + '.' + name;
  for (const KeyBinding& binding : key_bindings()) {
    if (binding.key != key) continue;
    if (binding.read(node, recipe)) return {};
    const auto word = node.value_exact<std::string>();
    const std::string meant = word ? did_you_mean(*word, binding.choices) : "";
    return fail(ErrorKind::kUsage,
                place + ": " + key + " = " + shown(node) + ": must be " + binding.valid + meant);
  }
  return fail(ErrorKind::kUsage, place + ": unknown key '" + key + "'" + suggestion(section, name));
}

Result<void> read_table(const std::string& file, const toml::table& root, Recipe& recipe) {
  const auto place = [&](const toml::node& node) {
    return file + ':' + std::to_string(node.source().begin.line);
  };
  const std::vector<std::string> sections = section_names();
  for (const auto& [section_key, section_node] : root) {
    const std::string section(section_key.str());
    if (section == "tensor") {
      SOTTO_CHECK(read_tensor_rules(file, section_node, recipe));
      continue;
    }
    if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
      const bool is_table = section_node.is_table();
      return fail(ErrorKind::kUsage,
                  place(section_node) + ": unknown " +
                      (is_table ? "section [" + section + "]" : "key '" + section + "'") +
                      (is_table ? did_you_mean(section, sections) + "; valid: " + join(sections)
                                : suggestion("", section)));
    }
    const toml::table* const table = section_node.as_table();
    if (table == nullptr) {
      return fail(ErrorKind::kUsage, place(section_node) + ": '" + section +
                                         "' must be a section: write [" + section + "]");
    }
    for (const auto& [name, node] : *table) {
      SOTTO_CHECK(read_key(place(node), section, std::string(name.str()), node, recipe));
    }
  }
  return {};
}

/// A value as TOML; a bare word counts as text, so that --set data.name=mnist works in any shell.
Result<void> read_override(const std::string& setting, Recipe& recipe, Given& given) {
  const std::string place = "--set " + setting;
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    return fail(ErrorKind::kUsage, place + ": write section.key=value, e.g. train.lr=0.05");
  }
  const std::string key = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    return fail(ErrorKind::kUsage, place + ": unknown key '" + key + "'" + suggestion("", key));
  }
  // Whatever is no TOML is a word: a path with letters of its own, for one.
  const std::string bare = "value = " + value;
  toml::parse_result parsed = check_toml(bare, place) ? toml::parse(bare) : toml::parse_result();
  if (!parsed) {
    std::string quoted = "value = \"";
    for (const char c : value)
      quoted += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
    parsed = toml::parse(quoted + '"');
  }
  if (!parsed || parsed.table().size() != 1) {
    return fail(ErrorKind::kUsage, place + ": the value is not valid TOML");
  }
  given[key] = place;
  // The two ways to say how many clients take part: the command line's replaces the file's.
  if (key == "federation.k") given.erase("federation.fraction");
  if (key == "federation.fraction") recipe.federation.k = 0;
  return read_key(place, key.substr(0, dot), key.substr(dot + 1), *parsed.table().get("value"),
                  recipe);
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, const std::string& place,
                            std::span<const std::string> overrides) {
  SOTTO_CHECK(check_toml(text, place));
  const toml::parse_result parsed = toml::parse(text, place);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorKind::kUsage, place + ':' + std::to_string(error.source().begin.line) +
                                       ": not valid TOML: " + std::string(error.description()));
  }
  Recipe recipe;
  recipe.file = place;
  SOTTO_CHECK(read_table(place, parsed.table(), recipe));
  Given given;
  for (const auto& [section, node] : parsed.table()) {
    if (section == "tensor") continue;
    for (const auto& [name, value] : *node.as_table()) {
      given[std::string(section.str()) + '.' + std::string(name.str())] =
          place + ':' + std::to_string(value.source().begin.line);
    }
  }
  for (const std::string& setting : overrides) SOTTO_CHECK(read_override(setting, recipe, given));
  SOTTO_CHECK(check_recipe(given, recipe));
  SOTTO_CHECK(check_baselines(given, recipe));
  SOTTO_CHECK(check_encode(place, given, recipe));
  SOTTO_CHECK(check_statistics(given, recipe));
  if (recipe.output.name.empty()) {
    recipe.output.name = std::filesystem::path(place).stem().string();
  }
  return recipe;
}

Result<Recipe> load_recipe(const std::filesystem::path& file,
                           std::span<const std::string> overrides) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  SOTTO_TRY(const std::string text, read_text(file, kMostBytes));
  return parse_recipe(text, file.string(), overrides);
}

nlohmann::json Recipe::to_json() const {
  nlohmann::json sections;
  for (const KeyBinding& binding : key_bindings()) {
    const std::size_t dot = binding.key.find('.');
    sections[binding.key.substr(0, dot)][binding.key.substr(dot + 1)] = binding.value(*this);
  }
  sections["tensor"] = nlohmann::json::array();
  for (const TensorRule& rule : tensors) {
    nlohmann::json entry = {{"match", rule.match}};
    if (rule.centre) entry["centre"] = *rule.centre;
    if (rule.radius) entry["radius"] = *rule.radius;
    for (const auto& [name, value] : rule.parameters) entry[name] = value;
    sections["tensor"].push_back(std::move(entry));
  }
  return sections;
}

std::string Recipe::fingerprint() const {
  std::string text;
  for (const KeyBinding& binding : key_bindings()) {
    const nlohmann::json value = binding.value(*this);
    // A key that is not there decides nothing: a new one leaves older runs their fingerprints.
    const bool decides = binding.decides_model || (binding.key == "federation.rounds" && paced());
    if (decides && !value.is_null()) text += binding.key + '=' + value.dump() + '\n';
  }
  if (!tensors.empty()) text += "tensor=" + to_json()["tensor"].dump() + '\n';
  return sha256_hex(text);
}

std::vector<RecipeKey> recipe_keys() {
  const Recipe defaults;
  std::vector<RecipeKey> keys;
  for (const KeyBinding& binding : key_bindings()) {
    keys.push_back({binding.key, binding.valid, binding.show(defaults).dump(), binding.meaning});
  }
  return keys;
}

}  // namespace sotto
