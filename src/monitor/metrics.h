// The state in the text format that Prometheus reads (version 0.0.4).
#pragma once

#include <string>

#include "monitor/board.h"

namespace sotto::monitor {

std::string metrics_text(const State& state);

}  // namespace sotto::monitor
