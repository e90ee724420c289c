// sotto bench federation: what a server and a shuffler can take, against the bare network and
// memory.
#pragma once

#include "command.h"

namespace sotto::cli {

void add_bench_federation(CLI::App& bench, Action& action);

}  // namespace sotto::cli
