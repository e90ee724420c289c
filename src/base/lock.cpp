#include "base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sotto {
namespace {

/// 0, or what the system says: EWOULDBLOCK where another process has it.
int lock_now(int descriptor) {
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Who unlocks a file removes it: what was opened before may be gone by the time it is locked.
bool still_named(int descriptor, const std::filesystem::path& file) {
  struct stat mine {
  }, named{};
  return ::fstat(descriptor, &mine) == 0 && ::stat(file.c_str(), &named) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

std::string holder(int descriptor) {
  char text[16] = {};
  const ssize_t size = ::pread(descriptor, text, sizeof text - 1, 0);
  std::string number(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return number.empty() ? "another process" : "process " + number;
}

tl::unexpected<Error> cannot(const std::filesystem::path& path, const std::string& what, int why) {
  return fail(ErrorKind::kIo, path.string() + ": cannot be " + what + ": " + std::strerror(why));
}

}  // namespace

Result<UseLock> UseLock::take(const std::filesystem::path& file, const std::string& what) {
  std::error_code code;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const bool made_folder = std::filesystem::create_directories(folder, code);
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  while (true) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return cannot(file, "opened", errno);
    const int why = lock_now(descriptor);
    if (why == 0 && still_named(descriptor, file)) {
      const std::string number = std::to_string(::getpid()) + '\n';
      const auto size = static_cast<ssize_t>(number.size());
      UseLock lock(descriptor, file, made_folder);
      if (::ftruncate(descriptor, 0) != 0 ||
          ::pwrite(descriptor, number.data(), number.size(), 0) != size) {
        return cannot(file, "written", errno);
      }
      return lock;
    }
    const std::string who = why == EWOULDBLOCK ? holder(descriptor) : std::string();
    ::close(descriptor);
    if (why == EWOULDBLOCK) {
      return fail(ErrorKind::kRefused, file.string() + ": " + what + " is in use by " + who +
                                           ", which holds this lock; it is free when that ends");
    }
    if (why != 0) return cannot(file, "locked", why);
  }
}

Result<UseLock> UseLock::take_folder(const std::filesystem::path& folder, const std::string& what) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return cannot(folder, "opened", errno);
  const int why = lock_now(descriptor);
  // Network file systems lock only what is open for writing, which a folder never is.
  if (why == 0 || why == EBADF || why == ENOLCK || why == EOPNOTSUPP) {
    return UseLock(descriptor, {}, false);
  }
  ::close(descriptor);
  if (why != EWOULDBLOCK) return cannot(folder, "locked", why);
  return fail(ErrorKind::kRefused, folder.string() + ": " + what +
                                       " is in use by another process, which holds a lock on this "
                                       "folder; it is free when that ends");
}

UseLock::UseLock(UseLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      file_(std::move(other.file_)),
      made_folder_(other.made_folder_) {}

UseLock& UseLock::operator=(UseLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(file_, other.file_);
  std::swap(made_folder_, other.made_folder_);
  return *this;
}

UseLock::~UseLock() {
  if (descriptor_ < 0) return;
  if (!file_.empty()) ::unlink(file_.c_str());
  if (made_folder_) ::rmdir(file_.parent_path().c_str());
  ::close(descriptor_);
}

}  // namespace sotto
