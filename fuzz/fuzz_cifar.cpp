// CIFAR-10 binary batches.
#include "data/formats/parsers.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  Dataset set;
  set.shape = {3, 32, 32};
  set.classes = 10;
  if (parse_cifar(fuzz::input(data, size), set)) fuzz::require_consistent(set);
  return 0;
}
