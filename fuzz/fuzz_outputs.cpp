// What an audited program prints. The first byte is how many outputs it was asked for.
#include "audit/outputs_text.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  if (size == 0) return 0;
  const std::size_t rows = *data++;
  const auto outputs = parse_outputs(as_text(fuzz::input(data, --size)), rows);
  if (outputs) {
    fuzz::require(outputs->values.size() == rows * outputs->width);
  } else {
    fuzz::require(!outputs.error().message.empty());
  }
  return 0;
}
