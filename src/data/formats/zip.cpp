#include "data/formats/zip.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "data/formats/gzip.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::uint32_t kEndMark64 = 0x06064b50;
constexpr std::uint32_t kLocatorMark64 = 0x07064b50;
constexpr std::uint32_t kCentralMark = 0x02014b50;
constexpr std::uint32_t kLocalMark = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEndBytes64 = 56;
constexpr std::size_t kLocatorBytes64 = 20;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kMostComment = 0xffff;
constexpr std::uint64_t kMostEntries = 10'000;
constexpr std::uint64_t kIn64 = 0xffffffff;  // "see the zip64 field"
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;

std::uint16_t u16(const std::byte* from) {
  return static_cast<std::uint16_t>(load_little(from, 2));
}
std::uint32_t u32(const std::byte* from) {
  return static_cast<std::uint32_t>(load_little(from, 4));
}

struct Directory {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t count;
};

// The end record is the last one whose comment reaches exactly to the end of the file.
std::optional<std::size_t> find_end(ByteSpan bytes) {
  if (bytes.size() < kEndBytes) return std::nullopt;
  const std::size_t last = bytes.size() - kEndBytes;
  const std::size_t first = last > kMostComment ? last - kMostComment : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    if (u32(&bytes[at]) == kEndMark && at + kEndBytes + u16(&bytes[at + 20]) == bytes.size()) {
      return at;
    }
  }
  return std::nullopt;
}

Result<Directory> find_directory(ByteSpan bytes) {
  const auto end = find_end(bytes);
  if (!end) return corrupt("no zip end record: truncated, or not a zip file");
  const std::byte* const record = &bytes[*end];
  if (u16(record + 4) != 0 || u16(record + 6) != 0) return corrupt("zip of several volumes");
  Directory directory{u32(record + 16), u32(record + 12), u16(record + 10)};
  std::size_t limit = *end;
  const bool needs64 =
      directory.offset == kIn64 || directory.size == kIn64 || directory.count == kMostComment;
  if (needs64 && *end >= kLocatorBytes64 && u32(record - kLocatorBytes64) == kLocatorMark64) {
    const std::uint64_t at = load_little(record - kLocatorBytes64 + 8, 8);
    if (at > *end - kLocatorBytes64 || *end - kLocatorBytes64 - at < kEndBytes64 ||
        u32(&bytes[at]) != kEndMark64) {
      return corrupt("zip64 end record is not where the locator says");
    }
    directory = {load_little(&bytes[at + 48], 8), load_little(&bytes[at + 40], 8),
                 load_little(&bytes[at + 32], 8)};
    limit = at;
  }
  if (directory.offset > limit || directory.size > limit - directory.offset) {
    return corrupt("zip directory lies outside the file");
  }
  return directory;
}

// Replaces the sizes that say "see the zip64 field" by those of the extra field.
Result<void> apply_zip64(ByteSpan extra, ZipEntry& entry) {
  if (entry.size != kIn64 && entry.packed_size != kIn64 && entry.header != kIn64) return {};
  while (extra.size() >= 4) {
    const std::uint16_t id = u16(extra.data());
    const std::size_t size = u16(&extra[2]);
    if (size > extra.size() - 4) break;
    ByteSpan body = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
    if (id != 1) continue;
    for (std::uint64_t* const value : {&entry.size, &entry.packed_size, &entry.header}) {
      if (*value != kIn64) continue;
      if (body.size() < 8) return corrupt("zip64 field is too short");
      *value = load_little(body.data(), 8);
      body = body.subspan(8);
    }
    return {};
  }
  return corrupt("zip64 field is missing");
}

}  // namespace

Result<void> ZipArchive::read_directory(std::uint64_t offset, std::uint64_t size,
                                        std::uint64_t count) {
  ByteSpan rest = bytes_.subspan(offset, size);
  if (count > size / kCentralBytes) {
    return corrupt("zip directory claims " + std::to_string(count) + " entries in " +
                   std::to_string(size) + " bytes");
  }
  if (count > kMostEntries) {
    return corrupt("zip directory has " + std::to_string(count) + " entries, more than " +
                   std::to_string(kMostEntries));
  }
  const std::uint64_t most = most_unpacked(bytes_.size());
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string place = "zip directory entry " + std::to_string(i);
    if (rest.size() < kCentralBytes || u32(rest.data()) != kCentralMark) {
      return corrupt(place + ": malformed");
    }
    const std::size_t name_bytes = u16(&rest[28]);
    const std::size_t extra_bytes = u16(&rest[30]);
    const std::size_t whole = kCentralBytes + name_bytes + extra_bytes + u16(&rest[32]);
    if (whole > rest.size()) return corrupt(place + ": truncated");
    ZipEntry entry;
    entry.name = as_text(rest.subspan(kCentralBytes, name_bytes));
    entry.method = u16(&rest[10]);
    entry.crc = u32(&rest[16]);
    entry.packed_size = u32(&rest[20]);
    entry.size = u32(&rest[24]);
    entry.header = u32(&rest[42]);
    const std::string shown = "entry '" + printable(entry.name) + "'";
    if ((u16(&rest[8]) & 1U) != 0) return corrupt(shown + ": encrypted");
    if (auto ok = apply_zip64(rest.subspan(kCentralBytes + name_bytes, extra_bytes), entry); !ok) {
      return at(shown, ok.error());
    }
    if (entry.packed_size > bytes_.size() || entry.header > bytes_.size()) {
      return corrupt(shown + ": lies outside the file");
    }
    if (entry.size > most - total) {
      return corrupt(shown + ": the archive " + refuse_unpacking(bytes_.size()));
    }
    total += entry.size;
    if (find(entry.name) != nullptr) return corrupt(shown + ": occurs twice");
    entries_.push_back(std::move(entry));
    rest = rest.subspan(whole);
  }
  if (!rest.empty()) return corrupt("zip directory has bytes after its last entry");
  return {};
}

Result<ZipArchive> ZipArchive::open(ByteSpan bytes) {
  SOTTO_TRY(const Directory directory, find_directory(bytes));
  ZipArchive archive(bytes);
  SOTTO_CHECK(archive.read_directory(directory.offset, directory.size, directory.count));
  return archive;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const ZipEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

Result<std::vector<std::byte>> ZipArchive::unpack(const ZipEntry& entry) const {
  const std::string shown = "entry '" + printable(entry.name) + "'";
  ByteSpan rest = bytes_.subspan(entry.header);
  if (rest.size() < kLocalBytes || u32(rest.data()) != kLocalMark) {
    return corrupt(shown + ": no local header at byte " + std::to_string(entry.header));
  }
  const std::size_t name_bytes = u16(&rest[26]);
  const std::size_t skip = kLocalBytes + name_bytes + u16(&rest[28]);
  if (skip > rest.size() || entry.packed_size > rest.size() - skip) {
    return corrupt(shown + ": truncated");
  }
  if (as_text(rest.subspan(kLocalBytes, name_bytes)) != entry.name) {
    return corrupt(shown + ": its local header has another name");
  }
  const ByteSpan packed = rest.subspan(skip, entry.packed_size);
  std::vector<std::byte> content;
  if (entry.method == kStored) {
    if (entry.size != entry.packed_size) return corrupt(shown + ": stored with two sizes");
    content.assign(packed.begin(), packed.end());
  } else if (entry.method == kDeflated) {
    auto inflated = inflate_exactly(packed, Wrapping::kRaw, entry.size);
    if (!inflated) return at(shown, inflated.error());
    content = std::move(*inflated);
  } else {
    return corrupt(shown + ": compression method " + std::to_string(entry.method) +
                   "; only stored (0) and deflate (8) are read");
  }
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc != entry.crc) {
    return corrupt(shown + ": CRC " + hex32(static_cast<std::uint32_t>(crc)) + ", expected " +
                   hex32(entry.crc));
  }
  return content;
}

}  // namespace sotto
