// A study: configurations of a recipe, each run with several seeds, and what came of them. `sotto
// sweep`, `sotto reproduce` and `sotto demo` are studies; they differ in where the list comes from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/sweep_grid.h"
#include "record/run_record.h"
#include "sotto/recipe.h"
#include "sotto/result.h"

namespace sotto {

/// What a paper reports: a value, or an interval where it is known no better.
struct PaperFigure {
  double low = 0.0;
  double high = 0.0;
};

struct Configuration {
  std::string label;   // "SRR, epsilon = 5": unique in its study
  std::string series;  // the curve that it is a point of: "SRR"
  std::string folder;  // readable name; a seed is added where there are several
  Combination varied;  // what makes it different, for tables: privacy.epsilon -> 5
  std::filesystem::path recipe;
  std::vector<std::string> settings;  // as --set, without the seed
  std::optional<PaperFigure> paper;
  std::string note;
};

struct Study {
  std::string name;
  std::string title;
  std::filesystem::path out;
  std::filesystem::path data_folder;  // empty: as usual
  std::vector<Configuration> configurations;
  std::vector<std::string> seeds;   // values of federation.seed; empty: the recipe's own
  std::string statistic = "final";  // accuracy of the last round, or "best" of all
  bool quick = false;
  bool part = false;  // configurations of the experiment were left out
};

/// One run of a study, with its recipe read and checked.
struct StudyRun {
  std::size_t configuration = 0;
  std::string name;  // of its folder below the study's
  std::vector<std::string> settings;
  Recipe recipe;
  std::filesystem::path out;
};

/// All runs, in order; an error where any recipe is wrong, before anything is started.
Result<std::vector<StudyRun>> plan_runs(const Study& study);

/// The name of a known set, or the path of a file, that a run needs and that is not on this
/// machine; empty: all are here.
std::string missing_data(const Study& study, const std::vector<StudyRun>& runs);

struct StudyOptions {
  unsigned jobs = 0;                       // runs side by side; 0: as many as there are cores
  unsigned threads = 0;                    // cores in all; 0: those of the machine
  bool start = true;                       // or only look at what is finished
  std::shared_ptr<class Starter> starter;  // where runs are started; empty: beside each other here
  /// Runs that are done, and rounds over all runs: for a progress bar.
  struct State {
    std::size_t runs_done = 0;
    std::size_t runs = 0;
    std::uint64_t work_done = 0;
    std::uint64_t work = 0;
    std::size_t working = 0;
  };
  std::function<void(const State&)> on_progress;
  /// A run has ended: `why` is empty where it went well.
  std::function<void(const StudyRun&, bool skipped, const std::string& why)> on_run;
};

struct RunOutcome {
  bool finished = false;
  bool skipped = false;  // it was there already
  std::string why;       // it failed; empty where it was not started
};

/// Starts what is not finished, goes on with what was begun, and returns one outcome for each run.
/// A run that fails takes no other with it.
Result<std::vector<RunOutcome>> run_study(const Study& study, const std::vector<StudyRun>& runs,
                                          const StudyOptions& options);

}  // namespace sotto
