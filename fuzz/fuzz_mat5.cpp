// MATLAB files: any arrays, and those of SVHN.
#include "data/formats/mat5.h"
#include "data/formats/parsers.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const ByteSpan bytes = fuzz::input(data, size);
  if (const auto arrays = parse_mat5(bytes)) {
    for (const MatArray& array : *arrays) {
      if (array.size() > 0) static_cast<void>(array.value(array.size() - 1));
    }
  }
  if (const auto set = parse_svhn(bytes)) fuzz::require_consistent(*set);
  return 0;
}
