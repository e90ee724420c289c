// CSV tables.
#include "data/formats/parsers.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  if (const auto set = parse_csv(as_text(fuzz::input(data, size)))) fuzz::require_consistent(*set);
  return 0;
}
