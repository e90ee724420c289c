// JPEG and PNG pictures, of at most a million pixels so that an input costs little time.
#include "data/formats/image.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const ByteSpan bytes = fuzz::input(data, size);
  const auto shape = image_shape(bytes);
  if (!shape || shape->size() > 1'000'000) return 0;
  SampleShape want = *shape;
  for (const std::uint32_t channels : {shape->channels, 3U}) {
    want.channels = channels;
    std::vector<std::uint8_t> pixels(want.size());
    static_cast<void>(decode_image(bytes, want, pixels));
  }
  return 0;
}
