// The experiments of the papers, as data: experiments/FAMILY.toml lists them, each with its recipe,
// what is changed in it row by row, and the figure that the paper reports. Read strictly.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/study.h"

namespace sotto {

struct ExperimentRow {
  std::string label;
  std::string recipe;                   // empty: the experiment's
  std::vector<std::string> set;         // as --set
  std::vector<std::string> vary;        // as --vary: the row is a grid
  std::vector<std::string> quick_vary;  // instead, in a quick run
  std::vector<PaperFigure> papers;      // one, or one for each combination of `vary`
  std::string note;
  bool quick = true;       // false: left out of a quick run
  double weights = 0.0;    // of a measurement: how many weights are perturbed
  double mean = 0.2;       // of an attack: what clients' values scatter around
  double sigma = 0.0;      // and by how much
  double tolerance = 0.0;  // by how much their mean moves from round to round
};

struct Experiment {
  std::string name;
  std::string family;  // "srr-fl"
  std::string where;   // "figure 4"
  std::string summary;
  std::string recipe;
  std::string statistic = "final";
  std::string figure = "bars";  // "bars", "varied", "rounds", "privacy", "cost"
  /// "audit", "perturbation", "refutations", "shuffled", "weight-inference": no runs, a
  /// measurement.
  std::string measure;
  std::string note;
  std::vector<std::string> set;
  std::vector<std::string> quick;    // set in a quick run, before the rows' own
  std::vector<std::string> compare;  // experiments whose results are points in this one's figure
  std::int64_t seeds = 3;
  std::int64_t quick_seeds = 1;
  std::vector<ExperimentRow> rows;
};

/// All of them, family by family.
Result<std::vector<Experiment>> experiments();
/// Those of one file; `place` stands for it in errors.
Result<std::vector<Experiment>> parse_experiments(std::string_view text, const std::string& family,
                                                  const std::string& place);
Result<Experiment> find_experiment(const std::string& name);

/// The text of a recipe that travels with the program, for `sotto reproduce` and `sotto demo`.
Result<std::string> carried_recipe(const std::string& name);

struct StudyRequest {
  std::filesystem::path out;
  std::filesystem::path data_folder;
  std::optional<std::int64_t> seeds;
  std::string device;  // empty: the recipe's
  bool quick = false;
};

/// The study of an experiment. Its recipes are written into `out`/recipes, so that every run can be
/// repeated by hand with `sotto run`.
Result<Study> make_study(const Experiment& experiment, const StudyRequest& request);

}  // namespace sotto
