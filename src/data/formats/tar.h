// Tar archives in memory, read by libarchive: ustar, GNU long names and pax path headers; files and
// folders only. A content is not copied: it lies within the archive's bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "data/formats/archive.h"
#include "data/formats/bytes.h"
#include "sotto/result.h"

namespace sotto {

struct TarEntry {
  std::string name;  // relative, without "." components or a final slash
  bool folder = false;
  ByteSpan content;  // within the archive's bytes
};

class TarReader {
 public:
  explicit TarReader(ByteSpan archive) : bytes_(archive) {}
  /// Puts the next file or folder into `entry`; false at the end of the archive.
  Result<bool> next(TarEntry& entry);

 private:
  Result<ByteSpan> take_content();
  Result<void> check_end() const;

  ByteSpan bytes_;
  std::optional<ArchiveReader> reader_;
  std::size_t after_ = 0;  // where the next header or the end mark has to start
  bool ended_ = false;
};

}  // namespace sotto
