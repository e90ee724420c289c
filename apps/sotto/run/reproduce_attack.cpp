#include "reproduce_attack.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "experiment/attack_study.h"
#include "experiment/summary.h"
#include "study_shown.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

std::string share(double value) { return fmt::format("{:.3f} %", 100.0 * value); }

std::vector<std::string> cells_of(const AttackRow& row) {
  const WeightFinding& last = row.found.last();
  const WeightTheory& theory = row.found.theory;
  return {row.label,
          row.paper ? fmt::format("{:.2f} %", 100.0 * row.paper->high) : "-",
          fmt::format("{} ({})", share(row.compared().mean),
                      fmt::format("{:.3f}", 100.0 * row.compared().standard_error)),
          share(row.compared_theory()),
          share(last.error.mean),
          last.corrected ? share(last.corrected->mean) : "-",
          last.confidence ? fmt::format("{:.1f}", last.confidence->mean) : "-",
          theory.confidence ? fmt::format("{:.1f}", *theory.confidence) : "-"};
}

const std::vector<std::string> kHeader = {
    "configuration",     "paper",       "measured",   "theory",
    "against mean held", "bias undone", "confidence", "theory"};

}  // namespace

Result<Reproduced> reproduce_attack(const Experiment& experiment, const ReproduceOptions& options) {
  AttackStudyOptions study;
  study.quick = options.quick;
  study.threads = thread_count(options.threads);
  const Stopwatch clock;
  std::vector<AttackRow> rows;
  {
    Progress progress("rows");
    SOTTO_TRY(rows, measure_weight_inference(experiment, study,
                                             [&](std::uint64_t done, std::uint64_t total) {
                                               progress.update(done, total);
                                             }));
  }
  Measured measured;
  measured.json = attack_json(experiment, rows, study);
  measured.csv = attack_csv(rows);
  for (const LineChart& chart : attack_charts(experiment, rows)) {
    measured.figures.push_back(to_svg(chart));
  }
  measured.facts = fmt::format("{}, {}, seed {}, {}", today(), machine_text(), study.seed,
                               duration(clock.seconds()));
  measured.header = kHeader;
  for (const AttackRow& row : rows) measured.rows.push_back(cells_of(row));
  measured.notes = {
      "measured: with its standard error; where values scatter, against w, and with a tolerance "
      "against "
      "what clients held in the last round."};
  return show_measured(experiment, options, measured);
}

}  // namespace sotto::cli
