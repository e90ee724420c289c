#include "account/ledger/ledger_head.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "account/ledger/ledger_entry.h"
#include "base/file.h"

namespace sotto {
namespace {

constexpr std::string_view kTitle = "sotto ledger head 1 ";

std::string text_of(const LedgerHead& head) {
  return std::string(kTitle) + std::to_string(head.entries) + ' ' + head.hash + '\n';
}

std::optional<LedgerHead> parse(std::string_view text) {
  if (!text.starts_with(kTitle)) return std::nullopt;
  LedgerHead head;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data() + kTitle.size(), end, head.entries);
  if (error != std::errc() || end - after < 66) return std::nullopt;
  head.hash.assign(after + 1, 64);
  return is_hash(head.hash) && text_of(head) == text ? std::optional(head) : std::nullopt;
}

/// The open and locked file that will be renamed. The one whose turn it was before may have renamed
/// it away in the meantime: then it is opened anew.
int open_locked(const std::string& name) {
  while (true) {
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    int locked = 0;
    do {
      locked = ::flock(fd, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    struct stat mine {
    }, named{};
    if (locked == 0 && ::fstat(fd, &mine) == 0) {
      const bool there = ::stat(name.c_str(), &named) == 0;
      if (there && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev) return fd;
    }
    const int why = errno;
    ::close(fd);
    errno = why;
    if (locked != 0) return -1;
  }
}

bool replace(int fd, const std::string& temporary, const std::string& target,
             std::string_view text) {
  const auto size = static_cast<ssize_t>(text.size());
  // One that a killed process left may have other permissions.
  return ::fchmod(fd, 0600) == 0 && ::ftruncate(fd, 0) == 0 &&
         ::pwrite(fd, text.data(), text.size(), 0) == size && ::fsync(fd) == 0 &&
         ::rename(temporary.c_str(), target.c_str()) == 0;
}

}  // namespace

std::filesystem::path head_file_of(const std::filesystem::path& ledger) {
  return ledger.string() + ".head";
}

Result<std::optional<LedgerHead>> read_head(const std::filesystem::path& file) {
  const auto text = read_text(file, 4096);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::nullopt;
  if (!text) return tl::unexpected<Error>(text.error());
  const auto head = parse(*text);
  if (!head) {
    return fail(ErrorKind::kCorrupt,
                file.string() +
                    ": damaged; this file remembers how far the ledger had come. "
                    "Restore it together with the newest copy of the ledger.");
  }
  return head;
}

Result<void> write_head(const std::filesystem::path& file, const LedgerHead& head) {
  const std::string& target = file.native();
  const std::string temporary = target + ".new";
  const int fd = open_locked(temporary);
  if (fd < 0) {
    return fail(ErrorKind::kIo, temporary + ": cannot be written: " + std::strerror(errno));
  }
  const auto before = read_head(file);
  const bool later = before && *before && (*before)->entries >= head.entries;
  const bool done = later ? ::unlink(temporary.c_str()) == 0
                          : before && replace(fd, temporary, target, text_of(head));
  const std::string why = std::strerror(errno);
  ::close(fd);
  if (!before) return tl::unexpected<Error>(before.error());
  if (!done) return fail(ErrorKind::kIo, target + ": cannot be written: " + why);
  return {};
}

Result<std::optional<LedgerHead>> read_head_file(const std::filesystem::path& ledger) {
  return read_head(head_file_of(ledger));
}

Result<void> write_head_file(const std::filesystem::path& ledger, const LedgerHead& head) {
  return write_head(head_file_of(ledger), head);
}

}  // namespace sotto
