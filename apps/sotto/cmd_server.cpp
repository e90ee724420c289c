// sotto server RECIPE.toml: the rounds of `sotto run`, with clients that are processes.
#include <fmt/format.h>

#include <thread>

#include "base/file.h"
#include "base/sha256.h"
#include "claims_shown.h"
#include "federation_options.h"
#include "rpc/server.h"
#include "run_shown.h"
#include "sotto/data.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> settings;
  std::string listen = "127.0.0.1:7100";
  std::string out;
  std::string data;
  SecurityOptions security;
  double round_seconds = 120.0;
  double linger_seconds = 10.0;
  bool rehearsal = false;
  bool replace = false;
  bool json = false;
};

constexpr const char* kSealKey = "seal.key";
constexpr const char* kRunTag = "run.tag";
constexpr const char* kRoster = "roster.json";

/// What tells this training from others, kept beside its state.
Result<rpc::Tag> run_tag(const std::filesystem::path& out) {
  const std::filesystem::path file = out / kRunTag;
  rpc::Tag tag = rpc::fresh_tag();
  if (!std::filesystem::exists(file)) {
    SOTTO_CHECK(write_file_atomically(file, tag));
    return tag;
  }
  SOTTO_TRY(const std::vector<std::byte> bytes, read_file(file, 1024));
  if (bytes.size() != tag.size()) {
    return fail(ErrorKind::kCorrupt, file.string() + ": not 16 bytes");
  }
  std::ranges::copy(bytes, tag.begin());
  return tag;
}

Result<std::shared_ptr<rpc::Coordinator>> make_coordinator(const Arguments& arguments,
                                                           const Recipe& recipe,
                                                           const std::filesystem::path& out) {
  if (arguments.replace) {
    for (const char* name : {kRunTag, kRoster}) std::filesystem::remove(out / name);
  }
  rpc::Coordinator::Settings settings;
  SOTTO_TRY(settings.invitation.recipe, read_text(arguments.recipe));
  settings.invitation.settings = arguments.settings;
  settings.invitation.recipe_hash = rpc::recipe_hash(recipe);
  settings.invitation.shuffled = recipe.shuffle.mode == "shuffler";
  settings.invitation.rehearsal = arguments.rehearsal;
  settings.invitation.clients = static_cast<std::uint32_t>(recipe.federation.clients);
  SOTTO_TRY(settings.invitation.run, run_tag(out));
  settings.minimum = static_cast<std::uint32_t>(recipe.shuffle.min_batch);
  settings.round_seconds = arguments.round_seconds;
  SOTTO_TRY(rpc::SealKey key, rpc::SealKey::read_or_make(out / kSealKey));
  SOTTO_TRY(rpc::Roster roster, rpc::Roster::open(out / kRoster, settings.invitation.clients));
  return std::make_shared<rpc::Coordinator>(std::move(settings), key, std::move(roster));
}

Result<int> serve(const Arguments& arguments) {
  const std::atomic<bool>& stop = stop_requested();
  SOTTO_TRY(const rpc::Security security, arguments.security.read());
  ShownRun run;
  SOTTO_TRY(run.recipe, load_recipe(arguments.recipe, arguments.settings));
  if (run.recipe.data.partition == "users") {
    return fail(ErrorKind::kUsage, run.recipe.file +
                                       ": data.partition = \"users\" is for simulations: a server "
                                       "has to know how many clients there are");
  }
  const std::filesystem::path out(arguments.out);
  run.options.out = out;
  run.options.data_folder = arguments.data;
  run.options.replace = arguments.replace;
  // The same command starts a training and goes on with it, so that a supervisor can repeat it.
  run.options.resume = !arguments.replace && std::filesystem::exists(out / "run.json");
  run.print_rounds = !arguments.json;
  SOTTO_TRY(const auto coordinator, make_coordinator(arguments, run.recipe, out));
  run.options.transport = coordinator;
  run.recipe.ledger.keep = false;  // clients keep their own
  const auto rounds = static_cast<std::uint64_t>(run.recipe.federation.rounds);
  Progress progress("round");
  coordinator->on_report = [&](RoundId round, std::uint64_t done, std::uint64_t total) {
    progress.update((round - 1) * total + done, rounds * total,
                    fmt::format("round {}/{}", round, rounds));
  };
  SOTTO_TRY(const auto server, rpc::Server::start(arguments.listen, security, *coordinator));
  fmt::print(stderr, "sotto: server on {}, {} connections, recipe {}\n", server->address(),
             security.plain() ? "plain" : "mutual TLS",
             coordinator->settings().invitation.recipe_hash);
  std::jthread watch([&](const std::stop_token& done) {
    while (!done.stop_requested() && !stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (stop) coordinator->interrupt();
  });
  SOTTO_TRY(const RunResult result, run_shown(std::move(run)));
  progress.clear();
  coordinator->finish(arguments.linger_seconds);
  if (arguments.json) {
    print_json(result, out);
  } else {
    fmt::print("\n{}\n{}\nmodel in {}\n", claims_table(result.claims), promise(result.claims),
               (out / "model.pt").string());
    if (arguments.rehearsal) {
      fmt::print("this was a rehearsal: its noise came from a seed that everybody knows\n");
    }
  }
  return 0;
}

}  // namespace

void add_server(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("server", "Train a model with clients that are processes");
  const auto arguments = choose<Arguments>(*sub, action, serve);
  sub->add_option("recipe", arguments->recipe, "recipe file (TOML)")
      ->type_name("RECIPE.toml")
      ->required();
  sub->add_option("--set", arguments->settings, "override a key: --set train.lr=0.05 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--listen", arguments->listen, "where clients and shuffler come to")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  sub->add_option("--out", arguments->out,
                  "folder of the training: state, keys, model; one that is there goes on")
      ->type_name("DIR")
      ->required();
  sub->add_option("--data", arguments->data,
                  "folder with data sets, for the test set; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  sub->add_option("--round-seconds", arguments->round_seconds,
                  "a round ends so long after its first client began, with those who came")
      ->type_name("S")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  sub->add_option("--linger", arguments->linger_seconds,
                  "how long to wait at the end until everybody has been told")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  arguments->security.add_to(*sub);
  sub->add_flag("--rehearsal", arguments->rehearsal,
                "bits from the recipe's seed: the model of `sotto run`, and no privacy");
  sub->add_flag("--replace", arguments->replace, "start over where --out already holds a training");
  sub->add_flag("--json", arguments->json, "print the result as JSON");
  sub->footer(
      "Without a shuffler (shuffle.mode = \"none\") the server sees each client's report by "
      "itself,\n"
      "and the claims say so. Killed and started again with the same command, it goes on.\n\n"
      "Examples:\n"
      "  sotto server recipes/embedded.toml --out runs/fed --plain\n"
      "  sotto server recipe.toml --out runs/fed --listen 0.0.0.0:7100 --ca ca.pem --cert s.pem "
      "--key s.key");
}

}  // namespace sotto::cli
