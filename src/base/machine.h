// Which machine this is, for records of what was measured.
#pragma once

#include <string>

namespace sotto {

/// "2 cores, AMD EPYC 9R14": cores, and the model of the processor where the system tells it.
std::string machine_text();

}  // namespace sotto
