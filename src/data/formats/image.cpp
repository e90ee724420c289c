#include "data/formats/image.h"

#include <string>

namespace sotto {
namespace {

enum class ImageFormat { kJpeg, kPng };

Result<ImageFormat> format_of(ByteSpan file) {
  if (file.size() >= 3 && load_big(file.data(), 3) == 0xffd8ff) return ImageFormat::kJpeg;
  if (file.size() >= 8 && load_big(file.data(), 8) == 0x89504e470d0a1a0a) return ImageFormat::kPng;
  return corrupt("neither JPEG nor PNG");
}

std::string size_text(const SampleShape& shape) {
  return std::to_string(shape.width) + "x" + std::to_string(shape.height) +
         (shape.channels == 1 ? " grey" : " colour");
}

}  // namespace

Result<void> check_image_size(std::uint64_t width, std::uint64_t height, std::uint64_t raw_bytes,
                              std::size_t file_bytes, std::uint64_t most_ratio) {
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  if (width == 0 || height == 0) return corrupt("image of size " + size);
  if (width > kMostSide || height > kMostSide || width * height > kMostPixels) {
    return corrupt("image of size " + size + ", more than " + std::to_string(kMostSide) +
                   " a side or " + std::to_string(kMostPixels) + " pixels");
  }
  if (raw_bytes / most_ratio > file_bytes) {
    return corrupt("claims " + size + " pixels, which " + std::to_string(file_bytes) +
                   " bytes cannot hold");
  }
  return {};
}

Result<void> check_image_shape(const SampleShape& found, const SampleShape& want,
                               std::size_t out_bytes) {
  const bool fits =
      found.height == want.height && found.width == want.width &&
      (found.channels == want.channels || (found.channels == 1 && want.channels == 3));
  if (!fits) return corrupt("is " + size_text(found) + ", expected " + size_text(want));
  if (out_bytes != want.size()) return fail(ErrorKind::kInternal, "image buffer of the wrong size");
  return {};
}

Result<SampleShape> image_shape(ByteSpan file) {
  SOTTO_TRY(const ImageFormat format, format_of(file));
  return format == ImageFormat::kJpeg ? jpeg_shape(file) : png_shape(file);
}

Result<void> decode_image(ByteSpan file, const SampleShape& want, std::span<std::uint8_t> out) {
  SOTTO_TRY(const ImageFormat format, format_of(file));
  return format == ImageFormat::kJpeg ? decode_jpeg(file, want, out) : decode_png(file, want, out);
}

}  // namespace sotto
