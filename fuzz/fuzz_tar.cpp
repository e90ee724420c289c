// Tar archives: names stay inside, contents within the archive, and reading ends.
#include <string_view>

#include "data/formats/tar.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  TarReader reader(fuzz::input(data, size));
  for (std::size_t entries = 0;; ++entries) {
    fuzz::require(entries <= size / 512);
    TarEntry entry;
    const auto more = reader.next(entry);
    if (!more || !*more) return 0;
    const std::string framed = "/" + entry.name + "/";
    fuzz::require(framed.find("/../") == std::string::npos && !entry.name.starts_with('/'));
    fuzz::require(entry.content.size() <= size);
  }
}
