#include "reproduce_attack.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/machine.h"
#include "experiment/attack_study.h"
#include "experiment/summary.h"
#include "federation/setup.h"
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
  const std::filesystem::path out = folder_of(experiment, options);
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
  const double seconds = clock.seconds();
  Reproduced done;
  done.json = attack_json(experiment, rows, study);
  SOTTO_CHECK(write_file_atomically(out / "results.json", done.json.dump(2) + '\n'));
  SOTTO_CHECK(write_file_atomically(out / "results.csv", attack_csv(rows)));
  std::size_t number = 0;
  for (const LineChart& chart : attack_charts(experiment, rows)) {
    ++number;
    const std::string name = number == 1 ? "figure.svg" : fmt::format("figure-{}.svg", number);
    SOTTO_CHECK(write_file_atomically(out / name, to_svg(chart)));
  }
  done.json["out"] = out.string();
  Table table(kHeader);
  done.markdown = fmt::format(
      "### {}{}\n\n{}. {}\n\n`sotto reproduce {}{}`: {}, {}, seed {}, {}.\n\n|", experiment.name,
      options.quick ? " (quick)" : "", experiment.summary, experiment.note, experiment.name,
      options.quick ? " --quick" : "", today(), machine_text(), study.seed, duration(seconds));
  for (const std::string& name : kHeader) done.markdown += ' ' + name + " |";
  done.markdown += "\n|";
  for (std::size_t i = 0; i < kHeader.size(); ++i) done.markdown += " --- |";
  done.markdown += '\n';
  for (const AttackRow& row : rows) {
    const std::vector<std::string> cells = cells_of(row);
    table.add(cells);
    done.markdown += '|';
    for (const std::string& cell : cells) done.markdown += ' ' + cell + " |";
    done.markdown += '\n';
  }
  done.table = fmt::format(
      "{} ({}, {}): {}\n\n{}\nmeasured: with its standard error; where values "
      "scatter, against w. {}\n",
      experiment.name, experiment.family, experiment.where, experiment.summary, table.text(),
      experiment.note);
  return done;
}

}  // namespace sotto::cli
