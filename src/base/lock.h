// One process at a time: who uses a file or a folder holds a lock that the system takes back when
// the process ends, however it ends, so none is ever left behind.
#pragma once

#include <filesystem>
#include <string>

#include "sotto/result.h"

namespace sotto {

class UseLock {
 public:
  /// Takes FILE, which is made and holds the process's number while it is locked. kRefused, with
  /// that number, where another process has it; `what` says what is in use, "this ledger".
  static Result<UseLock> take(const std::filesystem::path& file, const std::string& what);
  /// The same for a folder that may be read only: the number is not known there. Where the file
  /// system cannot lock folders (NFS), nobody is kept out.
  static Result<UseLock> take_folder(const std::filesystem::path& folder, const std::string& what);

  UseLock(UseLock&& other) noexcept;
  UseLock& operator=(UseLock&& other) noexcept;
  UseLock(const UseLock&) = delete;
  UseLock& operator=(const UseLock&) = delete;
  /// Removes the file, and its folder where that was made for it and is empty.
  ~UseLock();

 private:
  UseLock(int descriptor, std::filesystem::path file, bool made_folder)
      : descriptor_(descriptor), file_(std::move(file)), made_folder_(made_folder) {}
  int descriptor_;
  std::filesystem::path file_;  // empty: a folder is locked
  bool made_folder_;
};

}  // namespace sotto
