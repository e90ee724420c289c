// sotto bench audit: how fast the trials of an audit of a vector mechanism run.
#pragma once

#include "command.h"

namespace sotto::cli {

void add_bench_audit(CLI::App& bench, Action& action);

}  // namespace sotto::cli
