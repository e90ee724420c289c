// sotto bench: how fast, against what.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench_train.h"
#include "command.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct TrainArguments {
  std::string model;
  unsigned batch = 0;
  unsigned threads = 2;
  std::size_t samples = 0;
  unsigned turns = 3;
  bool json = false;
};

Result<int> bench_train_command(const TrainArguments& arguments) {
  std::vector<TrainBench> benches = default_train_benches();
  if (!arguments.model.empty()) {
    std::erase_if(benches, [&](const TrainBench& bench) { return bench.model != arguments.model; });
    if (benches.empty()) benches.push_back({arguments.model});
    if (arguments.batch > 0) benches.resize(1);
  }
  for (TrainBench& bench : benches) {
    if (arguments.batch > 0) bench.batch_size = arguments.batch;
    if (arguments.samples > 0) bench.samples = arguments.samples;
  }
  Table table({"model", "parameters", "batch", "samples", "plain loop", "1 thread", "ratio",
               fmt::format("{} threads", arguments.threads), "ratio", "engine"});
  nlohmann::json results = nlohmann::json::array();
  Progress progress("bench", benches.size());
  for (std::size_t i = 0; i < benches.size(); ++i) {
    progress.update(i, benches.size(), benches[i].model);
    SOTTO_TRY(const TrainBenchResult result,
              bench_train(benches[i], arguments.threads, arguments.turns));
    const auto rate = [](double value) { return with_commas(static_cast<std::uint64_t>(value)); };
    table.add({result.what.model, with_commas(result.parameters),
               std::to_string(result.what.batch_size), std::to_string(result.what.samples),
               rate(result.plain_samples_per_second), rate(result.one_thread_samples_per_second),
               fmt::format("{:.2f}", result.one_thread_ratio()), rate(result.samples_per_second),
               fmt::format("{:.2f}", result.ratio()),
               fmt::format("{:.2f} %", 100.0 * result.engine_overhead)});
    results.push_back({{"model", result.what.model},
                       {"parameters", result.parameters},
                       {"batch_size", result.what.batch_size},
                       {"samples", result.what.samples},
                       {"threads", result.threads},
                       {"plain_samples_per_second", result.plain_samples_per_second},
                       {"one_thread_samples_per_second", result.one_thread_samples_per_second},
                       {"one_thread_ratio", result.one_thread_ratio()},
                       {"samples_per_second", result.samples_per_second},
                       {"ratio", result.ratio()},
                       {"engine_overhead", result.engine_overhead}});
  }
  progress.clear();
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"train", results}}.dump(2));
  } else {
    fmt::print(
        "Samples a second. Plain loop: LibTorch's nn::Sequential and optim::SGD on one thread,\n"
        "data normalised beforehand. Ratio: federated round to plain loop, measured in turns.\n"
        "Engine: share of a round's CPU time outside local training (one local epoch).\n\n{}",
        table.text());
  }
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("bench", "Measure speed against a baseline in the same run");
  sub->require_subcommand(1);
  CLI::App* const train =
      sub->add_subcommand("train", "Local training against a plain LibTorch loop");
  auto arguments = std::make_shared<TrainArguments>();
  train->add_option("--model", arguments->model, "only this network")->type_name("NAME");
  train->add_option("--batch", arguments->batch, "batch size")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000000U));
  train->add_option("--threads", arguments->threads, "threads of the second measurement")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  train->add_option("--samples", arguments->samples, "samples of a client; default as published")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
  train->add_option("--turns", arguments->turns, "measurements, of which the median counts")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U));
  train->add_flag("--json", arguments->json, "print JSON");
  const std::string examples =
      "Examples:\n"
      "  sotto bench train\n"
      "  sotto bench train --model srr-mnist --batch 10 --samples 100\n"
      "  sotto bench train --model srr-mnist --json | jq '.train[0].ratio'";
  train->footer(examples);
  sub->footer(examples);
  train->callback(
      [&action, arguments] { action = [arguments] { return bench_train_command(*arguments); }; });
}

}  // namespace sotto::cli
