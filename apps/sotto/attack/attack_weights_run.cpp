// The weight-inference attack on the rounds of a recipe.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attack/weight_watch.h"
#include "attack_weights_shown.h"
#include "base/clock.h"
#include "base/file.h"
#include "report/chart.h"
#include "report/findings.h"
#include "run/run_with_progress.h"
#include "terminal.h"

namespace sotto::cli {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const WatchedRound& round) {
  return {{"round", round.round},
          {"reports", round.reports},
          {"error_now", round.error_now},
          {"error", round.error},
          {"theory", round.error_theory},
          {"error_latest", round.error_latest},
          {"drift", round.drift},
          {"confidence", round.confidence ? Json(*round.confidence) : Json(nullptr)}};
}

const std::vector<std::string> kHeader = {"round",   "reports",     "this round",
                                          "history", "noise alone", "history to latest",
                                          "drift",   "confidence"};

std::vector<std::string> cells_of(const WatchedRound& round) {
  const auto share = [](double value) { return fmt::format("{:.3f} %", 100.0 * value); };
  return {std::to_string(round.round),
          with_commas(round.reports),
          share(round.error_now),
          share(round.error),
          share(round.error_theory),
          share(round.error_latest),
          share(round.drift),
          round.confidence ? fmt::format("{:.1f}", *round.confidence) : "-"};
}

std::string table_of(const std::vector<WatchedRound>& rounds) {
  Table table(kHeader);
  for (const WatchedRound& round : rounds) table.add(cells_of(round));
  return table.text();
}

std::string chart_of(const std::vector<WatchedRound>& rounds, const std::string& tensor) {
  LineChart chart;
  chart.title = "Weight inference in a run: " + tensor;
  chart.x_label = "round";
  chart.y_label = "error, share of the domain";
  chart.y_log = true;
  Series now{"this round's mean, against what its clients held", {}};
  Series history{"average over all rounds, against the average held", {}};
  Series latest{"average over all rounds, against the latest held", {}};
  Series theory{"the mechanism's noise alone, averaged over all rounds", {}};
  for (const WatchedRound& round : rounds) {
    now.points.emplace_back(round.round, round.error_now);
    history.points.emplace_back(round.round, round.error);
    latest.points.emplace_back(round.round, round.error_latest);
    theory.points.emplace_back(round.round, round.error_theory);
  }
  chart.series = {now, history, theory, latest};
  return to_svg(chart);
}

}  // namespace

Result<int> attack_run(const WatchArguments& arguments) {
  std::vector<std::string> settings = arguments.settings;
  if (arguments.rounds) {
    settings.push_back("federation.rounds=" + std::to_string(*arguments.rounds));
  }
  settings.emplace_back("ledger.keep=false");
  WeightRun run;
  SOTTO_TRY(run.recipe, load_recipe(arguments.recipe, settings));
  run.tensor = arguments.tensor;
  run.weights = arguments.weights;
  run.seed = arguments.seed;
  run.options.threads = arguments.threads;
  run.options.data_folder = arguments.data;
  const Stopwatch clock;
  WatchedWeights found;
  {
    Progress progress("round");
    const auto rounds = static_cast<std::uint64_t>(run.recipe.federation.rounds);
    run.options.on_client = [&](RoundId round, std::uint64_t done, std::uint64_t total) {
      progress.update((round - 1) * total + done, rounds * total,
                      fmt::format("round {}/{}", round, rounds));
    };
    SOTTO_TRY(found, infer_weights_of_run(run, make_engine));
  }
  Json json = {{"attack", "weight-inference"},
               {"recipe", arguments.recipe},
               {"mechanism", run.recipe.privacy.mechanism},
               {"tensor", found.tensor},
               {"weights", found.weights},
               {"accuracy", found.accuracy ? Json(*found.accuracy) : Json(nullptr)},
               {"seconds", clock.seconds()},
               {"rounds", Json::array()}};
  for (const WatchedRound& round : found.rounds) json["rounds"].push_back(to_json(round));
  if (!arguments.out.empty()) {
    const std::filesystem::path out = arguments.out;
    SOTTO_CHECK(write_file_atomically(out / "results.json", json.dump(2) + '\n'));
    FindingsPage page{"Weight inference in a run of " + arguments.recipe,
                      fmt::format("{} weights of {}, errors as shares of the domain 2r",
                                  found.weights, found.tensor),
                      "",
                      kHeader,
                      {},
                      {},
                      {{"error.svg", chart_of(found.rounds, found.tensor)}}};
    for (const WatchedRound& round : found.rounds) page.rows.push_back(cells_of(round));
    SOTTO_CHECK(write_findings_page(out, page));
  }
  if (arguments.json) {
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print(
      "Weight inference in a run of {} with {}: mean over {} weights of {}, errors as shares "
      "of the domain 2r.\nAccuracy of the model: {}, in {}.\n\n{}",
      arguments.recipe, run.recipe.privacy.mechanism, found.weights, found.tensor,
      percent(found.accuracy), duration(clock.seconds()), table_of(found.rounds));
  fmt::print(
      "\nthis round: the round's decoded mean against what its clients held; history: the average "
      "over all rounds\nagainst the average of what was held; drift: how far what was held has "
      "moved "
      "from its own average.\n");
  if (!arguments.out.empty()) {
    fmt::print("files in {}: results.json, error.svg, report.html\n", arguments.out);
  }
  return 0;
}

void add_watch_options(CLI::App& command, WatchArguments& arguments) {
  command.add_option("recipe", arguments.recipe, "attack a run of this recipe instead of numbers")
      ->type_name("RECIPE.toml");
  command.add_option("--set", arguments.settings, "override a key of the recipe (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--data", arguments.data,
                  "of a recipe: folder with data sets; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  command
      .add_option("--tensor", arguments.tensor,
                  "of a recipe: the tensor whose weights are inferred; default the first")
      ->type_name("NAME");
  command
      .add_option("--weights", arguments.weights,
                  "of a recipe: so many weights, spread evenly over the tensor")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  command.add_option("--seed", arguments.seed, "of clients' values, noise and splits")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--threads", arguments.threads, "default all cores")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  command.add_option("--out", arguments.out, "folder for results.json and pictures")
      ->type_name("DIR");
  command.add_flag("--json", arguments.json, "print the results as JSON");
}

}  // namespace sotto::cli
