// `sotto keys`: the certificate authority of a federation, and the bundles of its nodes.
#include "command.h"
#include "keys_actions.h"

namespace sotto::cli {
namespace {

constexpr int kMostDays = 36500;

void add_policy_options(CLI::App& command, PolicyOptions& policy) {
  command
      .add_option("--recipe", policy.recipe,
                  "write policy.toml: allow this recipe's mechanism, model, mode and fingerprint")
      ->type_name("FILE.toml");
  command.add_option("--set", policy.settings, "override a key of the recipe (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--epsilon-per-round", policy.epsilon_per_round, "at most this for a report")
      ->type_name("E");
  command.add_option("--epsilon", policy.epsilon, "at most this in the client's life")
      ->type_name("E");
  command
      .add_option("--unit-epsilon", policy.unit_epsilon,
                  "at most this for one weight, or what the mechanism treats at once")
      ->type_name("E");
}

template <class Options>
std::shared_ptr<Options> choose_folder(CLI::App& command, Action& action,
                                       Result<int> (*run)(const Options&)) {
  auto options = choose(command, action, run);
  command.add_option("folder", options->folder, "the authority's folder")
      ->required()
      ->type_name("DIR");
  command.add_flag("--json", options->json, "machine-readable output");
  return options;
}

void add_hosts(CLI::App& command, const std::string& flag, std::vector<std::string>& hosts,
               const std::string& whose) {
  command
      .add_option(flag, hosts,
                  "host name or address of the " + whose + " (repeatable; localhost if not given)")
      ->type_name("HOST")
      ->allow_extra_args(false);
}

void add_days(CLI::App& command, const std::string& flag, int& days, const std::string& what) {
  command.add_option(flag, days, what)
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1, kMostDays));
}

void add_init(CLI::App& keys, Action& action) {
  CLI::App& init = *keys.add_subcommand("init", "an authority, a server, a shuffler and clients");
  const auto options = choose_folder(init, action, keys_init);
  init.add_option("--clients", options->clients, "number of clients: client-1, client-2, ...")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(0, 100'000));
  init.add_option("--shufflers", options->shufflers, "number of shufflers")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(0, 1000));
  add_hosts(init, "--host", options->server_hosts, "server");
  add_hosts(init, "--shuffler-host", options->shuffler_hosts, "shufflers");
  add_days(init, "--days", options->days, "how long certificates of nodes are valid");
  add_days(init, "--ca-days", options->ca_days, "how long the authority is valid");
  add_policy_options(init, options->policy);
  init.footer(
      "The folder appears whole or not at all; one that is there is never changed.\n\n"
      "Examples:\n"
      "  sotto keys init fed --clients 3\n"
      "  sotto keys init fed --clients 100 --host fl.example.org --shuffler-host "
      "mix.example.org\n"
      "  sotto keys init fed --clients 3 --recipe examples/federation/recipe.toml "
      "--epsilon-per-round 4 --epsilon 8");
}

void add_issue(CLI::App& keys, Action& action) {
  CLI::App& issue = *keys.add_subcommand("issue", "a certificate and bundle for one more node");
  const auto options = choose_folder(issue, action, keys_issue);
  issue.add_option("--role", options->role, "server, shuffler or client")
      ->required()
      ->type_name("ROLE");
  issue.add_option("--name", options->name, "the node's name")->required()->type_name("NAME");
  add_hosts(issue, "--host", options->hosts, "server or shuffler");
  add_days(issue, "--days", options->days, "how long the certificate is valid");
  add_policy_options(issue, options->policy);
  issue.footer(
      "A name is given again only when its last certificate is revoked or expired.\n\n"
      "Examples:\n"
      "  sotto keys issue fed --role client --name alice\n"
      "  sotto keys issue fed --role shuffler --name mix-2 --host mix-2.example.org --days 90");
}

void add_revoke(CLI::App& keys, Action& action) {
  CLI::App& revoke = *keys.add_subcommand("revoke", "ends a node's certificate before its time");
  const auto options = choose_folder(revoke, action, keys_revoke);
  revoke.add_option("name", options->name, "whose")->required()->type_name("NAME");
  revoke.footer(
      "Nodes read their crl.pem again when it changes. Revoking twice does no harm.\n\n"
      "Examples:\n"
      "  sotto keys revoke fed alice");
}

void add_list(CLI::App& keys, Action& action) {
  CLI::App& list = *keys.add_subcommand("list", "every certificate, until when, whether revoked");
  choose_folder(list, action, keys_list);
  list.footer(
      "Examples:\n"
      "  sotto keys list fed\n"
      "  sotto keys list fed --json | jq -r '.nodes[] | select(.status == \"active\") | .name'");
}

void add_policy(CLI::App& keys, Action& action) {
  CLI::App& policy =
      *keys.add_subcommand("policy", "writes or checks what a client lets a server ask for");
  const auto options = choose(policy, action, keys_policy);
  policy.add_option("bundle", options->bundle, "the client's bundle")
      ->required()
      ->type_name("BUNDLE");
  policy.add_flag("--json", options->json, "machine-readable output");
  add_policy_options(policy, options->policy);
  policy.footer(
      "With --recipe: writes BUNDLE/policy.toml, which must not be there. Without: reads and "
      "shows\n"
      "it, or says what is wrong with it.\n\n"
      "Examples:\n"
      "  sotto keys policy fed/client-1 --recipe examples/federation/recipe.toml "
      "--epsilon-per-round 4 --epsilon 8\n"
      "  sotto keys policy fed/client-1");
}

}  // namespace

void add_keys(CLI::App& app, Action& action) {
  CLI::App& keys =
      *app.add_subcommand("keys", "Who is who in a federation: init, issue, revoke, list, policy");
  keys.require_subcommand(1);
  keys.footer(
      "Examples:\n"
      "  sotto keys init fed --clients 3\n"
      "  sotto keys issue fed --role client --name alice\n"
      "  sotto keys revoke fed alice\n"
      "  sotto keys list fed");
  add_init(keys, action);
  add_issue(keys, action);
  add_revoke(keys, action);
  add_list(keys, action);
  add_policy(keys, action);
}

}  // namespace sotto::cli
