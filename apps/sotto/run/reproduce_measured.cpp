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
  Measured measured;
  measured.json = shuffle_json(experiment, rows, options.quick);
  measured.csv = shuffle_csv(rows);
  measured.figures = {to_svg(shuffle_chart(experiment, rows))};
  for (const ShuffleRow& row : rows) {
    measured.rows.push_back(
        {number(row.epsilon0), with_commas(row.clients), or_dash(row.paper_theoretical),
         or_dash(row.closed_form), up(row.numerical), up(row.exact_binary),
         number_down(row.finding.bounds.two_sided, 4), with_commas(row.finding.trials),
         or_dash(row.paper_measured), fmt::format("{:.3f}", row.seed_exact),
         fmt::format("{:.3f} \u00b1 {:.3f}", row.seed_mean, row.seed_deviation)});
  }
  measured.facts =
      fmt::format("{}, {}, seed {}, {}, delta 1e-6, lower bounds at {} confidence", today(),
                  machine_text(), rows.empty() ? 1 : rows.front().seed, duration(clock.seconds()),
                  percent(rows.empty() ? 0.95 : rows.front().confidence, 0));
  measured.header = {"epsilon0",
                     "clients",
                     "paper, theoretical",
                     "closed form",
                     "numerical",
                     "exact binary",
                     "audited",
                     "trials",
                     "paper, measured",
                     "its statistic, exact",
                     "its statistic, 1,000 trials"};
  return show_measured(experiment, options, measured);
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
  Measured measured;
  measured.json = refutations_json(experiment, rows, plan);
  measured.csv = refutations_csv(rows);
  measured.figures = {to_svg(refutations_chart(experiment, rows))};
  std::string lines, failures;
  for (const Refutation& row : rows) {
    const RefutationCase& what = row.what;
    measured.rows.push_back(
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
  measured.facts =
      fmt::format("{}, {}, seed {}, {}, each lower bound at {} confidence", today(), machine_text(),
                  plan.seed, duration(clock.seconds()), percent(plan.confidence, 0));
  measured.header = {"case",   "where",   "claimed (delta)", "audited",           "exact",
                     "trials", "verdict", "instead",         "audited of claimed"};
  SOTTO_TRY(Reproduced done, show_measured(experiment, options, measured));
  done.table += "\n" + lines;
  done.markdown += "\n" + lines;
  done.failures = failures;
  return done;
}

}  // namespace sotto::cli
