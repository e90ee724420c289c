// `sotto ledger`: what clients have spent, whether the record is sound, and what they allow.
#include "command.h"
#include "ledger_actions.h"

namespace sotto::cli {
namespace {

template <class Options>
std::shared_ptr<Options> choose_file(CLI::App& command, Action& action,
                                     Result<int> (*run)(const Options&)) {
  auto options = choose(command, action, run);
  command.add_option("file", options->file, "the ledger")->required()->type_name("FILE");
  return options;
}

void add_ledger_show(CLI::App& ledger, Action& action) {
  CLI::App& show = *ledger.add_subcommand("show", "what each client has spent and what remains");
  const auto options = choose_file(show, action, ledger_show);
  show.add_option("--client", options->client, "this client's accounts only")->type_name("NAME");
  show.add_flag("--json", options->json, "machine-readable output");
  show.footer(
      "Spent is the smaller epsilon of two filters at the account's delta: the sum of all "
      "epsilons,\n"
      "and the sum of Rényi divergences. The head in the last line is what 'verify --head' "
      "takes.\n\n"
      "Examples:\n"
      "  sotto ledger show ledger.db\n"
      "  sotto ledger show ledger.db --client alice --json");
}

void add_ledger_export(CLI::App& ledger, Action& action) {
  CLI::App& command = *ledger.add_subcommand("export", "every entry as a line of JSON");
  const auto options = choose_file(command, action, ledger_export);
  command.add_option("--out", options->out, "write here instead of standard output")
      ->type_name("FILE.jsonl");
  command.footer(
      "Each line has 'body', 'previous' and 'hash': hash = SHA-256(previous + body).\n\n"
      "Examples:\n"
      "  sotto ledger export ledger.db --out ledger.jsonl\n"
      "  sotto ledger export ledger.db | jq 'select(.kind == \"charge\")'");
}

void add_ledger_verify(CLI::App& ledger, Action& action) {
  CLI::App& verify = *ledger.add_subcommand("verify", "checks every entry, hash, sum and report");
  const auto options = choose_file(verify, action, ledger_verify);
  verify
      .add_option("--head", options->head,
                  "also checks that the ledger once ended here: a head that was kept elsewhere")
      ->type_name("ENTRIES:HASH");
  verify.add_flag("--json", options->json, "machine-readable output");
  verify.footer(
      "Exit code 1 where the ledger was damaged, changed, cut off, or put back from an older "
      "copy.\n"
      "Nothing is changed.\n\n"
      "Examples:\n"
      "  sotto ledger verify ledger.db\n"
      "  sotto ledger verify ledger.db --json\n"
      "  sotto ledger verify ledger.db --head 42:$(cat head.txt)");
}

void add_ledger_account(CLI::App& ledger, Action& action) {
  CLI::App& account = *ledger.add_subcommand("account", "accounts apart, by the owner's own word");
  account.require_subcommand(1);
  CLI::App& add = *account.add_subcommand("add", "declares an account apart");
  const auto options = choose_file(add, action, ledger_account_add);
  add.add_option("name", options->name, "what it is called")->required()->type_name("NAME");
  add.add_flag("--json", options->json, "machine-readable output");
  constexpr const char* kExamples =
      "A client's limits hold for its whole ledger. What is charged to a declared account counts\n"
      "for that account alone: declare one only for data that has nothing to do with the rest.\n\n"
      "Examples:\n"
      "  sotto ledger account add ledger.db clinic\n"
      "  sotto client --account clinic --data clinic.csv --ledger ledger.db --identity fed/ada";
  account.footer(kExamples);
  add.footer(kExamples);
}

void add_ledger_limit(CLI::App& ledger, Action& action) {
  CLI::App& limit = *ledger.add_subcommand(
      "limit", "sets what the owner allows for the whole file, an account, or a simulated client");
  const auto options = choose_file(limit, action, ledger_limit);
  limit.add_option("--account", options->account, "of this declared account")->type_name("NAME");
  CLI::Option* const client =
      limit.add_option("--client", options->client, "of this client in a simulation")
          ->type_name("NAME");
  CLI::Option* const dataset =
      limit.add_option("--dataset", options->dataset, "and with this data")->type_name("NAME");
  client->needs(dataset)->excludes("--account");
  dataset->needs(client);
  limit.add_option("--epsilon-per-round", options->epsilon_per_round, "at most this in a round")
      ->type_name("E");
  limit.add_option("--epsilon", options->epsilon, "at most this in all, over all tasks")
      ->type_name("E");
  limit
      .add_option("--delta", options->delta,
                  "probability with which the guarantee may fail, in all (0)")
      ->type_name("D");
  limit.add_option("--rounds", options->rounds, "at most so many rounds (any number)")
      ->type_name("N");
  limit.add_flag("--json", options->json, "machine-readable output");
  limit.footer(
      "Without --account or --client the limits are those of the whole file, which hold for all "
      "that\n"
      "is charged to it, accounts apart excepted. An account without limits allows nothing. What "
      "is\n"
      "not given stays as it was. With a delta many small reports cost less than the sum of their\n"
      "epsilons.\n\n"
      "Examples:\n"
      "  sotto ledger limit ledger.db --epsilon-per-round 1 --epsilon 8\n"
      "  sotto ledger limit ledger.db --client alice --dataset mnist --epsilon-per-round 1 "
      "--epsilon 8\n"
      "  sotto ledger limit ledger.db --client alice --dataset mnist --delta 1e-6 --rounds 500");
}

}  // namespace

void add_ledger(CLI::App& app, Action& action) {
  CLI::App& ledger = *app.add_subcommand(
      "ledger", "What clients have spent: show, export, verify, limit, account");
  ledger.require_subcommand(1);
  ledger.footer(
      "Examples:\n"
      "  sotto ledger limit ledger.db --client alice --dataset mnist --epsilon-per-round 1 "
      "--epsilon 8\n"
      "  sotto ledger show ledger.db\n"
      "  sotto ledger verify ledger.db\n"
      "  sotto ledger export ledger.db --out ledger.jsonl");
  add_ledger_show(ledger, action);
  add_ledger_export(ledger, action);
  add_ledger_verify(ledger, action);
  add_ledger_limit(ledger, action);
  add_ledger_account(ledger, action);
}

}  // namespace sotto::cli
