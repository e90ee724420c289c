// The log: one JSON object a line, each written whole, so that a line is there or it is not.
#pragma once

#include <memory>
#include <string>

#include "monitor/event.h"

namespace sotto::monitor {

class Log {
 public:
  /// Appends to a file; "-": standard error.
  static Result<std::unique_ptr<Log>> open(const std::string& file);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// False where the line could not be written: a full disk must not end a training.
  bool write(const std::string& line);

 private:
  explicit Log(int descriptor, bool own) : descriptor_(descriptor), own_(own) {}
  int descriptor_;
  bool own_;
};

/// "2026-01-31T12:34:56.789Z"
std::string utc_text(double unix_seconds);
double unix_now();

/// A line of the log: "time" and "role", then the event's own keys. `suppressed` events like it
/// were left out before it.
std::string log_line(double time, const std::string& role, const Event& event,
                     std::uint64_t suppressed = 0);

}  // namespace sotto::monitor
