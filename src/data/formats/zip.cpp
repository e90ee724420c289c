#include "data/formats/zip.h"

#include <algorithm>
#include <set>
#include <utility>

#include "data/formats/archive.h"
#include "data/formats/gzip.h"

namespace sotto {
namespace {

constexpr std::size_t kMostEntries = 10'000;

}  // namespace

Result<ZipArchive> ZipArchive::open(ByteSpan bytes) {
  SOTTO_TRY(ArchiveReader reader, ArchiveReader::open(bytes, ArchiveReader::Format::kZip));
  ZipArchive archive(bytes);
  std::set<std::string> names;
  std::uint64_t left = most_unpacked(bytes.size());
  for (std::size_t index = 0;; ++index) {
    SOTTO_TRY(const bool more, reader.next());
    if (!more) return archive;
    if (index >= kMostEntries) {
      return corrupt("zip archive of more than " + std::to_string(kMostEntries) + " entries");
    }
    if (reader.folder()) continue;
    if (reader.size() > left) {
      return corrupt(reader.shown() + ": the archive " + refuse_unpacking(bytes.size()));
    }
    left -= reader.size();
    if (!names.insert(reader.name()).second) return corrupt(reader.shown() + ": occurs twice");
    archive.entries_.push_back({reader.name(), reader.size(), index});
  }
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const ZipEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

// Entries before the wanted one are passed over by their headers; their contents are not read.
Result<std::vector<std::byte>> ZipArchive::unpack(const ZipEntry& entry) const {
  SOTTO_TRY(ArchiveReader reader, ArchiveReader::open(bytes_, ArchiveReader::Format::kZip));
  for (std::size_t index = 0; index <= entry.index; ++index) {
    SOTTO_TRY(const bool more, reader.next());
    if (!more) return fail(ErrorKind::kInternal, "zip archive ends before an entry that it has");
  }
  std::vector<std::byte> content;
  // The size is a claim: memory is only taken for what so many packed bytes can hold.
  content.reserve(std::min<std::uint64_t>(entry.size, most_inflated(bytes_.size())));
  for (ArchiveReader::Block block;;) {
    SOTTO_TRY(const bool more, reader.next_block(block));
    if (!more) break;
    if (block.bytes.size() > entry.size - content.size()) {
      return corrupt(reader.shown() + ": unpacks to more than " + std::to_string(entry.size) +
                     " bytes");
    }
    content.insert(content.end(), block.bytes.begin(), block.bytes.end());
  }
  if (content.size() != entry.size) {
    return corrupt(reader.shown() + ": unpacks to " + std::to_string(content.size()) +
                   " bytes, expected " + std::to_string(entry.size));
  }
  return content;
}

}  // namespace sotto
