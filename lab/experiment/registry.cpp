#include "experiment/registry.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "base/file.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "experiment/carried.h"

namespace sotto {
namespace {

constexpr std::int64_t kMostSeeds = 1000;

/// Reads one value; false where it is not what the key wants.
using Read = std::function<bool(const toml::node&)>;
using Keys = std::map<std::string, Read, std::less<>>;

Read into(std::string& target) {
  return [&target](const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    if (value) target = *value;
    return value.has_value();
  };
}

Read into(std::vector<std::string>& target) {
  return [&target](const toml::node& node) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) return false;
    for (const toml::node& item : *array) {
      const auto value = item.value_exact<std::string>();
      if (!value) return false;
      target.push_back(*value);
    }
    return true;
  };
}

Read into(bool& target) {
  return [&target](const toml::node& node) {
    const auto value = node.value_exact<bool>();
    if (value) target = *value;
    return value.has_value();
  };
}

Read into(std::int64_t& target) {
  return [&target](const toml::node& node) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > kMostSeeds) return false;
    target = *value;
    return true;
  };
}

Read into(double& target) {
  return [&target](const toml::node& node) {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value > 0.0)) return false;
    target = *value;
    return true;
  };
}

Read one_of(std::string& target, std::vector<std::string> words) {
  return [&target, words = std::move(words)](const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    if (!value || std::find(words.begin(), words.end(), *value) == words.end()) return false;
    target = *value;
    return true;
  };
}

/// A number, or [low, high].
std::optional<PaperFigure> figure_of(const toml::node& node) {
  const auto number = [](const toml::node* item) -> std::optional<double> {
    return item != nullptr && item->is_number() ? item->value<double>() : std::nullopt;
  };
  if (const auto value = number(&node)) return PaperFigure{*value, *value};
  const toml::array* const array = node.as_array();
  if (array == nullptr || array->size() != 2) return std::nullopt;
  const auto low = number(array->get(0));
  const auto high = number(array->get(1));
  if (!low || !high || *low > *high) return std::nullopt;
  return PaperFigure{*low, *high};
}

Read one_figure(std::vector<PaperFigure>& target) {
  return [&target](const toml::node& node) {
    const auto figure = figure_of(node);
    if (figure) target = {*figure};
    return figure.has_value();
  };
}

Read many_figures(std::vector<PaperFigure>& target) {
  return [&target](const toml::node& node) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) return false;
    for (const toml::node& item : *array) {
      const auto figure = figure_of(item);
      if (!figure) return false;
      target.push_back(*figure);
    }
    return true;
  };
}

Result<void> read_keys(const toml::table& table, const std::string& file, const Keys& keys) {
  std::vector<std::string> names;
  for (const auto& [name, read] : keys) names.push_back(name);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string place = file + ':' + std::to_string(node.source().begin.line);
    const auto known = keys.find(name);
    if (known == keys.end()) {
      return fail(ErrorKind::kCorrupt, place + ": unknown key '" + name + "'" +
                                           did_you_mean(name, names) + "; valid: " + join(names));
    }
    if (!known->second(node)) {
      return fail(ErrorKind::kCorrupt, place + ": '" + name + "' has a wrong type or value");
    }
  }
  return {};
}

Result<ExperimentRow> read_row(const toml::table& table, const std::string& place) {
  ExperimentRow row;
  const Keys keys = {{"label", into(row.label)},
                     {"recipe", into(row.recipe)},
                     {"set", into(row.set)},
                     {"vary", into(row.vary)},
                     {"quick_vary", into(row.quick_vary)},
                     {"paper", one_figure(row.papers)},
                     {"papers", many_figures(row.papers)},
                     {"note", into(row.note)},
                     {"quick", into(row.quick)},
                     {"weights", into(row.weights)},
                     {"mean", into(row.mean)},
                     {"sigma", into(row.sigma)},
                     {"tolerance", into(row.tolerance)}};
  SOTTO_CHECK(read_keys(table, place, keys));
  if (row.label.empty()) {
    return fail(ErrorKind::kCorrupt,
                place + ':' + std::to_string(table.source().begin.line) + ": a row needs a label");
  }
  return row;
}

Result<Experiment> read_experiment(const toml::table& table, const std::string& place) {
  Experiment experiment;
  const toml::array* rows = nullptr;
  const Keys keys = {
      {"name", into(experiment.name)},
      {"where", into(experiment.where)},
      {"summary", into(experiment.summary)},
      {"recipe", into(experiment.recipe)},
      {"note", into(experiment.note)},
      {"set", into(experiment.set)},
      {"quick", into(experiment.quick)},
      {"compare", into(experiment.compare)},
      {"seeds", into(experiment.seeds)},
      {"quick_seeds", into(experiment.quick_seeds)},
      {"statistic", one_of(experiment.statistic, {"final", "best"})},
      {"measure", one_of(experiment.measure,
                         {"audit", "perturbation", "refutations", "shuffled", "weight-inference"})},
      {"figure", one_of(experiment.figure, {"bars", "varied", "rounds", "privacy", "cost"})},
      {"row", [&](const toml::node& node) { return (rows = node.as_array()) != nullptr; }}};
  SOTTO_CHECK(read_keys(table, place, keys));
  const std::string line = place + ':' + std::to_string(table.source().begin.line);
  if (experiment.name.empty() || experiment.summary.empty() || rows == nullptr) {
    return fail(
        ErrorKind::kCorrupt,
        line + ": an experiment needs a name, a summary and at least one [[experiment.row]]");
  }
  for (const toml::node& node : *rows) {
    const toml::table* const row = node.as_table();
    if (row == nullptr) return fail(ErrorKind::kCorrupt, line + ": write [[experiment.row]]");
    SOTTO_TRY(ExperimentRow made, read_row(*row, place));
    if (made.recipe.empty() && experiment.recipe.empty() && experiment.measure.empty()) {
      return fail(ErrorKind::kCorrupt, line + ": '" + made.label + "' has no recipe");
    }
    experiment.rows.push_back(std::move(made));
  }
  return experiment;
}

/// "SRR, epsilon 5" -> "srr-epsilon-5"
std::string slug(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '.' || c == '+') {
      name += static_cast<char>(std::tolower(letter));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "row" : name;
}

Result<std::vector<Configuration>> configurations_of(const Experiment& experiment,
                                                     const ExperimentRow& row,
                                                     const StudyRequest& request) {
  std::vector<Vary> varied;
  const bool fewer = request.quick && !row.quick_vary.empty();
  std::vector<Vary> whole;
  for (const std::string& text : row.vary) {
    SOTTO_TRY(Vary vary, parse_vary(text));
    whole.push_back(std::move(vary));
  }
  if (fewer) {
    for (const std::string& text : row.quick_vary) {
      SOTTO_TRY(Vary vary, parse_vary(text));
      varied.push_back(std::move(vary));
    }
  } else {
    varied = whole;
  }
  SOTTO_TRY(const std::vector<Combination> all, combinations(whole));
  SOTTO_TRY(const std::vector<Combination> wanted, combinations(varied));
  if (row.papers.size() > 1 && row.papers.size() != all.size()) {
    return fail(ErrorKind::kCorrupt, experiment.name + ": '" + row.label + "' has " +
                                         std::to_string(row.papers.size()) + " figures for " +
                                         std::to_string(all.size()) + " combinations");
  }
  std::vector<Configuration> made;
  for (const Combination& combination : wanted) {
    Configuration configuration;
    configuration.series = row.label;
    configuration.label = row.label;
    configuration.folder = slug(row.label);
    configuration.varied = combination;
    configuration.note = row.note;
    configuration.settings = experiment.set;
    const auto add = [&](const std::vector<std::string>& settings) {
      configuration.settings.insert(configuration.settings.end(), settings.begin(), settings.end());
    };
    add(row.set);
    if (request.quick) add(experiment.quick);
    for (const auto& [key, value] : combination) {
      configuration.settings.push_back(key + '=' + value);
      configuration.label += ", " + short_key(key, varied) + " = " + value;
    }
    if (!request.device.empty()) {
      configuration.settings.push_back("train.device=\"" + request.device + '"');
    }
    if (!combination.empty()) configuration.folder += '_' + folder_name(combination, varied);
    const auto at = std::find(all.begin(), all.end(), combination);
    if (row.papers.size() == 1) configuration.paper = row.papers.front();
    if (row.papers.size() > 1 && at != all.end()) {
      configuration.paper = row.papers[static_cast<std::size_t>(at - all.begin())];
    }
    made.push_back(std::move(configuration));
  }
  return made;
}

}  // namespace

Result<std::vector<Experiment>> parse_experiments(std::string_view text, const std::string& family,
                                                  const std::string& place) {
  const toml::parse_result parsed = toml::parse(text, place);
  if (!parsed) {
    return fail(ErrorKind::kCorrupt,
                place + ':' + std::to_string(parsed.error().source().begin.line) +
                    ": not valid TOML: " + std::string(parsed.error().description()));
  }
  const toml::array* list = nullptr;
  SOTTO_CHECK(read_keys(parsed.table(), place, {{"experiment", [&](const toml::node& node) {
                                                   return (list = node.as_array()) != nullptr;
                                                 }}}));
  std::vector<Experiment> all;
  if (list == nullptr) return all;
  for (const toml::node& node : *list) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) return fail(ErrorKind::kCorrupt, place + ": write [[experiment]]");
    SOTTO_TRY(Experiment experiment, read_experiment(*table, place));
    experiment.family = family;
    all.push_back(std::move(experiment));
  }
  return all;
}

Result<std::vector<Experiment>> experiments() {
  std::vector<Experiment> all;
  for (const Carried& file : carried_files()) {
    if (file.kind != Carried::kFamily) continue;
    const std::string name(file.name);
    SOTTO_TRY(std::vector<Experiment> family,
              parse_experiments(file.text, name, "experiments/" + name + ".toml"));
    std::move(family.begin(), family.end(), std::back_inserter(all));
  }
  return all;
}

Result<Experiment> find_experiment(const std::string& name) {
  SOTTO_TRY(const std::vector<Experiment> all, experiments());
  std::vector<std::string> names;
  for (const Experiment& experiment : all) {
    if (experiment.name == name) return experiment;
    names.push_back(experiment.name);
  }
  return fail(ErrorKind::kUsage, "no experiment is called '" + name + "'" +
                                     did_you_mean(name, names) + "; `sotto reproduce --list`");
}

Result<std::string> carried_recipe(const std::string& name) {
  for (const Carried& file : carried_files()) {
    if (file.kind == Carried::kRecipe && file.name == name) return std::string(file.text);
  }
  return fail(ErrorKind::kNotFound, "no recipe is called '" + name + "'");
}

Result<Study> make_study(const Experiment& experiment, const StudyRequest& request) {
  Study study;
  study.name = experiment.name;
  study.title = experiment.name + ": " + experiment.summary;
  study.out = request.out;
  study.data_folder = request.data_folder;
  study.statistic = experiment.statistic;
  study.quick = request.quick;
  const std::int64_t seeds =
      request.seeds.value_or(request.quick ? experiment.quick_seeds : experiment.seeds);
  for (std::int64_t seed = 1; seed <= seeds; ++seed) study.seeds.push_back(std::to_string(seed));
  for (const ExperimentRow& row : experiment.rows) {
    if (request.quick && !row.quick) continue;
    const std::string name = row.recipe.empty() ? experiment.recipe : row.recipe;
    const std::filesystem::path file = request.out / "recipes" / (name + ".toml");
    SOTTO_TRY(const std::string text, carried_recipe(name));
    SOTTO_CHECK(write_file_atomically(file, text));
    SOTTO_TRY(std::vector<Configuration> made, configurations_of(experiment, row, request));
    for (Configuration& configuration : made) {
      configuration.recipe = file;
      study.configurations.push_back(std::move(configuration));
    }
  }
  return study;
}

}  // namespace sotto
