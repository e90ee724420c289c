// Zip archives, and NPZ files in them.
#include "data/formats/parsers.h"
#include "data/formats/zip.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const ByteSpan bytes = fuzz::input(data, size);
  if (const auto archive = ZipArchive::open(bytes)) {
    for (const ZipEntry& entry : archive->entries()) {
      const auto content = archive->unpack(entry);
      if (content) fuzz::require(content->size() == entry.size);
    }
  }
  if (const auto set = parse_npz(bytes)) fuzz::require_consistent(*set);
  return 0;
}
