// JPEG and PNG files to pixels, channel by channel. A file that its library only warns about (cut
// short, damaged in the middle) is an error here: half an image would train as if it were whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/formats/bytes.h"
#include "sotto/data.h"
#include "sotto/result.h"

namespace sotto {

inline constexpr std::uint32_t kMostSide = 8192;
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 24;

/// What the header says: 1 channel for grey, 3 for colour (transparency is dropped).
Result<SampleShape> image_shape(ByteSpan file);

/// Decodes into `out` (want.size() bytes). Height and width must be those of `want`; a grey image
/// fills three channels alike where `want` has three, a colour image needs three.
Result<void> decode_image(ByteSpan file, const SampleShape& want, std::span<std::uint8_t> out);

// The two formats behind the functions above, which tell them apart by their first bytes.
Result<SampleShape> jpeg_shape(ByteSpan file);
Result<void> decode_jpeg(ByteSpan file, const SampleShape& want, std::span<std::uint8_t> out);
Result<SampleShape> png_shape(ByteSpan file);
Result<void> decode_png(ByteSpan file, const SampleShape& want, std::span<std::uint8_t> out);

/// Refuses sides and areas beyond the limits, and sizes that `file_bytes` cannot hold when a byte
/// of file gives at most `most_ratio` bytes of `raw_bytes`.
Result<void> check_image_size(std::uint64_t width, std::uint64_t height, std::uint64_t raw_bytes,
                              std::size_t file_bytes, std::uint64_t most_ratio);
/// Refuses an image whose shape `found` cannot be decoded as `want`.
Result<void> check_image_shape(const SampleShape& found, const SampleShape& want,
                               std::size_t out_bytes);

}  // namespace sotto
