// sotto run RECIPE.toml: a federated training, from recipe to model.
#include <fmt/format.h>

#include "base/file.h"
#include "claims_shown.h"
#include "command.h"
#include "run_with_progress.h"
#include "terminal.h"
#include "transport/mpi/launcher.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> settings;
  std::string out;
  std::string data;
  std::string device;
  std::string ledger;
  std::string sign;
  unsigned threads = 0;
  std::int64_t seed = -1;
  bool json = false;
  bool resume = false;
  bool replace = false;
  bool keys = false;
};

/// runs/NAME-1, or the first number that is free.
std::filesystem::path free_folder(const std::string& name) {
  for (int number = 1;; ++number) {
    std::filesystem::path path =
        std::filesystem::path("runs") / (name + '-' + std::to_string(number));
    if (!std::filesystem::exists(path)) return path;
  }
}

int print_keys() {
  Table table({"key", "default", "valid", "meaning"});
  for (const RecipeKey& key : recipe_keys()) {
    table.add({key.key, key.default_value, key.valid, key.meaning});
  }
  fmt::print("{}", table.text());
  return 0;
}

void print_summary(const RunResult& result, const std::filesystem::path& out) {
  const RoundMetrics* const last = result.last_evaluated();
  const RoundMetrics* const best = result.best();
  fmt::print("\n{} rounds in {} (stopped by {}): final accuracy {}, best {} in round {}\n",
             result.rounds.size(), duration(result.total_seconds), result.stopped,
             last ? percent(last->accuracy) : "-", best ? percent(best->accuracy) : "-",
             best ? best->round : 0);
  fmt::print("\n{}\n{}{}{}\n", claims_table(result.claims),
             promise(result.claims, Coins::kSimulation), record_promise(result.claims),
             coins_line(Coins::kSimulation));
  if (!keeps_ledgers()) {
    fmt::print("no ledger was kept: this program was built without one (SOTTO_LEDGER=ON)\n");
  }
  std::string files = "run.json, metrics.jsonl";
  // Who learns alone leaves neither a model nor a certificate.
  for (const char* name :
       {"model.pt", "model.safetensors", "checkpoint.sotto", "certificate.json", kLedgerName}) {
    if (std::filesystem::exists(out / name)) files += std::string(", ") + name;
  }
  fmt::print("files in {}: {}\n", out.string(), files);
  fmt::print("see them with: sotto report {}\n", out.string());
}

/// The ranks above 0 of a job: they take part and write nothing.
Result<int> help(const Arguments& arguments, const Result<Recipe>& recipe,
                 std::shared_ptr<Ranks> ranks) {
  RunOptions options;
  options.threads = arguments.threads > 0 ? arguments.threads : cluster::threads_of_rank();
  options.data_folder = arguments.data;
  options.ranks = std::move(ranks);
  SOTTO_CHECK(run_mpi_worker(recipe, options, make_engine));
  return 0;
}

Result<int> run_command(const Arguments& arguments) {
  if (arguments.keys) return print_keys();
  if (arguments.recipe.empty()) {
    return fail(ErrorKind::kUsage, "run: a recipe is needed: sotto run RECIPE.toml");
  }
  std::vector<std::string> settings = arguments.settings;
  if (arguments.seed >= 0) settings.push_back("federation.seed=" + std::to_string(arguments.seed));
  if (!arguments.device.empty()) settings.push_back("train.device=\"" + arguments.device + '"');

  ShownRun run;
  SOTTO_TRY(const std::shared_ptr<Ranks> ranks, cluster::join());
  if (ranks && !ranks->leads()) {
    return help(arguments, load_recipe(arguments.recipe, settings), ranks);
  }
  SOTTO_TRY(run.recipe, load_recipe(arguments.recipe, settings));
  if (arguments.resume && arguments.out.empty()) {
    return fail(ErrorKind::kUsage, "--resume needs --out DIR, the folder of the run to go on with");
  }
  const std::filesystem::path out = arguments.out.empty() ? free_folder(run.recipe.output.name)
                                                          : std::filesystem::path(arguments.out);
  SOTTO_CHECK(check_folder_can_be_written(out));
  run.options.out = out;
  run.options.ranks = ranks;
  run.options.threads =
      arguments.threads == 0 && ranks ? cluster::threads_of_rank() : arguments.threads;
  run.options.data_folder = arguments.data;
  run.options.resume = arguments.resume;
  run.options.replace = arguments.replace;
  run.ledger = arguments.ledger;
  if (!arguments.sign.empty()) {
    SOTTO_TRY(run.options.signing_key, SigningKey::read(arguments.sign));
  }
  run.print_rounds = !arguments.json;
  SOTTO_TRY(const RunResult result, run_with_progress(std::move(run)));

  if (arguments.json) {
    print_json(result, out);
  } else {
    print_summary(result, out);
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* const sub = app.add_subcommand("run", "Train a model as a recipe says");
  auto arguments = std::make_shared<Arguments>();
  sub->add_option("recipe", arguments->recipe, "recipe file (TOML)")->type_name("RECIPE.toml");
  sub->add_option("--set", arguments->settings, "override a key: --set train.lr=0.05 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--out", arguments->out, "folder for the results; default runs/NAME-1, -2, ...")
      ->type_name("DIR");
  sub->add_option("--data", arguments->data,
                  "folder with data sets; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  sub->add_option("--threads", arguments->threads,
                  "clients trained side by side (in each rank of a job); default all cores")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_option("--seed", arguments->seed, "same as --set federation.seed=N")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--device", arguments->device, "cpu, cuda or cuda:N")->type_name("DEVICE");
  sub->add_option("--ledger", arguments->ledger,
                  "where clients' spending is kept; default ledger.sqlite in the results")
      ->type_name("FILE");
  sub->add_option("--sign", arguments->sign,
                  "Ed25519 key for the certificate (openssl genpkey -algorithm ed25519); default a "
                  "fresh one")
      ->type_name("KEY.pem");
  sub->add_flag("--resume", arguments->resume, "go on with the run in --out");
  sub->add_flag("--replace", arguments->replace, "start over where --out already holds a run");
  sub->add_flag("--json", arguments->json, "print the result as JSON (final, rounds, privacy)");
  sub->add_flag("--keys", arguments->keys, "list every key a recipe can have, and stop");
  sub->footer(
      "The same recipe and seed give the same model, bit for bit, on any number of threads, on\n"
      "any number of ranks under mpirun, and after kill -9 and --resume.\n\n"
      "Examples:\n"
      "  sotto run recipes/client-level-embedded.toml\n"
      "  sotto run recipes/srr-mnist.toml --data ~/data --set federation.rounds=3 --out runs/try\n"
      "  sotto run recipes/srr-mnist.toml --out runs/try --resume\n"
      "  mpirun -n 4 sotto run recipes/srr-mnist.toml --out runs/spread\n"
      "  sotto run recipes/embedded.toml --set ledger.rounds=3 --ledger clients.sqlite\n"
      "  sotto run recipes/embedded.toml --json | jq .final.accuracy");
  sub->callback([&action, arguments] { action = [arguments] { return run_command(*arguments); }; });
}

}  // namespace sotto::cli
