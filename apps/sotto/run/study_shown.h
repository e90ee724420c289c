// A study that people watch: a bar with the time left, a line for each run that ends, the table of
// what was found, and the files with it.
#pragma once

#include <string>
#include <vector>

#include "experiment/results.h"
#include "experiment/study.h"
#include "sotto/ranks.h"

namespace sotto::cli {

struct StudyShown {
  unsigned jobs = 0;
  unsigned threads = 0;
  bool print_runs = true;             // a line on stdout for each run that ended
  std::shared_ptr<Ranks> ranks = {};  // of a job: each is given whole runs
  bool start = true;                  // or only look at what is finished
};

/// Runs what is not finished. A run that fails is in the summary, not an error.
Result<Summary> run_study_shown(const Study& study, const StudyShown& shown);

/// One line for each configuration: accuracy, the paper's figure where there is one, the exact
/// epsilon of a weight and of a client, time.
std::string findings_table(const Summary& summary);

/// "failed" or "not run" where there is none.
std::string accuracy_words(const Finding& finding);

/// "2 of 12 runs failed" and why, one line each; empty where none did.
std::string failures_text(const Summary& summary);

/// results.json, results.csv, curves.svg, figure.svg and report.html in the study's folder, each
/// whole or not at all. The first of `figures` is figure.svg, others are figure-2.svg, ...
Result<void> write_results(const Summary& summary, std::vector<std::string> figures);

/// results.json and results.csv, which every experiment leaves.
Result<void> write_findings(const std::filesystem::path& out, const nlohmann::ordered_json& json,
                            const std::string& csv);

}  // namespace sotto::cli
