#include "run_shown.h"

#include <fmt/format.h>

#include "terminal.h"

namespace sotto::cli {

std::string percent(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("{:.2f} %", 100.0 * *accuracy) : "-";
}

Result<RunResult> run_shown(ShownRun run) {
  const auto rounds = static_cast<std::uint64_t>(run.recipe.federation.rounds);
  Progress progress(run.label);
  std::string accuracy;
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t clients_done = 0;

  run.options.on_client = [&](RoundId round, std::uint64_t done, std::uint64_t total) {
    ++clients_done;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const double rate = static_cast<double>(clients_done) / elapsed.count();
    progress.update((round - 1) * total + done, rounds * total,
                    fmt::format("round {}/{}{}, {:.1f} clients/s", round, rounds, accuracy, rate));
  };
  run.options.on_round = [&](const RoundMetrics& metrics) {
    if (metrics.accuracy) accuracy = ", accuracy " + percent(metrics.accuracy);
    if (!run.print_rounds) return;
    progress.clear();
    fmt::print("round {:>3}/{}  accuracy {:>8}  loss {}  {} clients  {}\n", metrics.round, rounds,
               percent(metrics.accuracy), metrics.loss ? fmt::format("{:.4f}", *metrics.loss) : "-",
               metrics.clients, duration(metrics.round_seconds));
    std::fflush(stdout);
  };
  run.options.on_note = [&](const std::string& note) {
    progress.clear();
    fmt::print(stderr, "sotto: {}\n", note);
  };
  return run_recipe(run.recipe, run.options, make_torch_factory);
}

}  // namespace sotto::cli
