// gzip, with a limit that small inputs reach.
#include "data/formats/gzip.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  constexpr std::size_t kLimit = 1 << 16;
  if (const auto unpacked = gunzip(fuzz::input(data, size), kLimit)) {
    fuzz::require(unpacked->size() <= kLimit);
  }
  return 0;
}
