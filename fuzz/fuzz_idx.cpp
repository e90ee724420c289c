// IDX images and labels.
#include "data/formats/parsers.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const ByteSpan bytes = fuzz::input(data, size);
  if (const auto images = parse_idx_images(bytes)) {
    fuzz::require(!images->pixels.empty() && images->pixels.size() % images->shape.size() == 0);
  }
  if (const auto labels = parse_idx_labels(bytes)) fuzz::require(!labels->empty());
  return 0;
}
