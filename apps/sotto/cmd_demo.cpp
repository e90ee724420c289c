// sotto demo: the main job on data that needs no download, in under 90 seconds.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "report/report.h"
#include "run_shown.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

constexpr const char* kRecipe = R"(
[data]
name = "embedded"
partition = "stratified"
[model]
name = "srr-mnist"
[train]
lr = 0.1
momentum = 0.5
batch_size = 16
epochs = 3
[federation]
clients = 100
fraction = 0.3
rounds = 12
[privacy]
mechanism = "none"
[output]
name = "demo"
)";

struct Arguments {
  std::string out = "runs/demo";
  unsigned threads = 0;
  bool json = false;
};

Result<int> demo(const Arguments& arguments) {
  ShownRun run;
  SOTTO_TRY(run.recipe, parse_recipe(kRecipe, "demo"));
  run.options.out = arguments.out;
  run.options.threads = arguments.threads;
  run.options.replace = true;
  run.print_rounds = false;
  run.label = "demo";
  if (!arguments.json) {
    fmt::print("Federated training on the embedded data: {} clients, {} rounds.\n\n",
               run.recipe.federation.clients, run.recipe.federation.rounds);
  }
  SOTTO_TRY(const RunResult result, run_shown(std::move(run)));
  SOTTO_TRY(const std::filesystem::path report,
            write_report({std::filesystem::path(arguments.out)},
                         std::filesystem::path(arguments.out) / "report.html", "Sotto demo"));

  const RoundMetrics* const last = result.last_evaluated();
  if (arguments.json) {
    nlohmann::json json = *result.record;
    json["report"] = report.string();
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  Table rounds({"round", "accuracy", "loss", "clients", "seconds"});
  for (const RoundMetrics& metrics : result.rounds) {
    rounds.add({std::to_string(metrics.round), percent(metrics.accuracy),
                metrics.loss ? fmt::format("{:.4f}", *metrics.loss) : "-",
                std::to_string(metrics.clients), fmt::format("{:.1f}", metrics.round_seconds)});
  }
  fmt::print("{}\n", rounds.text());
  Table summary({"mechanism", "accuracy", "epsilon of a client", "time"});
  summary.add({"none", last ? percent(last->accuracy) : "-", "infinite: no privacy",
               duration(result.total_seconds)});
  fmt::print("{}\n", summary.text());
  fmt::print("report: {}\n", std::filesystem::absolute(report).string());
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("demo", "Train 100 clients on the embedded data and make a report");
  auto arguments = std::make_shared<Arguments>();
  sub->add_option("--out", arguments->out, "folder for the results; an earlier demo is replaced")
      ->capture_default_str()
      ->type_name("DIR");
  sub->add_option("--threads", arguments->threads,
                  "clients trained side by side; default all cores")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_flag("--json", arguments->json, "print the result as JSON");
  sub->footer("Examples:\n  sotto demo\n  sotto demo --out /tmp/demo --json | jq .final");
  sub->callback([&action, arguments] { action = [arguments] { return demo(*arguments); }; });
}

}  // namespace sotto::cli
