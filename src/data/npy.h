// One NumPy array as numpy.save writes it: a header in Python's notation, then the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/bytes.h"
#include "sotto/result.h"

namespace sotto {

struct NpyArray {
  char kind = 'u';     // 'i', 'u' or 'f'
  unsigned width = 1;  // bytes of an element
  std::vector<std::uint64_t> shape;
  ByteSpan elements;  // within the file's bytes, row by row, little-endian

  std::size_t size() const { return elements.size() / width; }
  double value(std::size_t i) const;
};

/// Refuses what is no plain numeric array: structures, objects, texts, column-major order,
/// big-endian elements; the message says how to save it instead.
Result<NpyArray> parse_npy_array(ByteSpan bytes);

}  // namespace sotto
