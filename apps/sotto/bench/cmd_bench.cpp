// sotto bench: how fast, against what.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "base/simd.h"
#include "bench_audit.h"
#include "recipe/choice_names.h"
#ifdef SOTTO_WITH_RPC
#include "bench_federation.h"
#endif
#include "bench_mechanisms.h"
#include "bench_scale.h"
#ifdef SOTTO_WITH_IDENTITY
#include "bench_sealed.h"
#endif
#include "bench_train.h"
#include "command.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct MechanismsArguments {
  std::vector<std::string> mechanisms;
  std::vector<std::size_t> weights;
  double seconds = 0.4;
  bool json = false;
  std::string device = "cpu";
};

/// The benches of the named mechanisms, or all.
Result<std::vector<MechanismBench>> chosen_benches(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const auto found = find_mechanism(name); !found) return tl::unexpected(found.error());
  }
  std::vector<MechanismBench> benches = mechanism_benches();
  if (names.empty()) return benches;
  std::erase_if(benches, [&](const MechanismBench& bench) {
    return std::find(names.begin(), names.end(), bench.mechanism) == names.end();
  });
  return benches;
}

std::string bar_text(const MechanismBenchResult& result) {
  if (!result.met()) return "-";
  std::string text;
  if (result.what.bar_ns) text = fmt::format("< {} ns", *result.what.bar_ns);
  if (result.what.bar_ratio) {
    text += fmt::format("{}ratio <= {}", text.empty() ? "" : ", ", *result.what.bar_ratio);
  }
  return text + (*result.met() ? ": met" : ": MISSED");
}

nlohmann::json to_json(const MechanismBenchResult& result) {
  const auto maybe = [](const auto& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  return {{"mechanism", result.what.mechanism},
          {"setting", result.what.label},
          {"parameters", result.what.parameters},
          {"weights", result.weights},
          {"ns_per_weight", result.ns_per_weight},
          {"floor_ns", result.floor_ns},
          {"ratio", result.ratio()},
          {"random_bytes_per_weight", result.random_bytes_per_weight},
          {"level", name_of(simd_level())},
          {"bar_ns", maybe(result.what.bar_ns)},
          {"bar_ratio", maybe(result.what.bar_ratio)},
          {"met", maybe(result.met())}};
}

Result<int> bench_mechanisms_command(const MechanismsArguments& arguments) {
  SOTTO_TRY(const auto benches, chosen_benches(arguments.mechanisms));
  const std::vector<std::size_t> sizes =
      arguments.weights.empty() ? bench_sizes() : arguments.weights;
  Table table({"mechanism", "weights", "ns a weight", "floor", "ratio", "random bytes", "bar"});
  nlohmann::json results = nlohmann::json::array();
  const std::size_t total = benches.size() * sizes.size();
  Progress progress("bench", total);
  std::size_t done = 0;
  for (const MechanismBench& bench : benches) {
    for (const std::size_t weights : sizes) {
      progress.update(done++, total, bench.label);
      const auto measured = bench_mechanism(bench, weights, arguments.seconds);
      if (!measured) {
        // One that does not exist at this size must not cost the measurements of all others.
        progress.clear();
        fmt::print(stderr, "sotto: left out at {} weights: {}\n", with_commas(weights),
                   measured.error().message);
        continue;
      }
      const MechanismBenchResult& result = *measured;
      table.add({bench.label, with_commas(weights), fmt::format("{:.2f}", result.ns_per_weight),
                 fmt::format("{:.2f}", result.floor_ns), fmt::format("{:.2f}", result.ratio()),
                 fmt::format("{:.3g}", result.random_bytes_per_weight), bar_text(result)});
      results.push_back(to_json(result));
    }
  }
  progress.clear();
  if (results.empty()) return fail(ErrorKind::kUsage, "bench mechanisms: nothing was measured");
  if (arguments.json) {
    fmt::print("{}\n", results.dump(2));
  } else {
    fmt::print(
        "One core, {} instructions. Nanoseconds a weight for bound() and perturb(); for bit\n"
        "mechanisms a weight is a bit. Floor: drawing as many random bytes from the same "
        "generator\n"
        "and a copy of the weights. The fastest of several turns, mechanism and floor in turns.\n\n"
        "{}",
        name_of(simd_level()), table.text());
  }
  return 0;
}

/// Value mechanisms and privunit have kernels there.
Result<int> bench_device_command(const MechanismsArguments& arguments) {
  SOTTO_TRY(auto benches, chosen_benches(arguments.mechanisms));
  std::erase_if(benches, [](const MechanismBench& bench) {
    const auto info = find_mechanism(bench.mechanism);
    return !info || ((*info)->kind != MechanismKind::kValue && bench.mechanism != "privunit");
  });
  if (benches.empty()) {
    return fail(ErrorKind::kUsage,
                "bench mechanisms --device cuda measures value mechanisms and privunit");
  }
  const std::vector<std::size_t> sizes =
      arguments.weights.empty() ? bench_sizes() : arguments.weights;
  Table table({"mechanism", "weights", "reports", "ns a weight", "words alone", "copy",
               "copy / mechanism"});
  nlohmann::json results = nlohmann::json::array();
  const std::size_t total = benches.size() * sizes.size();
  Progress progress("bench", total);
  for (const MechanismBench& bench : benches) {
    for (const std::size_t weights : sizes) {
      progress.update(results.size(), total, bench.label);
      SOTTO_TRY(const DeviceBenchResult result, bench_on_device(bench, weights));
      table.add({bench.label, with_commas(weights), std::to_string(result.clients),
                 fmt::format("{:.4f}", result.ns_per_weight),
                 fmt::format("{:.4f}", result.words_ns), fmt::format("{:.4f}", result.copy_ns),
                 fmt::format("{:.2f}", result.copy_ns / result.ns_per_weight)});
      results.push_back({{"mechanism", bench.mechanism},
                         {"setting", bench.label},
                         {"weights", weights},
                         {"reports", result.clients},
                         {"ns_per_weight", result.ns_per_weight},
                         {"words_ns", result.words_ns},
                         {"copy_ns", result.copy_ns}});
    }
  }
  progress.clear();
  if (arguments.json) {
    fmt::print("{}\n", results.dump(2));
    return 0;
  }
  fmt::print(
      "A CUDA device. Nanoseconds a weight for bounding and perturbing (privunit: with what the\n"
      "processor does for it); for drawing the random words alone (AES-256-CTR; privunit: "
      "deviates);\n"
      "and for copying as many bytes as weights and symbols have from device to device.\n\n{}",
      table.text());
  return 0;
}

void add_bench_mechanisms(CLI::App& bench, Action& action) {
  CLI::App* const sub = bench.add_subcommand(
      "mechanisms", "Perturbation against drawing the random bytes and copying the weights");
  auto arguments = std::make_shared<MechanismsArguments>();
  sub->add_option("--mechanism", arguments->mechanisms, "only this one (repeatable)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  sub->add_option("--weights", arguments->weights,
                  "size of the vector (repeatable); default 20490, 2169770, 5611878")
      ->type_name("N")
      ->allow_extra_args(false)
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}));
  sub->add_option("--seconds", arguments->seconds, "time for each measurement, about")
      ->capture_default_str()
      ->type_name("S")
      ->check(CLI::Range(0.0, 3600.0));
  sub->add_option("--device", arguments->device, "cpu, or cuda: against the bandwidth of the GPU")
      ->capture_default_str()
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  sub->add_flag("--json", arguments->json, "print JSON: a list of measurements");
  sub->footer(
      "Environment: SOTTO_SIMD=scalar|baseline|avx2|avx512 measures another level.\n\n"
      "Examples:\n"
      "  sotto bench mechanisms\n"
      "  sotto bench mechanisms --mechanism two-point --weights 20490\n"
      "  sotto bench mechanisms --device cuda\n"
      "  sotto bench mechanisms --json | jq '.[] | select(.met == false)'");
  sub->callback([&action, arguments] {
    action = [arguments] {
      if (arguments->device == "cuda") return bench_device_command(*arguments);
      return bench_mechanisms_command(*arguments);
    };
  });
}

struct TrainArguments {
  std::string model;
  unsigned batch = 0;
  unsigned threads = 2;
  std::size_t samples = 0;
  unsigned turns = 3;
  std::string engine = "auto";
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
    bench.engine = choice_of<Engine>(arguments.engine).value_or(Engine::kAuto);
  }
  Table table({"model", "parameters", "batch", "samples", "plain loop", "1 thread", "ratio",
               fmt::format("{} threads", arguments.threads), "ratio", "engine", "floor", "of floor",
               "clipped"});
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
               fmt::format("{:.2f} %", 100.0 * result.engine_overhead),
               rate(result.floor_samples_per_second),
               fmt::format("{:.2f}",
                           result.one_thread_samples_per_second / result.floor_samples_per_second),
               result.private_cost > 0.0 ? fmt::format("{:.2f}", result.private_cost) : "-"});
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
                       {"engine_overhead", result.engine_overhead},
                       {"engine", result.engine},
                       {"floor_samples_per_second", result.floor_samples_per_second},
                       {"private_cost", result.private_cost}});
  }
  progress.clear();
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"train", results}}.dump(2));
  } else {
    fmt::print(
        "Samples a second. Plain loop: LibTorch's nn::Sequential and optim::SGD on one thread,\n"
        "data normalised beforehand. Ratio: federated round to plain loop, measured in turns.\n"
        "Engine: share of a round's CPU time outside local training (one local epoch). Floor: the\n"
        "multiplications and additions of the native engine's products at this core's speed.\n"
        "Clipped: what a round costs with each sample's gradient clipped, to one without (1 "
        "thread)."
        "\n\n{}",
        table.text());
  }
  return 0;
}

void add_bench_train(CLI::App& bench, Action& action) {
  CLI::App* const train =
      bench.add_subcommand("train", "Local training against a plain LibTorch loop");
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
  train->add_option("--engine", arguments->engine, "auto, native or torch")
      ->check(CLI::IsMember({"auto", "native", "torch"}))
      ->capture_default_str();
  train->add_option("--turns", arguments->turns, "measurements, of which the median counts")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U));
  train->add_flag("--json", arguments->json, "print JSON");
  train->footer(
      "Examples:\n"
      "  sotto bench train\n"
      "  sotto bench train --model srr-mnist --batch 10 --samples 100\n"
      "  sotto bench train --model srr-mnist --json | jq '.train[0].ratio'");
  train->callback(
      [&action, arguments] { action = [arguments] { return bench_train_command(*arguments); }; });
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("bench", "Measure speed against a baseline in the same run");
  sub->require_subcommand(1);
  add_bench_mechanisms(*sub, action);
  add_bench_audit(*sub, action);
#ifdef SOTTO_WITH_RPC
  add_bench_federation(*sub, action);
#endif
#ifdef SOTTO_WITH_IDENTITY
  add_bench_sealed(*sub, action);
#endif
  add_bench_train(*sub, action);
  add_bench_scale(*sub, action);
  sub->footer(
      "Examples:\n"
      "  sotto bench mechanisms --mechanism two-point\n"
      "  sotto bench train --model srr-mnist --batch 10 --samples 100");
}

}  // namespace sotto::cli
