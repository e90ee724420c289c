// What is inside a sealed box, after it was opened: it is exactly the chunk that was asked for, or
// refused.
#include "rpc/chunk.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  using namespace sotto::rpc;
  const std::string recipe(64, 'a');
  const ChunkSpec spec{"srr.v1", 0, 3, 16, -2, 2, 0};
  if (const auto envelope = read_chunk(fuzz::input(data, size), recipe, 7, spec)) {
    const auto written = write_chunk(recipe, envelope->serialize());
    const auto bytes = fuzz::input(data, size);
    fuzz::require(std::equal(written.begin(), written.end(), bytes.begin(), bytes.end()));
    for (std::size_t i = 0; i < envelope->symbols().size(); ++i) {
      fuzz::require(envelope->symbols()[i] >= -2 && envelope->symbols()[i] <= 2);
    }
  }
  return 0;
}
