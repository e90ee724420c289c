// The subcommands of `sotto attack`, one file each.
#pragma once

#include "command.h"

namespace sotto::cli {

void add_weight_inference(CLI::App& attack, Action& action);
void add_membership(CLI::App& attack, Action& action);

}  // namespace sotto::cli
