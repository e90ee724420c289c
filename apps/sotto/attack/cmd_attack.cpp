// sotto attack: what somebody learns who has what the server has.
#include "attack_commands.h"

namespace sotto::cli {

void add_attack(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("attack", "Attack what mechanisms and runs release, and measure it");
  sub->require_subcommand(1);
  add_weight_inference(*sub, action);
  add_membership(*sub, action);
  sub->footer(
      "An attack shows what one adversary finds: privacy is no better than that, and may be "
      "worse.\n"
      "Only the epsilons of `sotto verify` and `sotto account` hold against every adversary.\n\n"
      "Examples:\n"
      "  sotto attack weight-inference --mechanism two-point --epsilon 1,2,5\n"
      "  sotto attack membership recipes/embedded.toml --mechanism none "
      "--mechanism two-point:epsilon=1");
}

}  // namespace sotto::cli
