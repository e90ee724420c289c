// Dummy trials beside drawing as many random bytes, in turns, and beside the published time: 37
// minutes for a million trials. Its dimension is not published; --paper-dimension assumes one (by
// default that of the convolutional network for 62 classes in the framework that the paper names).
#include "bench_audit.h"

#include <fmt/format.h>

#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "adversary/scene.h"
#include "adversary/vector_trials.h"
#include "base/parallel.h"
#include "bench_floor.h"
#include "mechanism_options.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

constexpr double kPaperSeconds = 37.0 * 60.0 / 1e6;  // a trial

struct Arguments {
  MechanismOptions mechanism;
  std::size_t dimension = 20'490;
  std::size_t paper_dimension = 46'046;
  double seconds = 2.0;
  bool json = false;
};

struct Speed {
  double one_ns = std::numeric_limits<double>::infinity();  // a coordinate of a trial, one thread
  double all_ns = std::numeric_limits<double>::infinity();  // all threads together
  double cpu_ns = std::numeric_limits<double>::infinity();  // the same by CPU time: with free cores
  double floor_ns = std::numeric_limits<double>::infinity();
};

Result<Speed> measure(const Mechanism& mechanism, const Arguments& arguments, unsigned threads) {
  const Scene scene = empty_scene(mechanism.outputs(), mechanism.domain().norm);
  const auto dummy = dummy_adversary.make();
  const auto d = static_cast<double>(mechanism.outputs());
  const std::vector<float> nothing;
  Floor floor(nothing, mechanism.random_bytes_per_output() * d);
  const auto run = [&](std::uint64_t trials, unsigned lanes) -> Result<double> {
    TrialPlan plan;
    plan.mechanisms = {&mechanism};
    plan.trials = trials;
    plan.threads = lanes;
    SOTTO_TRY(const TrialCounts counts, run_trials(scene, *dummy, plan));
    return counts.seconds * 1e9 / (static_cast<double>(trials) * d);
  };
  Speed speed;
  const Stopwatch clock;
  for (int turn = 0; turn < 3 || clock.seconds() < arguments.seconds; ++turn) {
    SOTTO_TRY(const double one, run(TrialPlan::kChunk, 1));
    const std::uint64_t many = TrialPlan::kChunk * 4 * threads;
    const std::clock_t before = std::clock();
    SOTTO_TRY(const double all, run(many, threads));
    const double cpu = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / threads;
    speed.one_ns = std::min(speed.one_ns, one);
    speed.all_ns = std::min(speed.all_ns, all);
    speed.cpu_ns = std::min(speed.cpu_ns, cpu * 1e9 / (static_cast<double>(many) * d));
    for (int again = 0; again < 16; ++again) {
      speed.floor_ns = std::min(speed.floor_ns, floor.seconds() * 1e9 / d);
    }
  }
  return speed;
}

Result<int> bench_audit_command(const Arguments& arguments) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(arguments.mechanism.name));
  if (info->kind != MechanismKind::kVector) {
    return fail(ErrorKind::kUsage,
                "bench audit: '" + arguments.mechanism.name + "' is not a vector mechanism");
  }
  MechanismOptions made = arguments.mechanism;
  if (!made.set.contains("epsilon")) made.set["epsilon"] = 4.0;
  if (takes(*info, "delta") && !made.set.contains("delta")) made.set["delta"] = 1e-5;
  SOTTO_TRY(const auto mechanism, made.make(arguments.dimension));
  const unsigned threads = thread_count(0);
  SOTTO_TRY(const Speed speed, measure(*mechanism, arguments, threads));
  const double paper_ns = kPaperSeconds * 1e9 / static_cast<double>(arguments.paper_dimension);
  const double same_ns = kPaperSeconds * 1e9 / static_cast<double>(arguments.dimension);
  const double million = speed.all_ns * 1e-9 * 1e6 * static_cast<double>(arguments.dimension);
  if (arguments.json) {
    const nlohmann::json json = {{"mechanism", info->name},
                                 {"dimension", arguments.dimension},
                                 {"threads", threads},
                                 {"ns_per_coordinate", speed.one_ns},
                                 {"ns_per_coordinate_all_threads", speed.all_ns},
                                 {"ns_per_coordinate_free_cores", speed.cpu_ns},
                                 {"floor_ns", speed.floor_ns},
                                 {"ratio", speed.one_ns / speed.floor_ns},
                                 {"million_trials_seconds", million},
                                 {"paper_dimension", arguments.paper_dimension},
                                 {"paper_ns", paper_ns},
                                 {"times_faster", paper_ns / speed.all_ns},
                                 {"times_faster_at_equal_dimension", same_ns / speed.all_ns}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  Table table({"dummy trials", "ns a coordinate", "times the floor", "paper / this",
               "paper / this, if its dimension is ours"});
  const auto row = [&](const std::string& name, double ns) {
    table.add({name, fmt::format("{:.2f}", ns), fmt::format("{:.2f}", ns / speed.floor_ns),
               fmt::format("{:.0f}", paper_ns / ns), fmt::format("{:.0f}", same_ns / ns)});
  };
  row("one thread", speed.one_ns);
  row(fmt::format("{} threads, wall clock", threads), speed.all_ns);
  row(fmt::format("{} threads, CPU time / {}", threads, threads), speed.cpu_ns);
  row("floor: the random bytes, one thread", speed.floor_ns);
  fmt::print(
      "{} at {} coordinates; the fastest of several turns. A million trials: {}.\nPaper: 37 "
      "minutes "
      "for a million, {:.1f} ns a coordinate if it had {} of them (assumed).\n\n{}",
      info->name, with_commas(arguments.dimension), duration(million), paper_ns,
      with_commas(arguments.paper_dimension), table.text());
  return 0;
}

}  // namespace

void add_bench_audit(CLI::App& bench, Action& action) {
  CLI::App* const sub =
      bench.add_subcommand("audit", "Trials of an audit against drawing their random bytes");
  auto arguments = choose<Arguments>(*sub, action, bench_audit_command);
  arguments->mechanism.name = "ldp-sgd";
  sub->add_option("mechanism", arguments->mechanism.name, "a vector mechanism")
      ->capture_default_str()
      ->type_name("MECH");
  add_parameter_options(*sub, arguments->mechanism);
  sub->add_option("--dimension", arguments->dimension, "coordinates")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}));
  sub->add_option("--paper-dimension", arguments->paper_dimension,
                  "what the published time is assumed to be for")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}));
  sub->add_option("--seconds", arguments->seconds, "time for the measurement, about")
      ->capture_default_str()
      ->type_name("S")
      ->check(CLI::Range(0.0, 3600.0));
  sub->add_flag("--json", arguments->json, "print JSON");
  sub->footer(
      "Examples:\n"
      "  sotto bench audit\n"
      "  sotto bench audit privunit --epsilon 8 --json | jq .ratio");
}

}  // namespace sotto::cli
