#include "base/machine.h"

#include <algorithm>
#include <fstream>
#include <thread>

#ifdef __GLIBC__
#include <malloc.h>
#endif

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

void share_memory_pool() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
#endif
}

void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace sotto
