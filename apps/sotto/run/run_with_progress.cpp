#include "run_with_progress.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sotto/native.h"
#include "terminal.h"
#include "torch_trainer.h"
#include "train/torch/torch_module.h"

namespace sotto::cli {

namespace {

#ifdef SOTTO_WITH_LEDGER
std::function<Result<std::shared_ptr<Ledger>>()> ledger_at(const std::filesystem::path& file) {
  return [file]() -> Result<std::shared_ptr<Ledger>> {
    std::error_code code;
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), code);
    SOTTO_TRY(std::unique_ptr<Ledger> ledger, open_ledger(file));
    return std::shared_ptr<Ledger>(std::move(ledger));
  };
}
#endif

/// Refuses what this program cannot keep: limits, and a ledger that was asked for by name.
Result<void> prepare_ledger(ShownRun& run) {
#ifdef SOTTO_WITH_LEDGER
  if (!run.recipe.ledger.keep) {
    if (run.ledger.empty()) return {};
    return fail(ErrorKind::kUsage, "--ledger: the recipe says ledger.keep = false");
  }
  run.options.open_ledger =
      ledger_at(run.ledger.empty() ? run.options.out / kLedgerName : run.ledger);
#else
  if (run.recipe.ledger.limits() || !run.ledger.empty()) {
    return fail(ErrorKind::kUsage,
                run.recipe.file +
                    ": limits of [ledger] and --ledger need a program that was built "
                    "with the ledger (SOTTO_LEDGER=ON)");
  }
#endif
  return {};
}

}  // namespace

Result<std::shared_ptr<const TrainerFactory>> make_engine(const TrainerRequest& request) {
  return choose_engine(request, torch_trainer());
}

bool keeps_ledgers() {
#ifdef SOTTO_WITH_LEDGER
  return true;
#else
  return false;
#endif
}

std::string percent(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("{:.2f} %", 100.0 * *accuracy) : "-";
}

Result<RunResult> run_with_progress(ShownRun run) {
  const auto rounds = static_cast<std::uint64_t>(run.recipe.federation.rounds);
  // A run ends with a file that LibTorch writes: a missing module is an error before the first
  // round.
  if (torch_trainer() != nullptr) SOTTO_CHECK(find_torch_module());
  SOTTO_CHECK(prepare_ledger(run));
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
  run.options.on_prepare = [&](const char* stage, std::uint64_t done, std::uint64_t total) {
    progress.update(done, total, stage);
  };
  run.options.on_round = [&, also = run.options.on_round](const RoundMetrics& metrics) {
    if (also) also(metrics);
    if (metrics.accuracy) accuracy = ", accuracy " + percent(metrics.accuracy);
    if (!run.print_rounds) return;
    progress.clear();
    fmt::print("round {:>3}/{}  accuracy {:>8}  loss {}  {} clients{}  {}\n", metrics.round, rounds,
               percent(metrics.accuracy), metrics.loss ? fmt::format("{:.4f}", *metrics.loss) : "-",
               metrics.lowest_accuracy ? metrics.clients : metrics.reports,
               metrics.lowest_accuracy
                   ? fmt::format(" alone, from {} to {}", percent(metrics.lowest_accuracy),
                                 percent(metrics.highest_accuracy))
               : metrics.refused > 0 ? fmt::format(", {} refused", metrics.refused)
                                     : "",
               duration(metrics.round_seconds));
    std::fflush(stdout);
  };
  run.options.on_note = [&, instead = run.options.on_note](const std::string& note) {
    progress.clear();
    if (instead) return instead(note);
    fmt::print(stderr, "sotto: {}\n", note);
  };
  return run_recipe(run.recipe, run.options, make_engine);
}

void print_json(const RunResult& result, const std::filesystem::path& out) {
  nlohmann::json json = *result.record;
  json["out"] = out.string();
  json["rounds"] = nlohmann::json::array();
  for (const RoundMetrics& metrics : result.rounds) json["rounds"].push_back(metrics.to_json());
  fmt::print("{}\n", json.dump(2));
}

}  // namespace sotto::cli
