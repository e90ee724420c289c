// MATLAB level 5 files: full real numeric arrays, compressed or not, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/formats/bytes.h"
#include "sotto/result.h"

namespace sotto {

/// How elements are stored, which for doubles may be a smaller integer type.
enum class MatType : std::uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kFloat = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
};

struct MatArray {
  std::string name;
  std::vector<std::uint64_t> dimensions;
  MatType type = MatType::kUint8;
  std::vector<std::byte> elements;  // column by column, as many as the dimensions say

  std::size_t size() const;
  double value(std::size_t i) const;
};

/// The numeric arrays of the file; cells, structures and texts in it are passed over.
Result<std::vector<MatArray>> parse_mat5(ByteSpan bytes);

}  // namespace sotto
