// Elapsed wall-clock time, and the time of day.
#pragma once

#include <chrono>
#include <string>

namespace sotto {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The time in UTC, as strftime writes it.
std::string utc_now(const char* format = "%Y-%m-%dT%H:%M:%SZ");

}  // namespace sotto
