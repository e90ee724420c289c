// SVHN "cropped digits": a MATLAB file with X (32 x 32 x 3 x N bytes) and y (N x 1).
#include <algorithm>
#include <string>

#include "data/formats/bytes.h"
#include "data/formats/mat5.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::int32_t kClasses = 10;

Result<const MatArray*> find_array(const std::vector<MatArray>& arrays, std::string_view name) {
  std::string found;
  for (const MatArray& array : arrays) {
    if (array.name == name) return &array;
    found += (found.empty() ? "" : ", ") + printable(array.name);
  }
  return corrupt("no array '" + std::string(name) +
                 "'; found: " + (found.empty() ? "none" : found));
}

// MATLAB keeps columns together: element (row, column, channel, sample) lies at
// row + height * (column + width * (channel + channels * sample)).
std::vector<std::uint8_t> to_rows(const MatArray& x, const SampleShape& shape) {
  const auto from = as_numbers(x.elements);
  std::vector<std::uint8_t> to(from.size());
  const std::size_t plane = std::size_t{shape.height} * shape.width;
  for (std::size_t first = 0; first < from.size(); first += plane) {
    for (std::size_t row = 0; row < shape.height; ++row) {
      for (std::size_t column = 0; column < shape.width; ++column) {
        to[first + row * shape.width + column] = from[first + column * shape.height + row];
      }
    }
  }
  return to;
}

}  // namespace

Result<Dataset> parse_svhn(ByteSpan bytes) {
  SOTTO_TRY(const auto arrays, parse_mat5(bytes));
  SOTTO_TRY(const MatArray* const x, find_array(arrays, "X"));
  SOTTO_TRY(const MatArray* const y, find_array(arrays, "y"));
  // MATLAB drops a last dimension of 1.
  std::vector<std::uint64_t> dimensions = x->dimensions;
  if (dimensions.size() == 3) dimensions.push_back(1);
  const bool bytes_of_colour =
      dimensions.size() == 4 && dimensions[2] == 3 && x->type == MatType::kUint8;
  if (!bytes_of_colour || x->elements.empty()) {
    return corrupt("array 'X' is " + shape_text(x->dimensions) +
                   ", expected height x width x 3 x N bytes");
  }
  const std::uint64_t count = dimensions[3];
  if (y->size() != count) {
    return corrupt("array 'y' has " + std::to_string(y->size()) + " labels, but X has " +
                   std::to_string(count) + " images");
  }
  Dataset data;
  data.shape = {3, static_cast<std::uint32_t>(dimensions[0]),
                static_cast<std::uint32_t>(dimensions[1])};
  data.values = to_rows(*x, data.shape);
  data.classes = kClasses;
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = to_label(y->value(i));
    if (!label || *label > kClasses) {
      return corrupt("array 'y', element " + std::to_string(i) +
                     ": label is not a whole number from 0 to 10");
    }
    data.labels.push_back(*label % kClasses);  // 10 stands for the digit 0
  }
  return data;
}

Result<Dataset> read_svhn(const std::filesystem::path& file) {
  return parse_packed_file(file, parse_svhn);
}

}  // namespace sotto
