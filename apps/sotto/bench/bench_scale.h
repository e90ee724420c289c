// `sotto bench scale`: what more ranks bring.
#pragma once

#include "command.h"

namespace sotto::cli {

void add_bench_scale(CLI::App& bench, Action& action);

}  // namespace sotto::cli
