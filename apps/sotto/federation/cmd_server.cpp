// sotto server RECIPE.toml: the rounds of `sotto run`, with clients that are processes.
#include <fmt/format.h>

#include <thread>

#include "base/file.h"
#include "base/machine.h"
#include "base/sha256.h"
#include "claims_shown.h"
#include "federation_options.h"
#include "monitor_options.h"
#include "record/run_folder.h"
#include "run/run_with_progress.h"
#include "server/attendance.h"
#include "server/coordinator/traffic.h"
#include "server_monitor.h"
#include "sotto/data.h"
#include "terminal.h"
#include "transport/grpc/grpc_server.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> settings;
  std::string listen = "127.0.0.1:7100";
  std::string out;
  std::string data;
  SecurityOptions security;
  MonitorOptions monitor;
  double round_seconds = 120.0;
  double linger_seconds = 10.0;
  double wait_seconds = 600.0;
  double work_seconds = 10.0;
  bool rehearsal = false;
  bool replace = false;
  bool json = false;
};

constexpr const char* kSealKey = "seal.key";
constexpr const char* kRunTag = "run.tag";
constexpr const char* kRoster = "roster.txt";
constexpr const char* kOpened = "opened.txt";
constexpr const char* kRequests = "requests.sqlite";

/// What the coordinator keeps beside the run. With --replace it is set aside until the run's own
/// files are replaced: should the server fail before, the old training is whole again.
constexpr const char* kKept[] = {kRunTag, kRoster, kOpened};

std::filesystem::path aside(const std::filesystem::path& out, const char* name) {
  return out / (std::string(name) + ".before");
}

void set_aside(const std::filesystem::path& out) {
  for (const char* const name : kKept) {
    std::error_code ignored;
    if (std::filesystem::exists(aside(out, name), ignored)) {
      std::filesystem::remove(out / name, ignored);  // of a replacement that never began
    } else {
      std::filesystem::rename(out / name, aside(out, name), ignored);
    }
  }
}

void put_back(const std::filesystem::path& out) {
  for (const char* const name : kKept) {
    std::error_code ignored;
    if (!std::filesystem::exists(aside(out, name), ignored)) continue;
    std::filesystem::rename(aside(out, name), out / name, ignored);
  }
}

void drop_aside(const std::filesystem::path& out) {
  for (const char* const name : kKept) {
    std::error_code ignored;
    std::filesystem::remove(aside(out, name), ignored);
  }
}

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
                                                           const rpc::Security& security,
                                                           const std::filesystem::path& out) {
  if (arguments.replace) {
    set_aside(out);
  } else {
    put_back(out);
  }
  rpc::Coordinator::Settings settings;
  SOTTO_TRY(settings.invitation.recipe, read_text(arguments.recipe));
  settings.invitation.settings = arguments.settings;
  settings.invitation.recipe_hash = recipe.fingerprint();
  settings.invitation.shuffled = recipe.shuffle.mode == ShuffleMode::kShuffler;
  settings.invitation.latency = recipe.shuffle.mode == ShuffleMode::kLatency;
  settings.invitation.rehearsal = arguments.rehearsal;
  settings.invitation.authority = rpc::authority_of(security);
  settings.invitation.clients = static_cast<std::uint32_t>(recipe.federation.clients);
  SOTTO_TRY(settings.invitation.run, run_tag(out));
  settings.minimum = static_cast<std::uint32_t>(recipe.shuffle.min_batch);
  settings.places_differ = !recipe.privacy.client_budgets.empty();
  settings.round_seconds = arguments.round_seconds;
  settings.wait_seconds = arguments.wait_seconds;
  if (settings.invitation.latency) {
    settings.work_seconds = arguments.work_seconds;
    if (arguments.work_seconds + recipe.shuffle.latency >= arguments.round_seconds) {
      return fail(
          ErrorKind::kUsage,
          fmt::format("--round-seconds {}: chunks come up to {} s after a round began "
                      "(--work-seconds {} and shuffle.latency = {})",
                      arguments.round_seconds, arguments.work_seconds + recipe.shuffle.latency,
                      arguments.work_seconds, recipe.shuffle.latency));
    }
  }
  SOTTO_TRY(const identity::SealKey key, rpc::seal_key_of(security, out / kSealKey));
  SOTTO_TRY(rpc::Roster roster, rpc::Roster::open(out / kRoster, settings.invitation.clients));
  SOTTO_TRY(rpc::OpenedRounds opened, rpc::OpenedRounds::open(out / kOpened));
  auto coordinator =
      std::make_shared<rpc::Coordinator>(std::move(settings), key, std::move(roster));
  coordinator->opened_rounds = std::move(opened);
  return coordinator;
}

/// What the first round will cost everybody, before anybody is asked for it.
std::string traffic_text(const RoundPlan& plan, std::size_t weights) {
  const auto traffic = rpc::traffic_of(plan, weights);
  if (!traffic) return "";
  constexpr double kMega = 1e6;
  std::string text = fmt::format(
      "a round asks {} clients for {} chunks each: {} sealed boxes; a client sends {:.3g} MB, "
      "receives {:.3g} MB and seals for {:.2g} s; the server opens for {:.2g} s",
      traffic->clients, traffic->chunks, traffic->boxes,
      static_cast<double>(traffic->bytes_up) / kMega,
      static_cast<double>(traffic->bytes_down) / kMega, traffic->seal_seconds,
      traffic->open_seconds);
  const std::string warning = traffic->warning(plan.split);
  if (!warning.empty()) text += "\nsotto: warning: " + warning;
  return text;
}

Result<int> serve(const Arguments& arguments) {
  share_memory_pool();
  const std::atomic<bool>& stop = stop_requested();
  SOTTO_TRY(const rpc::Security security, arguments.security.read(identity::Role::kServer));
  ShownRun run;
  SOTTO_TRY(run.recipe, load_recipe(arguments.recipe, arguments.settings));
  SOTTO_CHECK(check_remote(run.recipe));
  const std::filesystem::path out(arguments.out);
  SOTTO_TRY(const UseLock lock, RunFolder::lock(out));
  run.options.out = out;
  run.options.out_locked = true;
  run.options.data_folder = arguments.data;
  run.options.replace = arguments.replace;
  // The same command starts a training and goes on with it, so that a supervisor can repeat it.
  run.options.resume = !arguments.replace && std::filesystem::exists(out / "run.json");
  run.print_rounds = !arguments.json;
  SOTTO_TRY(const auto coordinator, make_coordinator(arguments, run.recipe, security, out));
  run.options.transport = coordinator;
  run.options.coins = arguments.rehearsal ? Coins::kRehearsal : Coins::kClients;
  run.recipe.ledger.keep = false;  // clients keep their own
  // Clients have one report for a round: a server that went back by several would lose them.
  run.recipe.output.checkpoint_every = 1;
  const auto rounds = static_cast<std::uint64_t>(run.recipe.federation.rounds);
  Progress progress("round");
  coordinator->on_report = [&](RoundId round, std::uint64_t done, std::uint64_t total) {
    progress.update((round - 1) * total + done, rounds * total,
                    fmt::format("round {}/{}", round, rounds));
  };
  SOTTO_TRY(const auto monitor,
            ServerMonitor::start(arguments.monitor, run, out, arguments.rehearsal));
  monitor->watch(*coordinator, run.options);
  coordinator->on_begin = [&, seen = false](const RoundPlan& plan, std::size_t weights) mutable {
    if (std::exchange(seen, true)) return;
    drop_aside(out);
    monitor->say(traffic_text(plan, weights));
  };
  SOTTO_TRY(const auto server,
            rpc::Server::start(arguments.listen, security, out / kRequests, *coordinator));
  monitor->started(fmt::format("server on {}, {}, recipe {}", server->address(), shown(security),
                               coordinator->settings().invitation.recipe_hash));
  std::jthread watch([&](const std::stop_token& done) {
    while (!done.stop_requested() && !stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (!stop) return;
    monitor->stopping();
    coordinator->interrupt();
  });
  const Coins coins = run.options.coins;
  const auto trained = run_with_progress(std::move(run));
  progress.clear();
  if (!trained && coordinator->interrupted()) return monitor->interrupted(arguments.json);
  if (!trained) return tl::unexpected(trained.error());
  const RunResult& result = *trained;
  monitor->finished();
  coordinator->finish(arguments.linger_seconds);
  if (arguments.json) {
    print_json(result, out);
  } else {
    fmt::print("\n{}\n{}{}\nmodel in {}\n", claims_table(result.claims),
               promise(result.claims, coins), coins_line(coins), (out / "model.pt").string());
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
  sub->add_option("--wait-seconds", arguments->wait_seconds,
                  "give up where no client begins a round for so long")
      ->type_name("S")
      ->check(CLI::Range(0.1, 1e9))
      ->capture_default_str();
  sub->add_option("--work-seconds", arguments->work_seconds,
                  "with shuffle.mode = latency: time to train before the random delays begin")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  sub->add_option("--linger", arguments->linger_seconds,
                  "how long to wait at the end for clients to learn that the training is over")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  arguments->security.add_to(*sub);
  arguments->monitor.add_to(*sub, true);
  sub->add_flag("--rehearsal", arguments->rehearsal,
                "bits from the recipe's seed: the model of `sotto run`, and no privacy");
  sub->add_flag("--replace", arguments->replace, "start over where --out already holds a training");
  sub->add_flag("--json", arguments->json, "print the result as JSON");
  sub->footer(
      "SIGTERM or Ctrl-C ends it with all that is done kept; a second one ends it at once.\n"
      "Without a shuffler (shuffle.mode = \"none\") the server sees each client's report by "
      "itself,\n"
      "and the claims say so. Killed and started again with the same command, it goes on.\n\n"
      "Examples:\n"
      "  sotto server examples/federation/recipe.toml --out runs/fed --plain\n"
      "  sotto server recipe.toml --out runs/fed --plain --http 8080 --metrics 9100 --log fed.log\n"
      "  sotto server recipe.toml --out runs/fed --listen 0.0.0.0:7100 --identity server");
}

}  // namespace sotto::cli
