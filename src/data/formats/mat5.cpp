#include "data/formats/mat5.h"

#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "data/formats/gzip.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::size_t kHeaderBytes = 128;
constexpr std::uint32_t kMatrix = 14;
constexpr std::uint32_t kCompressed = 15;
constexpr std::uint32_t kDoubleClass = 6;
constexpr std::uint32_t kLastNumericClass = 15;
constexpr std::uint32_t kComplexFlag = 0x0800;
constexpr std::size_t kMostDimensions = 32;

std::optional<std::size_t> width_of(std::uint32_t type) {
  switch (static_cast<MatType>(type)) {
    case MatType::kInt8:
    case MatType::kUint8:
      return 1;
    case MatType::kInt16:
    case MatType::kUint16:
      return 2;
    case MatType::kInt32:
    case MatType::kUint32:
    case MatType::kFloat:
      return 4;
    case MatType::kDouble:
    case MatType::kInt64:
    case MatType::kUint64:
      return 8;
  }
  return std::nullopt;
}

struct Element {
  std::uint32_t type;
  ByteSpan content;
};

// Takes one element off `rest`: a tag of 8 bytes and its content, or both in 8 bytes when small.
// Content is padded to 8 bytes, except that of a compressed element.
Result<Element> take_element(ByteSpan& rest, std::string_view what) {
  const std::string shown(what);
  if (rest.size() < 8) return corrupt(shown + ": truncated tag");
  const auto first = static_cast<std::uint32_t>(load_little(rest.data(), 4));
  if (first >> 16 != 0) {
    const std::size_t size = first >> 16;
    if (size > 4) return corrupt(shown + ": small element of " + std::to_string(size) + " bytes");
    const Element element{first & 0xffffU, rest.subspan(4, size)};
    rest = rest.subspan(8);
    return element;
  }
  const std::size_t size = load_little(&rest[4], 4);
  rest = rest.subspan(8);
  if (size > rest.size()) {
    return corrupt(shown + ": claims " + std::to_string(size) + " bytes, but only " +
                   std::to_string(rest.size()) + " follow");
  }
  const Element element{first, rest.first(size)};
  const std::size_t padded = first == kCompressed ? size : (size + 7) / 8 * 8;
  if (padded > rest.size()) return corrupt(shown + ": truncated padding");
  rest = rest.subspan(padded);
  return element;
}

Result<std::vector<std::uint64_t>> parse_dimensions(const Element& element) {
  const std::size_t count = element.content.size() / 4;
  if (element.type != static_cast<std::uint32_t>(MatType::kInt32) ||
      element.content.size() % 4 != 0 || count < 2 || count > kMostDimensions) {
    return corrupt("malformed dimensions");
  }
  std::vector<std::uint64_t> dimensions;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t dimension = load_little(&element.content[4 * i], 4);
    if (dimension >> 31 != 0) return corrupt("negative dimension");
    dimensions.push_back(dimension);
  }
  return dimensions;
}

// The body of a miMATRIX element; nothing when it is not a real numeric array.
Result<std::optional<MatArray>> parse_matrix(ByteSpan body) {
  if (body.empty()) return std::nullopt;  // what MATLAB writes for an empty cell
  SOTTO_TRY(const Element flags, take_element(body, "array flags"));
  if (flags.content.size() != 8) return corrupt("malformed array flags");
  const auto flag_word = static_cast<std::uint32_t>(load_little(flags.content.data(), 4));
  const std::uint32_t array_class = flag_word & 0xffU;
  if (array_class < kDoubleClass || array_class > kLastNumericClass) return std::nullopt;

  MatArray array;
  SOTTO_TRY(const Element dimensions, take_element(body, "dimensions"));
  SOTTO_TRY(const Element name, take_element(body, "name"));
  array.name = as_text(name.content);
  const std::string shown = "array '" + printable(array.name) + "'";
  auto parsed = parse_dimensions(dimensions);
  if (!parsed) return at(shown, parsed.error());
  array.dimensions = std::move(*parsed);
  if ((flag_word & kComplexFlag) != 0) return corrupt(shown + ": complex numbers");

  SOTTO_TRY(const Element real, take_element(body, shown));
  const auto width = width_of(real.type);
  if (!width) return corrupt(shown + ": elements of type " + std::to_string(real.type));
  const auto count = product_within(kMostDataBytes / *width, array.dimensions);
  if (!count || *count * *width != real.content.size()) {
    return corrupt(shown + ": dimensions " + shape_text(array.dimensions) + " of " +
                   std::to_string(*width) + "-byte elements do not fit the " +
                   std::to_string(real.content.size()) + " bytes stored");
  }
  if (!body.empty()) return corrupt(shown + ": bytes after the elements");
  array.type = static_cast<MatType>(real.type);
  array.elements.assign(real.content.begin(), real.content.end());
  return array;
}

// What compressed elements may still unpack to, of a file of so many bytes.
struct Unpacking {
  std::size_t packed = 0;
  std::size_t left = 0;
};

// Unpacks a compressed element, whose content is one whole element with its tag. `limit` is what is
// left of the bytes that all elements of the file may unpack to.
Result<std::vector<std::byte>> unpack_element(ByteSpan packed, const Unpacking& limit) {
  SOTTO_TRY(const auto tag, inflate_start(packed, 8));
  const std::size_t size = 8 + load_little(&tag[4], 4);
  if (load_little(tag.data(), 4) != kMatrix) return corrupt("compressed element is not an array");
  if (size > limit.left) return corrupt(refuse_unpacking(limit.packed));
  return inflate_exactly(packed, size);
}

Result<std::optional<MatArray>> parse_top_level(const Element& element, Unpacking& limit) {
  if (element.type == kMatrix) return parse_matrix(element.content);
  if (element.type != kCompressed) return std::nullopt;
  SOTTO_TRY(const auto unpacked, unpack_element(element.content, limit));
  limit.left -= unpacked.size();
  ByteSpan rest(unpacked);
  SOTTO_TRY(const Element inner, take_element(rest, "compressed element"));
  return parse_matrix(inner.content);
}

}  // namespace

std::size_t MatArray::size() const {
  return elements.size() / *width_of(static_cast<std::uint32_t>(type));
}

double MatArray::value(std::size_t i) const {
  const auto width = static_cast<unsigned>(*width_of(static_cast<std::uint32_t>(type)));
  const std::uint64_t bits = load_little(&elements[i * width], width);
  switch (type) {
    case MatType::kInt8:
      return static_cast<std::int8_t>(bits);
    case MatType::kInt16:
      return static_cast<std::int16_t>(bits);
    case MatType::kInt32:
      return static_cast<std::int32_t>(bits);
    case MatType::kInt64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case MatType::kFloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case MatType::kDouble:
      return std::bit_cast<double>(bits);
    case MatType::kUint8:
    case MatType::kUint16:
    case MatType::kUint32:
    case MatType::kUint64:
      break;
  }
  return static_cast<double>(bits);
}

Result<std::vector<MatArray>> parse_mat5(ByteSpan bytes) {
  if (bytes.size() < kHeaderBytes) {
    return corrupt("truncated: " + std::to_string(bytes.size()) +
                   " bytes, a MATLAB header has 128");
  }
  const std::string_view order = as_text(bytes.subspan(126, 2));
  if (order == "MI") return corrupt("big-endian MATLAB file; save it on a little-endian machine");
  if (order != "IM" || load_little(&bytes[124], 2) != 0x0100) {
    return corrupt("not a MATLAB level 5 file (save with -v7 or older, not -v7.3)");
  }
  std::vector<MatArray> arrays;
  Unpacking limit{bytes.size(), most_unpacked(bytes.size())};
  ByteSpan rest = bytes.subspan(kHeaderBytes);
  while (!rest.empty()) {
    const std::string place = "byte " + std::to_string(bytes.size() - rest.size());
    auto element = take_element(rest, "element");
    if (!element) return at(place, element.error());
    auto array = parse_top_level(*element, limit);
    if (!array) return at(place, array.error());
    if (array->has_value()) arrays.push_back(std::move(**array));
  }
  return arrays;
}

}  // namespace sotto
