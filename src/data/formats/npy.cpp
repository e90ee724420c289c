#include "data/formats/npy.h"

#include <bit>
#include <charconv>
#include <string>
#include <string_view>

#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 32;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and nothing beyond that.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Result<Header> parse() {
    Header header;
    unsigned seen = 0;
    if (!take("{")) return bad("'{'");
    while (!take("}")) {
      SOTTO_TRY(const std::string key, string());
      if (!take(":")) return bad("':'");
      unsigned bit = 0;
      if (key == "descr") {
        bit = 1;
        SOTTO_TRY(header.descr, string());
      } else if (key == "fortran_order") {
        bit = 2;
        header.fortran_order = take("True");
        if (!header.fortran_order && !take("False")) return bad("True or False");
      } else if (key == "shape") {
        bit = 4;
        SOTTO_TRY(header.shape, tuple());
      }
      if (bit == 0 || (seen & bit) != 0) {
        return corrupt("NPY header: unexpected key '" + printable(key) + "'");
      }
      seen |= bit;
      if (!take(",") && !rest_.starts_with('}')) return bad("',' or '}'");
    }
    skip_space();
    if (!rest_.empty()) return bad("the end");
    if (seen != 7) return corrupt("NPY header: needs descr, fortran_order and shape");
    return header;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip_space();
    return true;
  }
  tl::unexpected<Error> bad(const std::string& expected) const {
    return corrupt("NPY header: expected " + expected + " before '" +
                   printable(rest_.substr(0, 20)) + "'");
  }
  Result<std::string> string() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
      return bad("a text (a plain dtype, not a structure)");
    }
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return bad("a closed text");
    std::string value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }
  Result<std::vector<std::uint64_t>> tuple() {
    std::vector<std::uint64_t> values;
    if (!take("(")) return bad("'('");
    while (!take(")")) {
      std::uint64_t value = 0;
      const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (parsed.ec != std::errc{}) return bad("a dimension");
      rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
      values.push_back(value);
      if (values.size() > kMostDimensions) return corrupt("NPY header: more than 32 dimensions");
      if (!take(",") && !rest_.starts_with(')')) return bad("',' or ')'");
    }
    return values;
  }

  std::string_view rest_;
};

// "<f4": byte order, kind, width.
Result<void> apply_descr(const std::string& descr, NpyArray& array) {
  const std::string shown = "dtype '" + printable(descr) + "'";
  if (descr.size() != 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    return corrupt(shown + " is not a plain number type");
  }
  array.kind = descr[1];
  array.width = static_cast<unsigned>(descr[2] - '0');
  const bool integer =
      (array.kind == 'i' || array.kind == 'u') &&
      (array.width == 1 || array.width == 2 || array.width == 4 || array.width == 8);
  const bool real = array.kind == 'f' && (array.width == 4 || array.width == 8);
  if (!integer && !real) {
    return corrupt(shown + " is not one of int8 to int64, uint8 to uint64, float32, float64");
  }
  if (descr[0] == '>' && array.width > 1) {
    return corrupt(shown + " is big-endian; save it with .astype('<" + descr.substr(1) + "')");
  }
  return {};
}

}  // namespace

double NpyArray::value(std::size_t i) const {
  const std::uint64_t bits = load_little(&elements[i * width], width);
  if (kind == 'f') {
    return width == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                      : std::bit_cast<double>(bits);
  }
  if (kind == 'u') return static_cast<double>(bits);
  const unsigned unused = 64 - 8 * width;
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

Result<NpyArray> parse_npy_array_any_order(ByteSpan bytes) {
  if (bytes.size() < 10 || !as_text(bytes).starts_with(kMagic)) {
    return corrupt("not an NPY file: wrong magic");
  }
  const unsigned version = std::to_integer<unsigned>(bytes[6]);
  if (version < 1 || version > 3) {
    return corrupt("NPY version " + std::to_string(version) + ", expected 1 to 3");
  }
  const unsigned length_bytes = version == 1 ? 2 : 4;
  const std::size_t start = 8 + length_bytes;
  if (bytes.size() < start) return corrupt("truncated NPY header");
  const std::uint64_t length = load_little(&bytes[8], length_bytes);
  if (length > bytes.size() - start) {
    return corrupt("NPY header of " + std::to_string(length) + " bytes, but only " +
                   std::to_string(bytes.size() - start) + " follow");
  }
  SOTTO_TRY(const Header header, HeaderParser(as_text(bytes.subspan(start, length))).parse());
  NpyArray array;
  SOTTO_CHECK(apply_descr(header.descr, array));
  array.shape = header.shape;
  array.column_major = header.fortran_order;
  array.elements = bytes.subspan(start + length);
  const auto count = product_within(kMostDataBytes / array.width, array.shape);
  if (!count || *count * array.width != array.elements.size()) {
    return corrupt("shape " + shape_text(array.shape) + " of " + std::to_string(array.width) +
                   "-byte elements does not fit the " + std::to_string(array.elements.size()) +
                   " bytes that follow");
  }
  return array;
}

Result<NpyArray> parse_npy_array(ByteSpan bytes) {
  SOTTO_TRY(NpyArray array, parse_npy_array_any_order(bytes));
  if (array.column_major) {
    return corrupt("column-major array (fortran_order); save numpy.ascontiguousarray(x) instead");
  }
  return array;
}

std::vector<double> values_row_by_row(const NpyArray& array) {
  std::vector<double> values(array.size());
  if (!array.column_major) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = array.value(i);
    return values;
  }
  // Counts through the indices as rows do, the last one fastest, and keeps the place in the file.
  std::vector<std::size_t> strides(array.shape.size());
  std::size_t stride = 1;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    strides[k] = stride;
    stride *= static_cast<std::size_t>(array.shape[k]);
  }
  std::vector<std::uint64_t> index(array.shape.size(), 0);
  std::size_t place = 0;
  for (double& value : values) {
    value = array.value(place);
    for (std::size_t k = index.size(); k-- > 0;) {
      place += strides[k];
      if (++index[k] < array.shape[k]) break;
      place -= strides[k] * static_cast<std::size_t>(array.shape[k]);
      index[k] = 0;
    }
  }
  return values;
}

std::vector<std::byte> npy_file(char kind, unsigned width, std::span<const std::uint64_t> shape,
                                ByteSpan elements) {
  std::string tuple = "(";
  for (const std::uint64_t extent : shape) tuple += std::to_string(extent) + ", ";
  if (shape.size() > 1) tuple.resize(tuple.size() - 2);
  if (shape.size() == 1) tuple.pop_back();  // (3,)
  std::string header = std::string("{'descr': '") + (width == 1 ? '|' : '<') + kind +
                       std::to_string(width) + "', 'fortran_order': False, 'shape': " + tuple +
                       "), }";
  // Elements begin at a multiple of 64 bytes, as the format asks; 32 dimensions stay below 2^16.
  constexpr std::size_t kPrefix = 10;
  header.resize((kPrefix + header.size() + 64) / 64 * 64 - kPrefix - 1, ' ');
  header += '\n';
  std::string head(kMagic);
  head += {1, 0, static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  head += header;
  const ByteSpan start = std::as_bytes(std::span(head));
  std::vector<std::byte> file(start.begin(), start.end());
  file.insert(file.end(), elements.begin(), elements.end());
  return file;
}

}  // namespace sotto
