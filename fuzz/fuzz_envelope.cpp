// Envelopes: what parses is exactly what serialize() writes.
#include <algorithm>

#include "sotto/stages.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const ByteSpan bytes = fuzz::input(data, size);
  if (const auto envelope = Envelope::parse(bytes)) {
    const auto written = envelope->serialize();
    fuzz::require(std::equal(written.begin(), written.end(), bytes.begin(), bytes.end()));
  }
  return 0;
}
