// The state in the text format that Prometheus reads (version 0.0.4).
#pragma once

#include <string>

#include "monitor/board.h"

namespace sotto::monitor {

std::string metrics_text(const State& state);

/// What the process holds of memory now, in bytes.
std::uint64_t resident_bytes();

}  // namespace sotto::monitor
