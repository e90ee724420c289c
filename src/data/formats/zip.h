// Zip archives in memory, as NPZ files use them: entries stored or deflated, found through the
// central directory, checked by CRC. No path is ever written to disk.
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
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header = 0;  // where its local header lies
};

class ZipArchive {
 public:
  /// Reads the directory; `bytes` must outlive the archive.
  static Result<ZipArchive> open(ByteSpan bytes);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  /// The entry's content, of exactly entry.size bytes and with the right CRC.
  Result<std::vector<std::byte>> unpack(const ZipEntry& entry) const;

 private:
  explicit ZipArchive(ByteSpan bytes) : bytes_(bytes) {}
  Result<void> read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count);

  ByteSpan bytes_;
  std::vector<ZipEntry> entries_;
};

}  // namespace sotto
