// IDX, the format of MNIST: a big-endian magic (element type and number of dimensions), the
// dimensions, and nothing but elements up to the end of the file.
#include <string>
#include <utility>
#include <vector>

#include "data/formats/bytes.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::uint32_t kLabelsMagic = 0x00000801;
constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kChannelImagesMagic = 0x00000804;

struct Idx {
  std::vector<std::uint64_t> dimensions;
  ByteSpan elements;
};

Result<std::uint32_t> magic_of(ByteSpan bytes) {
  if (bytes.size() < 4) {
    return corrupt("truncated: " + std::to_string(bytes.size()) + " bytes, no IDX magic");
  }
  return static_cast<std::uint32_t>(load_big(bytes.data(), 4));
}

// The magic has been checked: its last byte is the number of dimensions, its third says bytes.
Result<Idx> parse_idx(ByteSpan bytes, std::uint32_t magic) {
  const std::size_t dimensions = magic & 0xffU;
  const std::size_t header = 4 + 4 * dimensions;
  if (bytes.size() < header) {
    return corrupt("truncated: " + std::to_string(bytes.size()) + " bytes, the IDX header has " +
                   std::to_string(header));
  }
  Idx idx;
  for (std::size_t i = 0; i < dimensions; ++i) {
    idx.dimensions.push_back(load_big(&bytes[4 + 4 * i], 4));
  }
  idx.elements = bytes.subspan(header);
  const auto claimed = product_within(kMostDataBytes, idx.dimensions);
  if (claimed != idx.elements.size()) {
    return corrupt(
        "header says " + shape_text(idx.dimensions) + " = " +
        (claimed ? std::to_string(*claimed) : "more than " + std::to_string(kMostDataBytes)) +
        " bytes, found " + std::to_string(idx.elements.size()));
  }
  if (idx.elements.empty()) return corrupt("holds nothing: " + shape_text(idx.dimensions));
  return idx;
}

}  // namespace

Result<IdxImages> parse_idx_images(ByteSpan bytes) {
  SOTTO_TRY(const std::uint32_t magic, magic_of(bytes));
  if (magic != kImagesMagic && magic != kChannelImagesMagic) {
    return corrupt("wrong magic " + hex32(magic) + ", expected " + hex32(kImagesMagic) +
                   " (images)");
  }
  SOTTO_TRY(const Idx idx, parse_idx(bytes, magic));
  IdxImages images;
  images.shape.height = static_cast<std::uint32_t>(idx.dimensions[1]);
  images.shape.width = static_cast<std::uint32_t>(idx.dimensions[2]);
  const auto elements = as_numbers(idx.elements);
  if (magic == kImagesMagic) {
    images.pixels.assign(elements.begin(), elements.end());
  } else {
    images.shape.channels = static_cast<std::uint32_t>(idx.dimensions[3]);
    images.pixels.resize(elements.size());
    channels_first(elements, images.shape, std::span(images.pixels));
  }
  return images;
}

Result<std::vector<std::int32_t>> parse_idx_labels(ByteSpan bytes) {
  SOTTO_TRY(const std::uint32_t magic, magic_of(bytes));
  if (magic != kLabelsMagic) {
    return corrupt("wrong magic " + hex32(magic) + ", expected " + hex32(kLabelsMagic) +
                   " (labels)");
  }
  SOTTO_TRY(const Idx idx, parse_idx(bytes, magic));
  const auto elements = as_numbers(idx.elements);
  return std::vector<std::int32_t>(elements.begin(), elements.end());
}

Result<Dataset> read_idx(const std::filesystem::path& images, const std::filesystem::path& labels) {
  SOTTO_TRY(IdxImages from_images, parse_file(images, parse_idx_images));
  SOTTO_TRY(auto from_labels, parse_file(labels, parse_idx_labels));
  const std::size_t count = from_images.pixels.size() / from_images.shape.size();
  if (from_labels.size() != count) {
    return corrupt(labels.string() + ": " + std::to_string(from_labels.size()) + " labels, but " +
                   images.string() + " has " + std::to_string(count) + " images");
  }
  Dataset data;
  data.shape = from_images.shape;
  data.values = std::move(from_images.pixels);
  data.labels = std::move(from_labels);
  data.classes = count_classes(data.labels);
  return data;
}

}  // namespace sotto
