// sotto client: one member of a federation, on its own data.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "client_ledger.h"
#include "federation_options.h"
#include "monitor_options.h"
#include "run/run_with_progress.h"
#include "transport/grpc/grpc_client.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string server = "127.0.0.1:7100";
  std::string shuffler;
  std::string name;
  std::string data;
  std::string labels;
  std::string data_folder;
  std::string model;
  std::string recipe_hash;
  std::string ledger;
  std::string account;
  std::string policy;
  SecurityOptions security;
  MonitorOptions monitor;
  std::int64_t share = -1;
  double epsilon = 0.0;
  double epsilon_per_round = 0.0;
  double delta = 0.0;
  double patience_seconds = 120.0;
  bool unlimited = false;
  bool rehearsal = false;
  bool json = false;
};

/// The client's own word: the file of --policy, or that of its bundle.
Result<std::optional<identity::Policy>> policy_of(const Arguments& arguments,
                                                  const rpc::Security& security) {
  std::filesystem::path file = arguments.policy;
  if (file.empty() && security.plain()) return std::nullopt;
  if (file.empty()) file = security.bundle->policy_file();
  if (!std::filesystem::exists(file)) {
    return fail(ErrorKind::kNotFound,
                file.string() +
                    ": a client without a policy takes part in nothing; 'sotto keys "
                    "policy " +
                    security.bundle->folder.string() + " --recipe ...' writes one");
  }
  SOTTO_TRY(identity::Policy policy, identity::read_policy(file));
  return policy;
}

/// What this client allows over its lifetime; nothing unless it says so.
Result<Limits> limits_of(const Arguments& arguments,
                         const std::optional<identity::Policy>& policy) {
  const bool flags = arguments.unlimited || arguments.epsilon > 0.0 || arguments.delta > 0.0 ||
                     arguments.epsilon_per_round > 0.0;
  if (policy) {
    if (flags) {
      return fail(ErrorKind::kUsage,
                  "--epsilon, --epsilon-per-round, --delta and --unlimited are for clients without "
                  "a policy: this one's says what it may spend");
    }
    return Limits{policy->epsilon_per_round, policy->epsilon, policy->delta, policy->rounds};
  }
  if (arguments.unlimited) return Limits::unlimited();
  if (!(arguments.epsilon > 0.0)) {
    return fail(ErrorKind::kUsage,
                "how much may this client spend? --epsilon E (with --delta D where the mechanism "
                "has one) limits its lifetime; --unlimited allows whatever the recipe asks for");
  }
  Limits limits = Limits::unlimited();
  limits.epsilon = arguments.epsilon;
  limits.delta = arguments.delta;
  if (arguments.epsilon_per_round > 0.0) limits.epsilon_per_round = arguments.epsilon_per_round;
  return limits;
}

/// What the certificate says, or with --plain what the command line says.
Result<std::string> name_of(const Arguments& arguments, const rpc::Security& security) {
  if (security.plain()) {
    if (!arguments.name.empty()) return arguments.name;
    return fail(ErrorKind::kUsage, "--name NAME: what this client calls itself, with --plain");
  }
  const std::string& own = security.bundle->self.name;
  if (arguments.name.empty() || arguments.name == own) return own;
  return fail(ErrorKind::kUsage,
              "--name " + arguments.name + ": the certificate of --identity is of '" + own + "'");
}

Result<int> take_part(const Arguments& arguments) {
  rpc::ClientOptions options;
  options.stop = &stop_requested();
  SOTTO_TRY(options.security, arguments.security.read(identity::Role::kClient));
  SOTTO_TRY(options.name, name_of(arguments, options.security));
  options.server = arguments.server;
  options.shuffler = arguments.shuffler;
  options.recipe_hash = arguments.recipe_hash;
  options.patience_seconds = arguments.patience_seconds;
  if (arguments.share >= 0) options.share = static_cast<std::uint32_t>(arguments.share);
  options.participant.data = arguments.data;
  options.participant.labels = arguments.labels;
  options.participant.data_folder = arguments.data_folder;
  options.participant.model_file = arguments.model;
  options.participant.rehearsal = arguments.rehearsal;
  SOTTO_TRY(options.participant.policy, policy_of(arguments, options.security));
  SOTTO_TRY(options.participant.limits, limits_of(arguments, options.participant.policy));
  SOTTO_TRY(const ClientLedger own,
            open_client_ledger(arguments.ledger, arguments.account, options.security));
  options.ledger = own.ledger;
  const std::string name = options.name;
  SOTTO_TRY(const auto monitor, Monitor::start(arguments.monitor, {"client", name}));
  options.on_event = monitor->sink();
  if (!own.note.empty()) monitor->say(own.note);
  options.on_joined = [&](const Recipe& recipe, std::uint32_t index) {
    monitor->started(
        fmt::format("{} is client {} of {}; mechanism {}, shuffler {}", name, index,
                    recipe.output.name, recipe.privacy.mechanism,
                    recipe.shuffle.mode == ShuffleMode::kShuffler ? arguments.shuffler : "none"));
  };
  options.on_task = [&](RoundId round) { monitor->say(fmt::format("round {}", round)); };
  options.on_note = [&](const std::string& text) { monitor->problem(text); };
  SOTTO_TRY(const rpc::ClientSummary summary, rpc::run_client(std::move(options), make_engine));
  monitor->ended(stop_requested(),
                 "what was charged is in the ledger, and the same command goes on");
  if (arguments.json) {
    const nlohmann::json json = {{"name", name},
                                 {"index", summary.index},
                                 {"recipe_hash", summary.recipe_hash},
                                 {"reports", summary.reports},
                                 {"declined", summary.declined},
                                 {"late", summary.late},
                                 {"asked_otherwise", summary.asked_otherwise}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} reports handed in, {} rounds declined, {} reports too late\n", summary.reports,
               summary.declined, summary.late);
    if (summary.asked_otherwise > 0) {
      fmt::print("WARNING: in {} rounds others were asked for something else than this client\n",
                 summary.asked_otherwise);
    }
    fmt::print("what they cost: sotto ledger show {}\n", arguments.ledger);
  }
  return 0;
}

void add_spending(CLI::App& sub, Arguments& arguments) {
  sub.add_option("--ledger", arguments.ledger, "where this client's spending is kept")
      ->type_name("FILE")
      ->required();
  sub.add_option("--account", arguments.account,
                 "spend from this account of the ledger alone, which 'sotto ledger account add' "
                 "declared; default: the limits hold for the whole file")
      ->type_name("NAME");
  sub.add_option("--epsilon", arguments.epsilon, "what all reports together may cost")
      ->type_name("E")
      ->check(CLI::PositiveNumber);
  sub.add_option("--epsilon-per-round", arguments.epsilon_per_round, "what one round may cost")
      ->type_name("E")
      ->check(CLI::PositiveNumber);
  sub.add_option("--delta", arguments.delta, "the delta that goes with --epsilon")
      ->type_name("D")
      ->check(CLI::Range(0.0, 1.0));
  sub.add_flag("--unlimited", arguments.unlimited, "whatever the recipe asks for");
  sub.add_option("--policy", arguments.policy,
                 "what this client lets a server ask for; default: policy.toml of --identity")
      ->type_name("FILE.toml");
}

}  // namespace

void add_client(CLI::App& app, Action& action) {
  CLI::App* const sub = app.add_subcommand("client", "Take part in a federation with own data");
  const auto arguments = choose<Arguments>(*sub, action, take_part);
  sub->add_option("--server", arguments->server, "the server")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  sub->add_option("--shuffler", arguments->shuffler, "the shuffler, where the recipe has one")
      ->type_name("HOST:PORT");
  sub->add_option("--name", arguments->name,
                  "what this client calls itself, with --plain; else its certificate says it")
      ->type_name("NAME");
  sub->add_option("--data", arguments->data,
                  "this client's samples: a known set or a file; what the recipe says of data is "
                  "the server's")
      ->type_name("SET|FILE")
      ->required();
  sub->add_option("--labels", arguments->labels, "their labels, where a format keeps them apart")
      ->type_name("FILE");
  sub->add_option("--data-folder", arguments->data_folder,
                  "where known sets lie; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  sub->add_option("--share", arguments->share,
                  "be client I, with the part of --data that a simulation gives to it")
      ->type_name("I")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--model", arguments->model,
                  "own copy of the recipe's model.file; no code is taken from the server")
      ->type_name("FILE.pt");
  sub->add_option("--recipe-hash", arguments->recipe_hash, "take part in this recipe only")
      ->type_name("HEX");
  add_spending(*sub, *arguments);
  sub->add_option("--patience", arguments->patience_seconds,
                  "how long to wait for a server or shuffler that does not answer; ten times as "
                  "long for one that says it is busy")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  arguments->security.add_to(*sub);
  arguments->monitor.add_to(*sub, false);
  sub->add_flag("--rehearsal", arguments->rehearsal,
                "bits from the recipe's seed, which the server knows: no privacy");
  sub->add_flag("--json", arguments->json, "print what was done as JSON");
  sub->footer(
      "Every round is charged to the ledger before data is read. Killed and started again with "
      "the\n"
      "same command, a client sends the report that it has paid for, and no other. Its limits "
      "hold\n"
      "for the whole ledger, whatever the server's recipe says and however --data is spelled.\n\n"
      "Examples:\n"
      "  sotto client --identity fed/ada --data mine.csv --ledger ada.sqlite "
      "--server fed.example:7100\n"
      "  sotto client --name ada --data mine.csv --ledger ada.sqlite --epsilon 8 --plain\n"
      "  sotto client --name c0 --data embedded --share 0 --ledger c0.sqlite --unlimited --plain "
      "--rehearsal");
}

}  // namespace sotto::cli
