// Tar archives in memory: ustar, GNU long names and pax path headers; files and folders only.
//
// Nothing is ever written to disk, yet names that would leave the archive's folder and entries that
// are not files (links, devices) are refused: who sends those does not send a data set.
#pragma once

#include <cstddef>
#include <string>

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
  explicit TarReader(ByteSpan archive) : archive_(archive) {}
  /// Puts the next file or folder into `entry`; false at the end of the archive.
  Result<bool> next(TarEntry& entry);

 private:
  Result<ByteSpan> take_content(std::uint64_t size, const std::string& name);
  Result<void> check_end() const;

  ByteSpan archive_;
  std::size_t position_ = 0;
};

}  // namespace sotto
