// `sotto bench sealed`: what privacy from the shuffler costs.
#pragma once

#include "command.h"

namespace sotto::cli {

void add_bench_sealed(CLI::App& bench, Action& action);

}  // namespace sotto::cli
