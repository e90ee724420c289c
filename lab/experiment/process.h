// Child processes of this program: several runs side by side, each a `sotto run` of its own.
//
// Processes, not threads: a run that dies (out of memory, a fault in a library) takes no other with
// it; a network that draws from the tensor library's global generator stays reproducible, which it
// would not be beside another in one process; and "the same as `sotto run`" is true by
// construction. A child never outlives its parent, whatever kills that: two writers in one folder
// cannot be.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sotto/result.h"

namespace sotto {

/// Starts this very program with `arguments`, its standard output thrown away and its errors in the
/// file `errors`. Call it from the main thread: a child ends with the thread that started it.
Result<pid_t> start_program(const std::vector<std::string>& arguments,
                            const std::filesystem::path& errors);

struct Ended {
  pid_t child = 0;
  bool good = false;
  std::string reason;  // why not: "exit code 1", "killed by signal 9 (Killed)"
};

/// One of our children that has ended since the last call, without waiting.
std::optional<Ended> next_ended(const std::vector<pid_t>& children);

/// Kills them and waits until they are gone.
void end_children(const std::vector<pid_t>& children);

/// Holds a folder against a second writer for as long as this object or a child lives. The children
/// inherit the lock, so that those of a killed parent still hold it in their last moment.
class FolderLock {
 public:
  /// Waits up to ten seconds for children of an earlier, killed holder to be gone.
  static Result<FolderLock> take(const std::filesystem::path& folder);
  FolderLock(FolderLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int file) : file_(file) {}
  int file_;
};

}  // namespace sotto
