// `sotto account`: what a client's privacy costs, before a run and for single questions.
#include "account_commands.h"

namespace sotto::cli {

void add_account(CLI::App& app, Action& action) {
  CLI::App& account = *app.add_subcommand("account", "what a client's privacy really costs");
  account.require_subcommand(0, 1);
  account.footer(
      "Examples:\n"
      "  sotto account recipes/srr-mnist.toml\n"
      "  sotto account shuffle --epsilon0 1 --clients 432 --delta 1e-6\n"
      "  sotto account compose --epsilon0 1 --count 20490 --delta 1e-6\n"
      "  sotto account plan --target-epsilon 8 --delta 1e-6 --clients 60000 --rounds 100\n"
      "  sotto account check runs/srr-mnist/certificate.json");
  add_account_recipe(account, action);
  add_account_compose(account, action);
  add_account_shuffle(account, action);
  add_account_plan(account, action);
  add_account_check(account, action);
}

}  // namespace sotto::cli
