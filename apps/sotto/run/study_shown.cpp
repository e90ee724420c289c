#include "study_shown.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/known.h"
#include "experiment/starter.h"
#include "report/findings.h"
#include "terminal.h"
#include "transport/mpi/launcher.h"

namespace sotto::cli {

Result<Summary> run_study_shown(const Study& study, const StudyShown& shown) {
  SOTTO_TRY(const std::vector<StudyRun> runs, plan_runs(study));
  const std::string set = shown.start ? missing_data(study, runs) : "";
  if (!set.empty()) {
    const std::string how =
        find_known_set(set) == nullptr
            ? " is not here: a path below the folder that this program was started in"
            : " is not here; `sotto data fetch " + set +
                  "`, or name its folder with --data or SOTTO_DATA";
    return fail(ErrorKind::kNotFound, study.name + ": the data set " + set + how);
  }
  Progress progress(study.name);
  StudyOptions options;
  options.jobs = shown.jobs;
  options.threads = shown.threads;
  options.start = shown.start;
  if (shown.ranks) {
    const unsigned threads = shown.threads > 0 ? shown.threads : cluster::threads_of_rank();
    options.starter = rank_starter(shown.ranks, threads);
  }
  options.on_progress = [&](const StudyOptions::State& state) {
    progress.update(
        state.work_done, state.work,
        fmt::format("{} of {} runs done, {} at work", state.runs_done, state.runs, state.working));
  };
  options.on_run = [&](const StudyRun& run, bool skipped, const std::string& why) {
    if (!shown.print_runs) return;
    progress.clear();
    fmt::print("{}  {}\n",
               skipped       ? "here already"
               : why.empty() ? "finished    "
                             : "FAILED      ",
               run.name);
    std::fflush(stdout);
  };
  SOTTO_TRY(const std::vector<RunOutcome> outcomes, run_study(study, runs, options));
  return summarize(study, runs, outcomes);
}

std::string accuracy_words(const Finding& finding) {
  if (finding.accuracy) return accuracy_text(*finding.accuracy);
  return finding.failed.empty() ? "not run" : "failed";
}

std::string findings_table(const Summary& summary) {
  bool papers = false;
  bool records = false;
  for (const Finding& finding : summary.findings) {
    papers = papers || finding.configuration->paper.has_value();
    records = records || finding.record.has_value();
  }
  std::vector<std::string> header = {"configuration", "accuracy"};
  if (papers) header.emplace_back("paper");
  header.insert(header.end(), {"runs", "epsilon of one weight"});
  if (records) header.emplace_back("epsilon of one record");
  header.insert(header.end(), {"epsilon of a client", "time"});
  Table table(header);
  for (const Finding& finding : summary.findings) {
    std::vector<std::string> row = {finding.configuration->label, accuracy_words(finding)};
    if (papers) row.push_back(paper_text(finding.configuration->paper));
    row.push_back(std::to_string(finding.runs.size()));
    row.push_back(epsilon_words(finding.unit));
    if (records) row.push_back(record_words(finding));
    row.push_back(epsilon_words(finding.client));
    row.push_back(duration(finding.seconds));
    table.add(std::move(row));
  }
  return table.text();
}

std::string failures_text(const Summary& summary) {
  std::string text;
  std::size_t failed = 0;
  std::size_t all = 0;
  for (const Finding& finding : summary.findings) {
    failed += finding.failed.size();
    all += finding.failed.size() + finding.runs.size();
    for (const auto& [name, why] : finding.failed) text += "  " + name + ": " + why + '\n';
  }
  return failed == 0 ? "" : fmt::format("{} of {} runs failed:\n{}", failed, all, text);
}

Result<void> write_findings(const std::filesystem::path& out, const nlohmann::ordered_json& json,
                            const std::string& csv) {
  SOTTO_CHECK(write_file_atomically(
      out / "results.json",
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'));
  return write_file_atomically(out / "results.csv", csv);
}

Result<void> write_results(const Summary& summary, std::vector<std::string> figures) {
  const std::filesystem::path& out = summary.study->out;
  const std::string curves = to_svg(rounds_chart(summary));
  if (figures.empty()) figures = {curves};
  SOTTO_CHECK(write_findings(out, results_json(summary), results_csv(summary)));
  for (const Figure& figure : numbered_figures(figures)) {
    SOTTO_CHECK(write_file_atomically(out / figure.file, figure.svg));
  }
  SOTTO_CHECK(write_file_atomically(out / "curves.svg", curves));
  if (figures.front() != curves) figures.push_back(curves);
  return write_file_atomically(out / "report.html", overlaid_page(summary, figures));
}

}  // namespace sotto::cli
