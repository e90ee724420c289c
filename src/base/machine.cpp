#include "base/machine.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <thread>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sotto {
namespace {

/// A line of such a file of /proc in bytes; 0 where there is none.
std::uint64_t line_bytes(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) return 1024 * std::stoull(line.substr(line.find(':') + 1));
  }
  return 0;
}

}  // namespace

std::uint64_t memory_bytes() { return line_bytes("/proc/meminfo", "MemTotal"); }
std::uint64_t resident_bytes() { return line_bytes("/proc/self/status", "VmRSS"); }
std::uint64_t peak_resident_bytes() { return line_bytes("/proc/self/status", "VmHWM"); }
void restart_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

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
