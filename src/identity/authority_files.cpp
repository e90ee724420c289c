#include "identity/authority_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sotto::identity {
namespace {

tl::unexpected<Error> system_error(const std::filesystem::path& path, const std::string& what) {
  return fail(ErrorKind::kIo, path.string() + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return system_error(file, "cannot be opened");
  while (::flock(descriptor, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    auto error = system_error(file, "cannot be locked");
    ::close(descriptor);
    return error;
  }
  return FolderLock(descriptor);
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Staging> Staging::beside(const std::filesystem::path& target) {
  std::error_code code;
  std::filesystem::path clean = target.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();  // "fed/" is "fed"
  const std::filesystem::path parent = clean.has_parent_path() ? clean.parent_path() : ".";
  std::filesystem::create_directories(parent, code);
  if (code) return fail(ErrorKind::kIo, parent.string() + ": " + code.message());
  std::string name = (parent / ("." + clean.filename().string() + "-new-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) return system_error(parent, "cannot make a folder in it");
  return Staging(name, clean);
}

Staging::Staging(Staging&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), target_(std::move(other.target_)) {}

Staging::~Staging() {
  std::error_code code;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, code);
}

Result<void> Staging::write(std::string_view name, std::string_view content,
                            Readers readers) const {
  return write_file_atomically(folder_ / name, content, readers);
}

Result<void> Staging::finish() {
  sync_folder(folder_);
  if (::rename(folder_.c_str(), target_.c_str()) != 0) {
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) {
      return fail(ErrorKind::kRefused,
                  target_.string() + ": is there already, and keys are never overwritten");
    }
    return system_error(target_, "cannot be made");
  }
  folder_.clear();
  sync_folder(target_.has_parent_path() ? target_.parent_path() : ".");
  return {};
}

}  // namespace sotto::identity
