#include "base/machine.h"

#include <algorithm>
#include <fstream>
#include <thread>

namespace sotto {

std::string machine_text() {
  std::ifstream info("/proc/cpuinfo");
  std::string model;
  for (std::string line; model.empty() && std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      model = ", " + line.substr(colon + 2);
    }
  }
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return std::to_string(cores) + (cores == 1 ? " core" : " cores") + model;
}

}  // namespace sotto
