#include "reproduce_audit.h"

#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "experiment/audit_study.h"
#include "experiment/summary.h"
#include "report/markup.h"
#include "study_shown.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

std::string number_or_infinite(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "infinite";
}

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
          number_down(row.finding.all.best, 3),
          number_down(likelihood.all.best, 3),
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
  study.threads = thread_count(options.threads);
  study.quick = options.quick;
  Progress progress(experiment.name);
  study.progress = [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
    progress.update(done, total, what);
  };
  SOTTO_CHECK(run_audit_rows(rows, study));
  progress.clear();
  nlohmann::ordered_json json = audit_json(experiment, rows, options.quick);
  if (!options.only.empty()) json["complete"] = false;
  std::vector<std::string> figures;
  for (const LineChart& chart : audit_charts(experiment, rows)) figures.push_back(to_svg(chart));
  SOTTO_CHECK(write_findings(out, json, audit_csv(rows), figures));
  for (const Histogram& histogram : audit_histograms(rows)) figures.push_back(to_svg(histogram));
  SOTTO_CHECK(write_file_atomically(out / "report.html",
                                    audit_page(experiment, rows, figures, options.quick)));

  std::vector<std::vector<std::string>> cells;
  std::string failures;
  double seconds = 0.0;
  for (const AuditRow& row : rows) {
    seconds += row.seconds;
    cells.push_back(shown(row, experiment.figure == "cost"));
    if (row.finding.verdict == Verdict::kViolated || row.other.verdict == Verdict::kViolated) {
      failures += row.label + ": the measured epsilon exceeds the claim\n";
    }
  }
  const AuditSettings& first = rows.front().settings;
  Reproduced done =
      measured_table(experiment, options,
                     fmt::format("{}, {}, {} threads, seed {}", today(), machine_text(),
                                 study.threads, first.scene.seed),
                     {"audit", "dimension", "paper", "eq. 3, mean of measurements", "bound, all",
                      "by likelihood", "correct", "model's accuracy", "time"},
                     cells);
  done.markdown += fmt::format("\n{} of trials in all; each bound at {} confidence.\n",
                               duration(seconds), percent(first.confidence, 0));
  done.json = std::move(json);
  done.json["out"] = out.string();
  done.failures = failures;
  return done;
}

}  // namespace sotto::cli
