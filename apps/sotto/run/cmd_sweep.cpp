// sotto sweep RECIPE --vary key=a,b,c: a grid of runs side by side, one table and one page.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "experiment/starter.h"
#include "study_shown.h"
#include "terminal.h"
#include "transport/mpi/launcher.h"

namespace sotto::cli {
namespace {

constexpr const char* kSeed = "federation.seed";

struct Arguments {
  std::string recipe;
  std::vector<std::string> vary;
  std::vector<std::string> settings;
  std::string out;
  std::string data;
  std::string statistic = "final";
  unsigned jobs = 0;
  unsigned threads = 0;
  bool json = false;
};

/// Seeds are what a configuration is repeated with, not what makes it another one.
Result<Study> study_of(const Arguments& arguments) {
  Study study;
  std::vector<Vary> keys;
  for (const std::string& text : arguments.vary) {
    SOTTO_TRY(Vary vary, parse_vary(text));
    if (vary.key == kSeed) {
      if (!study.seeds.empty()) {
        return fail(ErrorKind::kUsage, "--vary federation.seed: is given twice");
      }
      study.seeds = vary.values;
    } else {
      keys.push_back(std::move(vary));
    }
  }
  const std::filesystem::path recipe(arguments.recipe);
  study.name = recipe.stem().string();
  study.title = "Sweep of " + study.name;
  study.out = arguments.out.empty() ? "runs/sweep-" + study.name : arguments.out;
  study.data_folder = arguments.data;
  study.statistic = arguments.statistic;
  SOTTO_TRY(const std::vector<Combination> all, combinations(keys));
  for (const Combination& combination : all) {
    Configuration configuration;
    configuration.recipe = recipe;
    configuration.varied = combination;
    configuration.settings = arguments.settings;
    for (const auto& [key, value] : combination) {
      if (!configuration.label.empty()) configuration.label += ", ";
      configuration.label += short_key(key, keys) + " = " + value;
      configuration.settings.push_back(key + '=' + value);
    }
    if (configuration.label.empty()) configuration.label = study.name;
    if (!combination.empty()) configuration.folder = folder_name(combination, keys);
    study.configurations.push_back(std::move(configuration));
  }
  return study;
}

Result<int> sweep(const Arguments& arguments) {
  if (arguments.vary.empty()) {
    return fail(ErrorKind::kUsage,
                "sweep: nothing to vary: give --vary KEY=A,B,C, e.g. --vary privacy.epsilon=1,3,5");
  }
  SOTTO_TRY(const std::shared_ptr<Ranks> ranks, cluster::join());
  if (ranks && !ranks->leads()) return serve_runs(*ranks), 0;
  SOTTO_TRY(const Study study, study_of(arguments));
  SOTTO_TRY(const Summary summary,
            run_study_shown(study, {arguments.jobs, arguments.threads, !arguments.json, ranks}));
  std::vector<std::string> figures;
  for (const LineChart& chart : varied_charts(summary)) figures.push_back(to_svg(chart));
  SOTTO_CHECK(write_results(summary, std::move(figures)));
  if (arguments.json) {
    nlohmann::ordered_json json = results_json(summary);
    json["out"] = study.out.string();
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("\n{}\n", findings_table(summary));
    fmt::print("files in {}: results.json, results.csv, figure.svg, curves.svg, report.html\n",
               study.out.string());
  }
  if (summary.complete()) return 0;
  fmt::print(stderr, "sotto: {}the same command goes on with what is missing\n",
             failures_text(summary));
  return 1;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("sweep", "Run a recipe over a grid of values, side by side");
  auto arguments = choose<Arguments>(*sub, action, sweep);
  sub->add_option("recipe", arguments->recipe, "recipe file (TOML)")
      ->type_name("RECIPE.toml")
      ->required();
  sub->add_option("--vary", arguments->vary,
                  "a key and its values: --vary privacy.epsilon=1,3,5 (repeatable: all "
                  "combinations); federation.seed gives mean and deviation")
      ->type_name("KEY=A,B,...")
      ->allow_extra_args(false);
  sub->add_option("--set", arguments->settings, "override a key in all runs (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--out", arguments->out, "folder for the runs; default runs/sweep-NAME")
      ->type_name("DIR");
  sub->add_option("--data", arguments->data,
                  "folder with data sets; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  sub->add_option("--statistic", arguments->statistic,
                  "which accuracy of a run counts: final or best")
      ->check(CLI::IsMember({"final", "best"}))
      ->capture_default_str();
  sub->add_option("--jobs", arguments->jobs,
                  "runs side by side; each has cores / jobs threads; default one for each core; "
                  "under mpirun one on each rank")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_option("--threads", arguments->threads,
                  "cores to use in all, under mpirun for each run; default all")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_flag("--json", arguments->json, "print the results as JSON");
  sub->footer(
      "Every run is a `sotto run` of its own in a folder that tells its values, with the same\n"
      "result bit for bit. A sweep that was killed goes on when it is started again: finished "
      "runs\n"
      "are skipped, begun ones resumed. A run that fails is named at the end (exit code 1).\n\n"
      "Examples:\n"
      "  sotto sweep recipes/embedded.toml --set privacy.mechanism=srr --set privacy.radius=0.1 "
      "\\\n"
      "      --vary privacy.epsilon=1,2,3,5 --vary federation.seed=1,2,3 --out runs/eps\n"
      "  sotto sweep recipes/embedded.toml --vary 'data.mean=[0.1],[0.2]' --set "
      "'data.deviation=[0.3]'\n"
      "  sotto sweep recipes/srr-mnist.toml --vary train.lr=0.05,0.1 --json | jq .configurations");
}

}  // namespace sotto::cli
