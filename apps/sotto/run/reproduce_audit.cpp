#include "reproduce_audit.h"

#include <fmt/format.h>

#include <cmath>

#include "base/machine.h"
#include "base/parallel.h"
#include "experiment/audit_study.h"
#include "experiment/summary.h"
#include "report/markup.h"
#include "terminal.h"
#include "torch_trainer.h"

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
  SOTTO_TRY(std::vector<AuditRow> rows, audit_rows(experiment, options.quick));
  SOTTO_CHECK(keep_only(rows, experiment.name, options.only, &AuditRow::label, &AuditRow::label));
  AuditStudyOptions study;
  study.data_folder = options.data;
  study.make_factory = torch_trainer();
  study.threads = thread_count(options.threads);
  study.quick = options.quick;
  Progress progress(experiment.name);
  study.progress = [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
    progress.update(done, total, what);
  };
  SOTTO_CHECK(run_audit_rows(rows, study));
  progress.clear();
  Measured measured;
  measured.json = audit_json(experiment, rows, options.quick);
  if (!options.only.empty()) measured.json["complete"] = false;
  measured.csv = audit_csv(rows);
  for (const LineChart& chart : audit_charts(experiment, rows)) {
    measured.figures.push_back(to_svg(chart));
  }
  for (const Histogram& histogram : audit_histograms(rows)) {
    measured.figures.push_back(to_svg(histogram));
  }
  std::string failures;
  double seconds = 0.0;
  for (const AuditRow& row : rows) {
    seconds += row.seconds;
    measured.rows.push_back(shown(row, experiment.figure == "cost"));
    if (row.finding.verdict == Verdict::kViolated || row.other.verdict == Verdict::kViolated) {
      failures += row.label + ": the measured epsilon exceeds the claim\n";
    }
  }
  const AuditSettings& first = rows.front().settings;
  measured.facts = fmt::format("{}, {}, {} threads, seed {}", today(), machine_text(),
                               study.threads, first.scene.seed);
  measured.header = {"audit",      "dimension",     "paper",   "eq. 3, mean of measurements",
                     "bound, all", "by likelihood", "correct", "model's accuracy",
                     "time"};
  measured.notes = {fmt::format("{} of trials in all; each bound at {} confidence.",
                                duration(seconds), percent(first.confidence, 0))};
  SOTTO_TRY(Reproduced done, show_measured(experiment, options, measured));
  done.failures = failures;
  return done;
}

}  // namespace sotto::cli
