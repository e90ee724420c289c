#include "reproduce_measured.h"

#include <fmt/format.h>

#include <cmath>

#include "base/clock.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "experiment/refutation_study.h"
#include "experiment/shuffle_study.h"
#include "experiment/summary.h"
#include "report/markup.h"
#include "study_shown.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

std::string up(double epsilon) { return std::isfinite(epsilon) ? number_up(epsilon) : "infinite"; }
std::string or_dash(const std::optional<double>& value) { return value ? number(*value) : "-"; }

}  // namespace

Result<Reproduced> reproduce_shuffled(const Experiment& experiment,
                                      const ReproduceOptions& options) {
  const Stopwatch clock;
  SOTTO_TRY(std::vector<ShuffleRow> rows, shuffle_rows(experiment, options.quick));
  {
    Progress progress(experiment.name);
    SOTTO_CHECK(measure_shuffle(
        rows, thread_count(options.threads),
        [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); }));
  }
  const nlohmann::ordered_json json = shuffle_json(experiment, rows, options.quick);
  const std::filesystem::path out = folder_of(experiment, options);
  SOTTO_CHECK(
      write_findings(out, json, shuffle_csv(rows), {to_svg(shuffle_chart(experiment, rows))}));
  std::vector<std::vector<std::string>> cells;
  for (const ShuffleRow& row : rows) {
    cells.push_back({number(row.epsilon0), with_commas(row.clients), or_dash(row.paper_theoretical),
                     or_dash(row.closed_form), up(row.numerical), up(row.exact_binary),
                     number_down(row.finding.bounds.two_sided, 4), with_commas(row.finding.trials),
                     or_dash(row.paper_measured), fmt::format("{:.3f}", row.seed_exact),
                     fmt::format("{:.3f} \u00b1 {:.3f}", row.seed_mean, row.seed_deviation)});
  }
  Reproduced done = measured_table(
      experiment, options,
      fmt::format("{}, {}, seed {}, {}, delta 1e-6, lower bounds at {} confidence", today(),
                  machine_text(), rows.empty() ? 1 : rows.front().seed, duration(clock.seconds()),
                  percent(rows.empty() ? 0.95 : rows.front().confidence, 0)),
      {"epsilon0", "clients", "paper, theoretical", "closed form", "numerical", "exact binary",
       "audited", "trials", "paper, measured", "its statistic, exact",
       "its statistic, 1,000 trials"},
      cells);
  done.json = json;
  done.json["out"] = out.string();
  return done;
}

Result<Reproduced> reproduce_refutations(const Experiment& experiment,
                                         const ReproduceOptions& options) {
  const Stopwatch clock;
  RefutationPlan plan;
  plan.quick = options.quick;
  plan.threads = thread_count(options.threads);
  std::vector<Refutation> rows;
  {
    Progress progress(experiment.name);
    SOTTO_TRY(rows, measure_refutations(
                        experiment, plan,
                        [&](std::uint64_t done, std::uint64_t total, const std::string& name) {
                          progress.update(done, total, name);
                        }));
  }
  const nlohmann::ordered_json json = refutations_json(experiment, rows, plan);
  const std::filesystem::path out = folder_of(experiment, options);
  SOTTO_CHECK(write_findings(out, json, refutations_csv(rows),
                             {to_svg(refutations_chart(experiment, rows))}));
  std::vector<std::vector<std::string>> cells;
  std::string lines, failures;
  for (const Refutation& row : rows) {
    const RefutationCase& what = row.what;
    cells.push_back(
        {what.name, what.paper + ", " + what.where,
         number(what.claimed) + (what.delta > 0.0 ? fmt::format(" ({:g})", what.delta) : ""),
         number_down(row.audited.epsilon_lower, 2), up(what.exact), with_commas(row.audited.trials),
         row.refuted() ? "refuted" : "NOT refuted", what.remedy,
         fmt::format("{} of {}", number_down(row.remedy.epsilon_lower, 2),
                     up(what.remedy_claimed))});
    lines += fmt::format("- {}: {}. Event: {}. Exact: {}. Why: {}.\n", what.name, what.claim,
                         what.event, what.derived, what.why);
    if (!row.refuted()) failures += what.name + " was not refuted\n";
    if (!row.remedy_holds()) failures += what.name + ": its remedy was refuted\n";
  }
  Reproduced done = measured_table(
      experiment, options,
      fmt::format("{}, {}, seed {}, {}, each lower bound at {} confidence", today(), machine_text(),
                  plan.seed, duration(clock.seconds()), percent(plan.confidence, 0)),
      {"case", "where", "claimed (delta)", "audited", "exact", "trials", "verdict", "instead",
       "audited of claimed"},
      cells);
  done.table += "\n" + lines;
  done.markdown += "\n" + lines;
  done.failures = failures;
  done.json = json;
  done.json["out"] = out.string();
  return done;
}

}  // namespace sotto::cli
