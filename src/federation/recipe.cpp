// TOML text -> Recipe, strictly.
#include "sotto/recipe.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "base/file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "base/text.h"
#include "federation/recipe_keys.h"
#include "federation/toml.h"
#include "sotto/mechanism.h"

namespace sotto {
namespace {

/// The keys that were given, each with its place: "r.toml:7" or "--set train.lr=1".
using Given = std::map<std::string, std::string>;

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
    return fail(ErrorKind::kUsage,
                place + ": " + key + " = " + shown(node) + ": must be " + binding.valid);
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
  toml::parse_result parsed = toml::parse("value = " + value);
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

bool from_command_line(const Given& given, const std::string& key) {
  const auto it = given.find(key);
  return it != given.end() && it->second.starts_with("--set ");
}

/// Whether the mechanism clips to something else than a range that it is given.
bool ignores_range(const MechanismInfo& info) {
  if (info.kind != MechanismKind::kValue) return true;
  if (!info.parameters.empty()) return false;
  auto layout = std::make_shared<Layout>();
  layout->add("w", {1}, TensorRole::kParameter);
  const auto made = make_mechanism(info.name, Domain{std::move(layout), {{0.0, 1.0}}});
  return made && (*made)->domain().ranges.front().radius != 1.0;
}

/// Keys of [privacy] must belong to the mechanism and lie in its intervals. When --set chooses
/// another mechanism than the file, the file's keys that it has no use for are left out.
Result<void> check_privacy(const std::string& file, const Given& given, Recipe& recipe) {
  Recipe::Privacy& privacy = recipe.privacy;
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(privacy.mechanism));
  const std::string mechanism = "mechanism \"" + privacy.mechanism + '"';
  if (info->kind == MechanismKind::kBits) {
    return fail(ErrorKind::kUsage,
                given.at("privacy.mechanism") + ": privacy.mechanism = \"" + privacy.mechanism +
                    "\": its reports are bits of encoded features, not weights; a recipe needs a "
                    "mechanism for values or vectors (`sotto mechanisms`)");
  }
  const bool replaced = from_command_line(given, "privacy.mechanism");
  const auto drops = [&](const std::string& key) {
    return replaced && !from_command_line(given, key);
  };
  std::vector<std::string> taken;
  for (const ParameterInfo& parameter : info->parameters) taken.emplace_back(parameter.name);
  for (auto it = privacy.parameters.begin(); it != privacy.parameters.end();) {
    const std::string key = "privacy." + it->first;
    const auto parameter =
        std::find_if(info->parameters.begin(), info->parameters.end(),
                     [&](const ParameterInfo& p) { return p.name == it->first; });
    if (parameter == info->parameters.end()) {
      if (!drops(key)) {
        return fail(ErrorKind::kUsage,
                    given.at(key) + ": " + key + ": " + mechanism + " takes no '" + it->first +
                        "'; it takes: " + (taken.empty() ? "no parameter" : join(taken)));
      }
      it = privacy.parameters.erase(it);
      continue;
    }
    if (!parameter->accepts(it->second)) {
      return fail(ErrorKind::kUsage, given.at(key) + ": " + key + " = " + short_number(it->second) +
                                         ": must be " + parameter->valid() + " for " + mechanism);
    }
    ++it;
  }
  for (const ParameterInfo& parameter : info->parameters) {
    if (!parameter.required || parameter.preset) continue;
    if (privacy.parameters.contains(parameter.name)) continue;
    return fail(ErrorKind::kUsage, file + ": privacy." + std::string(parameter.name) +
                                       " is missing: " + mechanism + " needs it, " +
                                       parameter.valid() + ": " + std::string(parameter.meaning));
  }
  if (privacy.radius && !(*privacy.radius > 0.0)) {
    return fail(ErrorKind::kUsage, given.at("privacy.radius") +
                                       ": privacy.radius = " + short_number(*privacy.radius) +
                                       ": must be a number above 0");
  }
  if (!ignores_range(*info)) return {};
  const std::pair<std::string, std::optional<double>*> ends[] = {
      {"privacy.centre", &privacy.centre}, {"privacy.radius", &privacy.radius}};
  for (const auto& [key, value] : ends) {
    if (*value && !drops(key)) {
      return fail(ErrorKind::kUsage,
                  given.at(key) + ": " + key + ": " + mechanism + " has no range to choose");
    }
    value->reset();
  }
  return {};
}

/// What only a shuffler does needs one. When --set takes the shuffler away, the file's keys for it
/// go with it.
Result<void> check_shuffle(const Given& given, Recipe& recipe) {
  Recipe::Shuffle& shuffle = recipe.shuffle;
  if (shuffle.mode != "none") return {};
  const Recipe::Shuffle preset;
  const std::tuple<std::string, std::int64_t*, std::int64_t> keys[] = {
      {"shuffle.split", &shuffle.split, preset.split},
      {"shuffle.min_batch", &shuffle.min_batch, preset.min_batch}};
  for (const auto& [key, value, none] : keys) {
    if (*value == none) continue;
    if (!from_command_line(given, "shuffle.mode") || from_command_line(given, key)) {
      return fail(
          ErrorKind::kUsage,
          given.at(key) + ": " + key + ": needs shuffle.mode = \"shuffler\", which makes batches");
    }
    *value = none;
  }
  return {};
}

Result<void> check_together(const std::string& place, const Given& given, const Recipe& recipe) {
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::kUsage, place + ": " + what);
  };
  if (recipe.data.name.empty()) {
    return wrong("data.name is missing: a known set (`sotto data list`) or a path");
  }
  if (recipe.model.name.empty() == recipe.model.file.empty()) {
    return wrong(recipe.model.name.empty() ? "model.name (`sotto models`) or model.file is missing"
                                           : "model.name and model.file are both given; keep one");
  }
  if (given.contains("federation.fraction") && recipe.federation.k > 0) {
    return wrong("federation.fraction and federation.k are both given; keep one");
  }
  if (recipe.federation.clients == 0 && recipe.data.partition != "users") {
    return wrong("federation.clients = 0 is valid only with data.partition = \"users\"");
  }
  if (recipe.federation.clients > 0 && recipe.federation.k > recipe.federation.clients) {
    return wrong("federation.k = " + std::to_string(recipe.federation.k) + ": must be at most " +
                 std::to_string(recipe.federation.clients) + " (federation.clients)");
  }
  if (recipe.data.mean.empty() != recipe.data.deviation.empty()) {
    return wrong("data.mean and data.deviation go together");
  }
  if (recipe.ledger.limits() && !recipe.ledger.keep) {
    return wrong("ledger.keep = false: limits of [ledger] need a ledger that keeps them");
  }
  if (recipe.train.momentum > 0.0 && recipe.train.optimizer != "sgd") {
    return wrong("train.momentum belongs to optimizer \"sgd\", not \"" + recipe.train.optimizer +
                 '"');
  }
  return {};
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, const std::string& place,
                            std::span<const std::string> overrides) {
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
    for (const auto& [name, value] : *node.as_table()) {
      given[std::string(section.str()) + '.' + std::string(name.str())] =
          place + ':' + std::to_string(value.source().begin.line);
    }
  }
  for (const std::string& setting : overrides) SOTTO_CHECK(read_override(setting, recipe, given));
  SOTTO_CHECK(check_together(place, given, recipe));
  SOTTO_CHECK(check_privacy(place, given, recipe));
  SOTTO_CHECK(check_shuffle(given, recipe));
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
    sections[binding.key.substr(0, dot)][binding.key.substr(dot + 1)] = binding.show(*this);
  }
  return sections;
}

std::string Recipe::fingerprint() const {
  std::string text;
  for (const KeyBinding& binding : key_bindings()) {
    const nlohmann::json value = binding.show(*this);
    // A key that is not there decides nothing: a new one leaves older runs their fingerprints.
    const bool decides = binding.decides_model || (binding.key == "federation.rounds" && paced());
    if (decides && !value.is_null()) text += binding.key + '=' + value.dump() + '\n';
  }
  return sha256_hex(text);
}

std::vector<RecipeKey> recipe_keys() {
  const Recipe preset;
  std::vector<RecipeKey> keys;
  for (const KeyBinding& binding : key_bindings()) {
    keys.push_back({binding.key, binding.valid, binding.show(preset).dump(), binding.meaning});
  }
  return keys;
}

}  // namespace sotto
