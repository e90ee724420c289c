// Zip archives in memory, as NPZ files use them, read by libarchive: found through the directory at
// the end, checked by CRC. No path is ever written to disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/bytes.h"
#include "sotto/result.h"

namespace sotto {

struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;
  std::size_t index = 0;  // in the archive, folders counted
};

class ZipArchive {
 public:
  /// Reads the directory; `bytes` must outlive the archive.
  static Result<ZipArchive> open(ByteSpan bytes);

  /// Files alone.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  /// The entry's content, of exactly entry.size bytes and with the right CRC.
  Result<std::vector<std::byte>> unpack(const ZipEntry& entry) const;

 private:
  explicit ZipArchive(ByteSpan bytes) : bytes_(bytes) {}

  ByteSpan bytes_;
  std::vector<ZipEntry> entries_;
};

}  // namespace sotto
