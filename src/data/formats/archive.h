// libarchive over bytes in memory, for tar and zip: it finds the entries, this decides which of
// them a data set may have.
//
// Nothing is ever written to disk, yet names that would leave the archive's folder and entries that
// are not files (links, devices) are refused: who sends those does not send a data set. What
// libarchive only warns of, it read by guessing, and is refused too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "data/formats/bytes.h"
#include "sotto/result.h"

struct archive;
struct archive_entry;

namespace sotto {

class ArchiveReader {
 public:
  enum class Format { kTar, kZip };

  /// `bytes` must outlive the reader.
  static Result<ArchiveReader> open(ByteSpan bytes, Format format);

  /// Goes to the next file or folder; false at the end.
  Result<bool> next();

  // Of the entry that next() went to.
  const std::string& name() const { return name_; }  // relative, without "." and a final slash
  bool folder() const { return folder_; }
  std::uint64_t size() const { return size_; }
  /// "entry 'a/b'"
  std::string shown() const;
  /// How far the archive was read: after next(), where the content starts.
  std::uint64_t position() const;

  struct Block {
    ByteSpan bytes;  // valid until the next call
    std::uint64_t offset = 0;
  };
  /// The entry's next piece of content; false behind the last one, when all checksums were right.
  Result<bool> next_block(Block& block);

 private:
  struct Free {
    void operator()(archive* reader) const;
  };
  explicit ArchiveReader(archive* reader);
  Result<void> take_entry(archive_entry* entry);
  std::string problem() const;

  std::unique_ptr<archive, Free> archive_;
  std::string name_;
  bool folder_ = false;
  std::uint64_t size_ = 0;
};

}  // namespace sotto
