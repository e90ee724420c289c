// Folders that appear whole or not at all, and never in the place of another.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "sotto/result.h"

namespace sotto::identity {

/// One process at a time changes what an authority has issued and revoked.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::filesystem::path& file);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// A folder beside `target` that becomes it when it is finished, and is removed otherwise.
class Staging {
 public:
  static Result<Staging> beside(const std::filesystem::path& target);
  Staging(Staging&& other) noexcept;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  const std::filesystem::path& folder() const noexcept { return folder_; }
  Result<void> write(std::string_view name, std::string_view content, Readers readers) const;
  /// Refused by the system where the target is there and not an empty folder.
  Result<void> finish();

 private:
  Staging(std::filesystem::path folder, std::filesystem::path target)
      : folder_(std::move(folder)), target_(std::move(target)) {}
  std::filesystem::path folder_;  // empty: finished
  std::filesystem::path target_;
};

}  // namespace sotto::identity
