// One NumPy array as numpy.save writes it: a header in Python's notation, then the elements. Read
// from foreign bytes, and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/formats/bytes.h"
#include "sotto/result.h"

namespace sotto {

struct NpyArray {
  char kind = 'u';     // 'i', 'u' or 'f'
  unsigned width = 1;  // bytes of an element
  std::vector<std::uint64_t> shape;
  bool column_major = false;  // the first index runs fastest
  ByteSpan elements;          // within the file's bytes, little-endian

  std::size_t size() const { return elements.size() / width; }
  /// Of the i-th element as stored.
  double value(std::size_t i) const;
};

/// Refuses what is no plain numeric array: structures, objects, texts, column-major order,
/// big-endian elements; the message says how to save it instead.
Result<NpyArray> parse_npy_array(ByteSpan bytes);
/// The same, but column-major order is taken as well.
Result<NpyArray> parse_npy_array_any_order(ByteSpan bytes);

/// All values row by row, whatever the order of the file.
std::vector<double> values_row_by_row(const NpyArray& array);

/// A file with these elements (little-endian, row by row): `kind` and `width` as in NpyArray.
std::vector<std::byte> npy_file(char kind, unsigned width, std::span<const std::uint64_t> shape,
                                ByteSpan elements);

}  // namespace sotto
