#include "data/formats/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <new>
#include <string_view>

namespace sotto {
namespace {

constexpr std::size_t kMostNameBytes = 4096;

/// libarchive turns names of pax headers into the locale's characters, and warns where that has
/// none for them. UTF-8 has all; libarchive composes them (NFC).
class NamesAreUtf8 {
 public:
  NamesAreUtf8() : before_(own() != locale_t{} ? uselocale(own()) : locale_t{}) {}
  NamesAreUtf8(const NamesAreUtf8&) = delete;
  NamesAreUtf8& operator=(const NamesAreUtf8&) = delete;
  ~NamesAreUtf8() {
    if (before_ != locale_t{}) uselocale(before_);
  }

 private:
  static locale_t own() {
    static const locale_t kOwn = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    return kOwn;
  }
  locale_t before_;
};

// Drops "." and empty components; refuses what would lead out of the archive's folder.
Result<std::string> safe_name(std::string_view raw) {
  if (raw.empty()) return corrupt("an entry without a name");
  const std::string shown = "entry '" + printable(raw) + "'";
  if (raw.size() > kMostNameBytes) {
    return corrupt(shown + ": name of more than " + std::to_string(kMostNameBytes) + " bytes");
  }
  if (raw.front() == '/') return corrupt(shown + ": absolute name");
  std::string clean;
  while (!raw.empty()) {
    const std::size_t slash = raw.find('/');
    const std::string_view part = raw.substr(0, slash);
    raw = slash == std::string_view::npos ? std::string_view() : raw.substr(slash + 1);
    if (part == "..") return corrupt(shown + ": '..' in the name");
    if (part.empty() || part == ".") continue;
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

std::string type_text(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return "hard link";
  switch (archive_entry_filetype(entry)) {
    case AE_IFLNK:
      return "symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "device";
    case AE_IFIFO:
      return "pipe";
    default:
      return "neither file nor folder";
  }
}

}  // namespace

void ArchiveReader::Free::operator()(archive* reader) const { archive_read_free(reader); }

ArchiveReader::ArchiveReader(archive* reader) : archive_(reader) {
  if (reader == nullptr) throw std::bad_alloc();
}

Result<ArchiveReader> ArchiveReader::open(ByteSpan bytes, Format format) {
  const NamesAreUtf8 names;
  ArchiveReader reader(archive_read_new());
  archive* const raw = reader.archive_.get();
  const bool tar = format == Format::kTar;
  // By the directory at the end alone: without it, a zip file that was cut would still be read.
  const int known =
      tar ? archive_read_support_format_tar(raw) : archive_read_support_format_zip_seekable(raw);
  if (known != ARCHIVE_OK) {
    return fail(ErrorKind::kInternal, "libarchive: " + reader.problem());
  }
  if (archive_read_open_memory(raw, bytes.data(), bytes.size()) != ARCHIVE_OK) {
    return corrupt(tar ? "not a tar archive"
                       : "not a zip archive, or one without entries, or its end is missing");
  }
  return reader;
}

std::string ArchiveReader::problem() const {
  const char* const text = archive_error_string(archive_.get());
  if (text == nullptr) return "it cannot be read";
  const std::string_view line(text);
  return printable(line.substr(0, line.find('\n')));
}

Result<bool> ArchiveReader::next() {
  const NamesAreUtf8 names;
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(archive_.get(), &entry);
  if (status == ARCHIVE_EOF) return false;
  if (status != ARCHIVE_OK) {
    // Not known any more where libarchive gave up.
    const la_int64_t header = archive_read_header_position(archive_.get());
    const std::uint64_t place = header >= 0 ? static_cast<std::uint64_t>(header) : position();
    return corrupt("byte " + std::to_string(place) + ": " + problem());
  }
  SOTTO_CHECK(take_entry(entry));
  return true;
}

Result<void> ArchiveReader::take_entry(archive_entry* entry) {
  const char* const raw = archive_entry_pathname(entry);
  SOTTO_TRY(name_, safe_name(raw == nullptr ? "" : raw));
  const std::string shown = "entry '" + printable(raw) + "'";
  folder_ = archive_entry_filetype(entry) == AE_IFDIR;
  if (archive_entry_hardlink(entry) != nullptr ||
      (!folder_ && archive_entry_filetype(entry) != AE_IFREG)) {
    return corrupt(shown + ": " + type_text(entry) + "; only files and folders are read");
  }
  if (!folder_ && name_.empty()) return corrupt(shown + ": not a file name");
  if (archive_entry_is_encrypted(entry) != 0) return corrupt(shown + ": encrypted");
  if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0) {
    return corrupt(shown + ": malformed size");
  }
  size_ = folder_ ? 0 : static_cast<std::uint64_t>(archive_entry_size(entry));
  return {};
}

std::string ArchiveReader::shown() const { return "entry '" + printable(name_) + "'"; }

std::uint64_t ArchiveReader::position() const {
  return static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), -1));
}

Result<bool> ArchiveReader::next_block(Block& block) {
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  const int status = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
  if (status == ARCHIVE_EOF) return false;
  if (status != ARCHIVE_OK) return corrupt(shown() + ": " + problem());
  block = {{static_cast<const std::byte*>(bytes), size}, static_cast<std::uint64_t>(offset)};
  return true;
}

}  // namespace sotto
