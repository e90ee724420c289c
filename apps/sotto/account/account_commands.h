// The parts of `sotto account`: each adds its options and names its action.
#pragma once

#include "command.h"

namespace sotto::cli {

void add_account_recipe(CLI::App& account, Action& action);  // account RECIPE.toml
void add_account_compose(CLI::App& account, Action& action);
void add_account_shuffle(CLI::App& account, Action& action);
void add_account_plan(CLI::App& account, Action& action);
void add_account_check(CLI::App& account, Action& action);

}  // namespace sotto::cli
