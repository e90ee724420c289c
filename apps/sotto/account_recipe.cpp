#include "account_commands.h"

namespace sotto::cli {

void add_account_recipe(CLI::App&, Action&) {}

}  // namespace sotto::cli
