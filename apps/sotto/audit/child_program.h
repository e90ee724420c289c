// Somebody else's program, run once: bytes to its standard input, bytes from its standard output.
//
// It may die, hang, print nothing, print for ever or ignore its input. Whatever it does, the call
// returns, and the program with all that it started is dead and reaped by then.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sotto/result.h"

namespace sotto::cli {

struct ChildProgram {
  std::string command;            // for /bin/sh -c
  double timeout_seconds = 60.0;  // without a byte read or written

  /// What it printed. `enough(new_bytes)` is asked after every piece; true ends the program with an
  /// error that says it printed too much. An exit code other than 0, death by a signal and silence
  /// are errors, which quote the end of its standard error.
  Result<std::string> run(std::string_view input,
                          const std::function<bool(std::string_view)>& enough) const;
};

}  // namespace sotto::cli
