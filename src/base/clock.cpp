#include "base/clock.h"

#include <ctime>

namespace sotto {

std::string utc_now(const char* format) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace sotto
