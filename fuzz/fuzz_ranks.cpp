// Messages between the ranks of a run, and the shares of secure aggregation. A message that ends
// too early is a length_error and nothing else; shares have one spelling.
#include <algorithm>

#include "secure/wire.h"
#include "target.h"
#include "transport/mpi/mpi_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  if (size == 0) return 0;
  const std::uint8_t kind = *data++;
  const ByteSpan bytes = fuzz::input(data, --size);
  if (kind % 3 == 0) {
    if (const auto shares = secure::read_shares({data, size}, 3)) {
      const auto written = secure::write_shares(*shares);
      fuzz::require(std::equal(written.begin(), written.end(), data, data + size));
    }
    return 0;
  }
  MessageReader in({bytes.begin(), bytes.end()});
  try {
    MessageWriter out;
    if (kind % 3 == 1) {
      put(out, mpi::get_task(in));
    } else {
      put(out, mpi::get_done(in));
    }
    fuzz::require(out.bytes().size() <= size);
  } catch (const std::length_error&) {
  }
  return 0;
}
