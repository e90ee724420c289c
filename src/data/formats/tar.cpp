#include "data/formats/tar.h"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

constexpr std::size_t kBlock = 512;

}  // namespace

// libarchive hands out pieces of the memory it was given; a file with holes would have several.
Result<ByteSpan> TarReader::take_content() {
  const std::uint64_t start = reader_->position();
  const std::size_t left = bytes_.size() - start;
  if (reader_->size() > left) {
    return corrupt(reader_->shown() + ": claims " + std::to_string(reader_->size()) +
                   " bytes, but only " + std::to_string(left) + " follow");
  }
  const auto size = static_cast<std::size_t>(reader_->size());
  const ByteSpan content = bytes_.subspan(start, size);
  after_ = start + (size + kBlock - 1) / kBlock * kBlock;
  ArchiveReader::Block block;
  SOTTO_TRY(const bool more, reader_->next_block(block));
  const bool whole =
      more ? block.bytes.data() == content.data() && block.bytes.size() == size && block.offset == 0
           : size == 0 && block.offset == 0;
  if (!whole) return corrupt(reader_->shown() + ": sparse files are not supported");
  return content;
}

// libarchive takes an archive that just stops for a whole one.
Result<void> TarReader::check_end() const {
  const ByteSpan rest = bytes_.subspan(std::min(after_, bytes_.size()));
  if (rest.size() < 2 * kBlock) return corrupt("truncated: ends within its end mark");
  if (!std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; })) {
    return corrupt("data after the end mark at byte " + std::to_string(after_));
  }
  return {};
}

Result<bool> TarReader::next(TarEntry& entry) {
  if (ended_) return false;
  if (!reader_) {
    SOTTO_TRY(reader_, ArchiveReader::open(bytes_, ArchiveReader::Format::kTar));
  }
  SOTTO_TRY(const bool more, reader_->next());
  if (!more) {
    SOTTO_CHECK(check_end());
    ended_ = true;
    return false;
  }
  SOTTO_TRY(const ByteSpan content, take_content());
  entry = {reader_->name(), reader_->folder(), content};
  return true;
}

}  // namespace sotto
