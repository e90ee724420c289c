#include "network/safetensors.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"

namespace sotto {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::size_t kAligned = 8;  // the numbers start at a multiple of this

/// Names of our own layers have neither; a name with one would break the header.
bool breaks_json(const std::string& name) {
  return name.find_first_of("\"\\\n") != std::string::npos;
}

Result<std::string> header_of(const Layout& layout) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  for (const TensorSpec& tensor : layout.tensors()) {
    if (breaks_json(tensor.name)) {
      return fail(ErrorKind::kUsage, "the tensor '" + tensor.name + "' cannot be named in a model");
    }
    std::string shape;
    for (const auto extent : tensor.shape) {
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    }
    const std::size_t begin = tensor.offset * sizeof(float);
    header += ",\"" + tensor.name + "\":{\"dtype\":\"F32\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(begin) + "," +
              std::to_string(begin + tensor.size * sizeof(float)) + "]}";
  }
  header += '}';
  header.resize((header.size() + kAligned - 1) / kAligned * kAligned, ' ');
  return header;
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, const Layout& layout,
                               std::span<const float> weights) {
  if (weights.size() != layout.size()) {
    return fail(ErrorKind::kInternal, path.string() + ": these are not the network's weights");
  }
  SOTTO_TRY(const std::string header, header_of(layout));
  const std::uint64_t length = header.size();
  std::vector<std::byte> bytes(sizeof(length) + header.size() + weights.size_bytes());
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::memcpy(bytes.data() + sizeof(length), header.data(), header.size());
  std::memcpy(bytes.data() + sizeof(length) + header.size(), weights.data(), weights.size_bytes());
  return write_file_atomically(path, bytes);
}

}  // namespace sotto
