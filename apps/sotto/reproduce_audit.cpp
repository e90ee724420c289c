#include "reproduce_audit.h"

#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "base/file.h"
#include "base/machine.h"
#include "experiment/audit_study.h"
#include "experiment/summary.h"
#include "report/markup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

std::string number_or_infinite(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "infinite";
}

/// A lower bound, never rounded up.
std::string down(double bound) { return fmt::format("{:.3f}", std::floor(bound * 1e3) / 1e3); }

std::vector<std::string> shown(const AuditRow& row, bool cost) {
  std::string label = row.label;
  for (const auto& [key, value] : row.varied) label += fmt::format(", {} = {}", key, value);
  const bool cosine = row.finding.distinguisher == Distinguisher::kCosine;
  const VectorFinding& likelihood = cosine ? row.other : row.finding;
  std::string paper = "-";
  if (row.paper) paper = cost ? duration(row.paper->high) : number(row.paper->high);
  return {label,
          with_commas(row.dimension),
          paper,
          fmt::format("{} \u00b1 {:.3f}", number_or_infinite(row.finding.mean.raw),
                      row.finding.mean.raw_deviation),
          down(row.finding.all.best),
          down(likelihood.all.best),
          percent(row.finding.all.accuracy),
          row.model_accuracy ? percent(*row.model_accuracy, 1) : "-",
          number(row.seconds, 3) + " s"};
}

}  // namespace

std::string audit_data_state(const Experiment& experiment, const std::filesystem::path& folder) {
  const auto rows = audit_rows(experiment, false);
  if (!rows) return "not valid: " + rows.error().message;
  const std::string missing = missing_data(*rows, folder);
  return missing.empty() ? "here" : missing + " not here";
}

Result<Reproduced> reproduce_audit(const Experiment& experiment, const ReproduceOptions& options) {
  const std::filesystem::path out = folder_of(experiment, options);
  SOTTO_TRY(std::vector<AuditRow> rows, audit_rows(experiment, options.quick));
  std::erase_if(
      rows, [&](const AuditRow& row) { return row.label.find(options.only) == std::string::npos; });
  if (rows.empty()) {
    return fail(ErrorKind::kUsage, experiment.name + " has no row with '" + options.only + "'");
  }
  AuditStudyOptions study;
  study.data_folder = options.data;
  study.make_factory = make_torch_factory;
  study.threads =
      options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  study.quick = options.quick;
  Progress progress(experiment.name);
  study.progress = [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
    progress.update(done, total, what);
  };
  SOTTO_CHECK(run_audit_rows(rows, study));
  progress.clear();
  Reproduced done;
  done.json = audit_json(experiment, rows, options.quick);
  if (!options.only.empty()) done.json["complete"] = false;
  std::vector<std::string> figures;
  std::vector<LineChart> charts = audit_charts(experiment, rows);
  for (const LineChart& chart : charts) figures.push_back(to_svg(chart));
  SOTTO_CHECK(write_file_atomically(out / "results.json", done.json.dump(2) + '\n'));
  SOTTO_CHECK(write_file_atomically(out / "results.csv", audit_csv(rows)));
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const std::string name = i == 0 ? "figure.svg" : fmt::format("figure-{}.svg", i + 1);
    SOTTO_CHECK(write_file_atomically(out / name, figures[i]));
  }
  for (const Histogram& histogram : audit_histograms(rows)) figures.push_back(to_svg(histogram));
  SOTTO_CHECK(write_file_atomically(out / "report.html",
                                    audit_page(experiment, rows, figures, options.quick)));
  done.json["out"] = out.string();

  const bool cost = experiment.figure == "cost";
  const std::vector<std::string> head = {
      "audit",      "dimension",     "paper",   "eq. 3, mean of measurements",
      "bound, all", "by likelihood", "correct", "model's accuracy",
      "time"};
  Table table(head);
  const AuditSettings& first = rows.front().settings;
  done.markdown = fmt::format(
      "### {}{}\n\n{}.{}\n\n`sotto reproduce {}{}{}`: {}, {}, {} threads, seed {}.\n\n|",
      experiment.name, options.quick ? " (quick)" : "", experiment.summary,
      experiment.note.empty() ? "" : ' ' + experiment.note, experiment.name,
      options.quick ? " --quick" : "", options.only.empty() ? "" : " --only '" + options.only + "'",
      today(), machine_text(), study.threads, first.scene.seed);
  for (const std::string& cell : head) done.markdown += ' ' + cell + " |";
  done.markdown += "\n|";
  for (std::size_t i = 0; i < head.size(); ++i) done.markdown += " --- |";
  done.markdown += '\n';
  double seconds = 0.0;
  for (const AuditRow& row : rows) {
    seconds += row.seconds;
    const std::vector<std::string> cells = shown(row, cost);
    table.add(cells);
    done.markdown += '|';
    for (const std::string& cell : cells) done.markdown += ' ' + cell + " |";
    done.markdown += '\n';
    if (row.finding.verdict == Verdict::kViolated || row.other.verdict == Verdict::kViolated) {
      done.failures += row.label + ": the measured epsilon exceeds the claim\n";
    }
  }
  done.markdown += fmt::format("\n{} of trials in all; each bound at {} confidence.\n",
                               duration(seconds), percent(first.confidence, 0));
  done.table = fmt::format("{} ({}, {}): {}\n{}\n{}", experiment.name, experiment.family,
                           experiment.where, experiment.summary,
                           options.quick ? "QUICK: fewer trials, measurements or rounds\n" : "",
                           table.text());
  if (!experiment.note.empty()) done.table += "\n" + experiment.note + "\n";
  return done;
}

}  // namespace sotto::cli
