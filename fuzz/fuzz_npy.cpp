// NPY arrays.
#include "data/formats/npy.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  if (const auto array = parse_npy_array(fuzz::input(data, size))) {
    fuzz::require(array->elements.size() <= size);
    if (array->size() > 0) static_cast<void>(array->value(array->size() - 1));
  }
  if (const auto array = parse_npy_array_any_order(fuzz::input(data, size))) {
    fuzz::require(values_row_by_row(*array).size() == array->size());
  }
  return 0;
}
