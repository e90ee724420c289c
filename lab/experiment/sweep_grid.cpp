#include "experiment/sweep_grid.h"

#include <algorithm>
#include <cctype>

#include "base/nearest.h"
#include "base/sha256.h"
#include "sotto/recipe.h"

namespace sotto {
namespace {

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return std::string(text);
}

/// Cuts at commas outside (), [], {} and quotes: "dirichlet(0.5),iid" are two values, and so are
/// "[0.1, 0.2],[0.3]".
Result<std::vector<std::string>> split_values(const std::string& place, std::string_view text) {
  std::vector<std::string> values;
  std::string value;
  std::string open;  // the brackets that wait for their end
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (!open.empty() && c == open.back()) {
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      values.push_back(trimmed(value));
      value.clear();
      continue;
    }
    value += c;
  }
  if (quote != 0) {
    return fail(ErrorKind::kUsage, place + ": the quote " + quote + " does not end");
  }
  if (!open.empty()) {
    return fail(ErrorKind::kUsage, place + ": '" + open.back() + "' is missing");
  }
  values.push_back(trimmed(value));
  return values;
}

std::string last_part(const std::string& key) { return key.substr(key.find('.') + 1); }

}  // namespace

Result<Vary> parse_vary(const std::string& text) {
  const std::string place = "--vary " + text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return fail(ErrorKind::kUsage, place + ": write section.key=a,b,c, e.g. privacy.epsilon=1,3,5");
  }
  Vary vary;
  vary.key = trimmed(std::string_view(text).substr(0, equals));
  std::vector<std::string> keys;
  for (const RecipeKey& key : recipe_keys()) keys.push_back(key.key);
  if (std::find(keys.begin(), keys.end(), vary.key) == keys.end()) {
    for (const std::string& key : keys) {
      if (last_part(key) == vary.key || last_part(key) == last_part(vary.key)) {
        return fail(ErrorKind::kUsage, place + ": unknown key '" + vary.key + "'; did you mean '" +
                                           key + "'? (`sotto run --keys` lists all)");
      }
    }
    return fail(ErrorKind::kUsage, place + ": unknown key '" + vary.key + "'" +
                                       did_you_mean(vary.key, keys) +
                                       " (`sotto run --keys` lists all)");
  }
  if (vary.key.starts_with("output.")) {
    return fail(ErrorKind::kUsage, place + ": [output] decides no result; it cannot be varied");
  }
  SOTTO_TRY(vary.values, split_values(place, std::string_view(text).substr(equals + 1)));
  for (std::size_t i = 0; i < vary.values.size(); ++i) {
    if (vary.values[i].empty()) return fail(ErrorKind::kUsage, place + ": a value is empty");
    if (std::find(vary.values.begin(), vary.values.begin() + static_cast<std::ptrdiff_t>(i),
                  vary.values[i]) != vary.values.begin() + static_cast<std::ptrdiff_t>(i)) {
      return fail(ErrorKind::kUsage, place + ": '" + vary.values[i] + "' is given twice");
    }
  }
  return vary;
}

Result<std::vector<Combination>> combinations(const std::vector<Vary>& keys, std::size_t most) {
  std::vector<Combination> all = {{}};
  for (const Vary& vary : keys) {
    if (!all.front().empty() &&
        std::any_of(all.front().begin(), all.front().end(),
                    [&](const auto& pair) { return pair.first == vary.key; })) {
      return fail(ErrorKind::kUsage, "--vary " + vary.key +
                                         ": is given twice; write all values in "
                                         "one: " +
                                         vary.key + "=a,b,c");
    }
    if (all.size() * vary.values.size() > most) {
      return fail(ErrorKind::kUsage, "--vary: more than " + std::to_string(most) + " runs");
    }
    std::vector<Combination> longer;
    for (const Combination& combination : all) {
      for (const std::string& value : vary.values) {
        longer.push_back(combination);
        longer.back().emplace_back(vary.key, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string short_key(const std::string& key, const std::vector<Vary>& all) {
  const auto alike = std::count_if(all.begin(), all.end(), [&](const Vary& vary) {
    return last_part(vary.key) == last_part(key);
  });
  return alike > 1 ? key : last_part(key);
}

std::string folder_name(const Combination& combination, const std::vector<Vary>& all) {
  constexpr std::size_t kLongest = 120;
  std::string name;
  std::string exact;
  bool changed = false;
  for (const auto& [key, value] : combination) {
    if (!name.empty()) name += '_';
    name += short_key(key, all) + '=';
    exact += key + '=' + value + '\n';
    for (const char c : value) {
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' ||
                         c == '-' || c == '(' || c == ')';
      if (!plain && c != '"' && c != '[' && c != ']' && c != ' ') changed = true;
      if (plain) name += c;
      if (c == ',' || c == '/' || c == '_') name += '-';
    }
  }
  if (name.empty()) name = "run";
  // What the name had to leave out keeps folders apart by a few digits of its hash.
  if (changed || name.size() > kLongest) {
    name = name.substr(0, kLongest) + '-' + sha256_hex(exact).substr(0, 6);
  }
  return name;
}

}  // namespace sotto
