#include "recipe/tensor_rules.h"

#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "sotto/mechanism.h"

namespace sotto {
namespace {

bool is_mechanism_parameter(const std::string& name) {
  for (const MechanismInfo& info : mechanisms()) {
    if (info.kind == MechanismKind::kBits) continue;
    for (const ParameterInfo& parameter : info.parameters) {
      if (parameter.name == name) return true;
    }
  }
  return false;
}

Result<void> read_rule_key(const std::string& place, const std::string& name,
                           const toml::node& node, TensorRule& rule) {
  if (name == "match") {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) {
      return fail(ErrorKind::kUsage, place +
                                         ": tensor.match: must be a text such as \"0.weight\" "
                                         "or \"*.bias\"");
    }
    rule.match = *value;
    return {};
  }
  const bool known = name == "centre" || name == "radius" || is_mechanism_parameter(name);
  if (!known) {
    const std::vector<std::string> valid = {"match",     "centre", "radius", "epsilon",
                                            "precision", "groups", "step"};
    return fail(ErrorKind::kUsage, place + ": unknown key 'tensor." + name + "'" +
                                       did_you_mean(name, valid) +
                                       "; valid in [[tensor]]: match, centre, radius and the "
                                       "mechanism's parameters");
  }
  const double value = node.is_number() ? node.value_or(std::nan("")) : std::nan("");
  if (!std::isfinite(value) || (name == "radius" && !(value > 0.0))) {
    return fail(ErrorKind::kUsage, place + ": tensor." + name + ": must be a number" +
                                       (name == "radius" ? " above 0" : ""));
  }
  if (name == "centre") {
    rule.centre = value;
  } else if (name == "radius") {
    rule.radius = value;
  } else {
    rule.parameters[name] = value;
  }
  return {};
}

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  // Greedy with one point to go back to: the last star.
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string::npos;
  std::size_t after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

TensorRule rule_of(const Recipe& recipe, const std::string& tensor) {
  TensorRule all;
  all.match = tensor;
  for (const TensorRule& rule : recipe.tensors) {
    if (!matches(rule.match, tensor)) continue;
    if (rule.centre) all.centre = rule.centre;
    if (rule.radius) all.radius = rule.radius;
    for (const auto& [name, value] : rule.parameters) all.parameters[name] = value;
  }
  return all;
}

Result<void> read_tensor_rules(const std::string& file, const toml::node& node, Recipe& recipe) {
  const toml::array* const array = node.as_array();
  if (array == nullptr || !array->is_array_of_tables()) {
    return fail(ErrorKind::kUsage, file + ':' + std::to_string(node.source().begin.line) +
                                       ": 'tensor' must be entries: write [[tensor]] above each");
  }
  for (const toml::node& item : *array) {
    TensorRule rule;
    const auto place = [&](const toml::node& at) {
      return file + ':' + std::to_string(at.source().begin.line);
    };
    for (const auto& [name, value] : *item.as_table()) {
      SOTTO_CHECK(read_rule_key(place(value), std::string(name.str()), value, rule));
    }
    if (rule.match.empty()) {
      return fail(ErrorKind::kUsage, place(item) +
                                         ": tensor.match is missing: which tensors the "
                                         "entry is for, e.g. \"0.weight\"");
    }
    recipe.tensors.push_back(std::move(rule));
  }
  return {};
}

Result<void> check_tensor_rules(const Recipe& recipe, const Layout& layout) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : layout.tensors()) names.push_back(tensor.name);
  for (const TensorRule& rule : recipe.tensors) {
    const bool used = std::ranges::any_of(
        names, [&](const std::string& name) { return matches(rule.match, name); });
    if (!used) {
      return fail(ErrorKind::kUsage, recipe.file + ": tensor.match = \"" + rule.match +
                                         "\": no tensor of the network has such a name" +
                                         did_you_mean(rule.match, names) +
                                         "; it has: " + join(names));
    }
  }
  return {};
}

}  // namespace sotto
