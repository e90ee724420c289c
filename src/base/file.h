// Files that must last: written whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/result.h"

namespace sotto {

/// Writes to a temporary beside `path`, syncs it, renames it over `path` and syncs the folder:
/// after a crash at any moment the file is the old one or the new one. Makes missing parent
/// folders, follows links, and refuses to put a file in the place of a folder, device or pipe.
/// A file for its owner alone is never readable by others, not even while it is being written.
enum class Readers { kEveryone, kOwner };
Result<void> write_file_atomically(const std::filesystem::path& path,
                                   std::span<const std::byte> content,
                                   Readers readers = Readers::kEveryone);
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content,
                                   Readers readers = Readers::kEveryone);

/// A file that grows by whole pieces, each synced to the disk before append() returns. A piece that
/// could not be written, or was cut short by a crash, is not in the file: whoever opens it says how
/// much of it counts.
class AppendedFile {
 public:
  /// Makes the file where there is none; what is behind `size` bytes is cut off.
  static Result<AppendedFile> open(const std::filesystem::path& path, std::size_t size);
  AppendedFile(AppendedFile&& other) noexcept;
  AppendedFile& operator=(AppendedFile&& other) noexcept;
  ~AppendedFile();
  Result<void> append(std::string_view piece);

 private:
  AppendedFile(std::filesystem::path path, int fd, std::size_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  std::filesystem::path path_;
  int fd_;
  std::size_t size_;
};

/// An error where no files can be written into this folder, or the folder cannot be made: asked
/// before long work whose results go there. Makes nothing.
Result<void> check_folder_can_be_written(const std::filesystem::path& folder);

/// A folder that only its owner may enter: made, or its permissions narrowed where they are wider.
Result<void> make_private_folder(const std::filesystem::path& folder);
/// Takes from all but the owner what they may do with this file, where it is there and ours.
Result<void> narrow_to_owner(const std::filesystem::path& file);
/// Refuses a file that others than its owner may write; `what` says what it is, "this policy".
Result<void> check_only_owner_writes(const std::filesystem::path& file, const std::string& what);

/// Makes a rename inside this folder last.
void sync_folder(const std::filesystem::path& folder);

/// The whole file, refused when larger than `limit` bytes.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         std::size_t limit = std::size_t{1} << 32);
Result<std::string> read_text(const std::filesystem::path& path,
                              std::size_t limit = std::size_t{1} << 28);

}  // namespace sotto
