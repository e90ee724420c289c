#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sotto {
namespace {

std::string reason() { return std::strerror(errno); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

Result<void> check_folder_can_be_written(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::path there = std::filesystem::absolute(folder, code).lexically_normal();
  while (!std::filesystem::exists(there, code) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, code)) {
    return fail(ErrorKind::kIo,
                folder.string() + ": cannot be made: " + there.string() + " is not a folder");
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    return fail(ErrorKind::kIo,
                folder.string() + ": cannot be written: " + there.string() + ": " + reason());
  }
  return {};
}

Result<void> narrow_to_owner(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return {};
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  if (::chmod(file.c_str(), info.st_mode & S_IRWXU) == 0 || errno == ENOENT) return {};
  return fail(ErrorKind::kIo,
              file.string() + ": others may read it, and that cannot be changed: " + reason());
}

Result<void> make_private_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::path clean = folder.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();  // "state/" is "state"
  if (clean.has_parent_path()) std::filesystem::create_directories(clean.parent_path(), code);
  if (::mkdir(clean.c_str(), 0700) == 0) {
    if (clean.has_parent_path()) sync_folder(clean.parent_path());
    return {};
  }
  if (errno != EEXIST) {
    return fail(ErrorKind::kIo, folder.string() + ": cannot be made: " + reason());
  }
  return narrow_to_owner(clean);
}

Result<void> check_only_owner_writes(const std::filesystem::path& file, const std::string& what) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return {};
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return fail(ErrorKind::kRefused, file.string() + ": belongs to another user, who may change " +
                                         what + "; check what it holds, then take it over: chown " +
                                         std::to_string(::geteuid()) + ' ' + file.string());
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(ErrorKind::kRefused, file.string() + ": others than its owner may change " + what +
                                       "; check what it holds, then run: chmod go-w " +
                                       file.string());
}

Result<void> write_file_atomically(const std::filesystem::path& name,
                                   std::span<const std::byte> content, Readers readers) {
  std::error_code code;
  // A rename would replace a link (/dev/stdout is one) instead of the file that it leads to.
  const bool link = std::filesystem::is_symlink(std::filesystem::symlink_status(name, code));
  const std::filesystem::path path = link ? std::filesystem::canonical(name, code) : name;
  if (link && code) {
    return fail(ErrorKind::kIo, name.string() + ": cannot be written: a link that leads nowhere");
  }
  const auto target = std::filesystem::status(path, code);
  if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) {
    return fail(ErrorKind::kIo, name.string() + ": cannot be written: not a regular file");
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::filesystem::create_directories(folder, code);
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());

  const std::string temporary = path.string() + ".tmp." + std::to_string(::getpid());
  const mode_t mode = readers == Readers::kOwner ? 0600 : 0644;
  // What a killed process of the same number left behind may be readable by others.
  if (readers == Readers::kOwner) ::unlink(temporary.c_str());
  Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (fd.get() < 0) return fail(ErrorKind::kIo, temporary + ": cannot be created: " + reason());
  const bool written = write_all(fd.get(), content) && ::fsync(fd.get()) == 0;
  const bool closed = ::close(fd.release()) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = reason();
    ::unlink(temporary.c_str());
    return fail(ErrorKind::kIo, path.string() + ": cannot be written: " + why);
  }
  sync_folder(folder);
  return {};
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content,
                                   Readers readers) {
  return write_file_atomically(path, std::as_bytes(std::span(content)), readers);
}

Result<AppendedFile> AppendedFile::open(const std::filesystem::path& path, std::size_t size) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fail(ErrorKind::kIo, path.string() + ": cannot be opened: " + reason());
  AppendedFile file(path, fd, size);
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0 || ::fsync(fd) != 0) {
    return fail(ErrorKind::kIo, path.string() + ": cannot be written: " + reason());
  }
  sync_folder(folder);
  return file;
}

AppendedFile::AppendedFile(AppendedFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

AppendedFile& AppendedFile::operator=(AppendedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

AppendedFile::~AppendedFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> AppendedFile::append(std::string_view piece) {
  const auto end = static_cast<off_t>(size_);
  if (::lseek(fd_, end, SEEK_SET) == end && write_all(fd_, std::as_bytes(std::span(piece))) &&
      ::fdatasync(fd_) == 0) {
    size_ += piece.size();
    return {};
  }
  const std::string why = reason();
  // What is left of the piece is overwritten by the next one, or cut off when the file is opened.
  (void)!::ftruncate(fd_, end);
  return fail(ErrorKind::kIo, path_.string() + ": cannot be written: " + why);
}

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit) {
  // Without waiting: a pipe, or a device, has no end and is refused below.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    const auto kind = errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
    return fail(kind, path.string() + ": cannot be opened: " + reason());
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(ErrorKind::kIo, path.string() + ": " + reason());
  if (!S_ISREG(info.st_mode)) return fail(ErrorKind::kIo, path.string() + ": not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit) {
    return fail(ErrorKind::kCorrupt, path.string() + ": " + std::to_string(size) +
                                         " bytes, more than the limit of " + std::to_string(limit));
  }
  std::vector<std::byte> content(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd.get(), content.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorKind::kIo, path.string() + ": " + reason());
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return content;
}

Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit) {
  SOTTO_TRY(const auto bytes, read_file(path, limit));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace sotto
