// PNG through libpng, under the same rule as jpeg.cpp: a function that calls setjmp owns nothing.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include "data/formats/gzip.h"
#include "data/formats/image.h"

namespace sotto {
namespace {

constexpr png_alloc_size_t kMostChunkBytes = png_alloc_size_t{1} << 23;

struct PngJob {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ByteSpan rest;
  std::jmp_buf back;
  char message[128] = {};

  explicit PngJob(ByteSpan file) : rest(file) {}
  PngJob(const PngJob&) = delete;
  PngJob& operator=(const PngJob&) = delete;
  ~PngJob() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* const job = static_cast<PngJob*>(png_get_error_ptr(png));
  std::strncpy(job->message, message, sizeof job->message - 1);
  std::longjmp(job->back, 1);
}

// Warnings are about colour profiles and other optional chunks; damage is an error in libpng.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, std::size_t size) {
  auto* const job = static_cast<PngJob*>(png_get_io_ptr(png));
  if (size > job->rest.size()) png_error(png, "premature end of file");
  std::memcpy(out, job->rest.data(), size);
  job->rest = job->rest.subspan(size);
}

bool open(PngJob& job) {
  if (setjmp(job.back) != 0) return false;
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  if (job.png == nullptr) return false;
  job.info = png_create_info_struct(job.png);
  if (job.info == nullptr) return false;
  png_set_read_fn(job.png, &job, on_read);
  png_set_user_limits(job.png, kMostSide, kMostSide);
  png_set_chunk_malloc_max(job.png, kMostChunkBytes);
  png_set_crc_action(job.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(job.png, job.info);
  return true;
}

// Everything becomes 8 bits of grey or red, green, blue. False too when libpng would write rows of
// another length than the caller made room for.
bool read_rows(PngJob& job, bool to_colour, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(job.back) != 0) return false;
  png_set_palette_to_rgb(job.png);
  png_set_expand_gray_1_2_4_to_8(job.png);
  png_set_scale_16(job.png);
  png_set_strip_alpha(job.png);
  if (to_colour) png_set_gray_to_rgb(job.png);
  const int passes = png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.info);
  if (png_get_rowbytes(job.png, job.info) != row_bytes) png_error(job.png, "odd row length");
  const png_uint_32 height = png_get_image_height(job.png, job.info);
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) {
      png_read_row(job.png, pixels + y * row_bytes, nullptr);
    }
  }
  png_read_end(job.png, nullptr);
  return true;
}

Result<SampleShape> open_checked(PngJob& job, std::size_t file_bytes) {
  if (!open(job)) return corrupt("broken PNG: " + printable(job.message));
  const std::uint32_t width = png_get_image_width(job.png, job.info);
  const std::uint32_t height = png_get_image_height(job.png, job.info);
  const bool colour = (png_get_color_type(job.png, job.info) & PNG_COLOR_MASK_COLOR) != 0;
  const std::uint64_t raw = png_get_rowbytes(job.png, job.info) * std::uint64_t{height};
  SOTTO_CHECK(check_image_size(width, height, raw, file_bytes, kMostInflation));
  return SampleShape{colour ? 3U : 1U, height, width};
}

}  // namespace

Result<SampleShape> png_shape(ByteSpan file) {
  PngJob job(file);
  return open_checked(job, file.size());
}

Result<void> decode_png(ByteSpan file, const SampleShape& want, std::span<std::uint8_t> out) {
  PngJob job(file);
  SOTTO_TRY(const SampleShape found, open_checked(job, file.size()));
  SOTTO_CHECK(check_image_shape(found, want, out.size()));
  const std::size_t plane = std::size_t{want.height} * want.width;
  std::vector<std::uint8_t> interleaved(want.size());
  if (!read_rows(job, found.channels < want.channels, interleaved.data(),
                 std::size_t{want.width} * want.channels)) {
    return corrupt("broken PNG: " + printable(job.message));
  }
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < want.channels; ++c) {
      out[c * plane + i] = interleaved[want.channels * i + c];
    }
  }
  return {};
}

}  // namespace sotto
