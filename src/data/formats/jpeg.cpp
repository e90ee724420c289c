// JPEG through libjpeg-turbo. Its errors leave by longjmp, so every function that calls setjmp
// holds only plain pointers and numbers; what owns memory lives in the caller.
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "data/formats/image.h"

// jpeglib.h needs size_t and FILE declared before it.
#include <jpeglib.h>

namespace sotto {
namespace {

// One byte of JPEG gives at most 1,229 samples in Huffman coding (ten 8x8 blocks of one bit each
// make 16x32 colour pixels); arithmetic coding can do better, but not on pictures.
constexpr std::uint64_t kMostJpegRatio = 2048;
// A progressive file can ask for any number of passes over the whole image.
constexpr int kMostScans = 200;

struct JpegJob {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];

  JpegJob() : info{}, errors{}, progress{}, message{} {}
  JpegJob(const JpegJob&) = delete;
  JpegJob& operator=(const JpegJob&) = delete;
  ~JpegJob() { jpeg_destroy_decompress(&info); }  // does nothing before jpeg_create_decompress
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* const job = static_cast<JpegJob*>(info->client_data);
  job->errors.format_message(info, job->message);
  std::longjmp(job->back, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level < 0) leave(info);  // a warning: the data is damaged
}

void on_progress(j_common_ptr info) {
  auto* const job = static_cast<JpegJob*>(info->client_data);
  if (job->info.input_scan_number <= kMostScans) return;
  std::snprintf(job->message, sizeof job->message, "more than %d scans", kMostScans);
  std::longjmp(job->back, 1);
}

bool open(JpegJob& job, ByteSpan file) {
  job.info.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = leave;
  job.errors.emit_message = on_message;
  job.info.client_data = &job;
  if (setjmp(job.back) != 0) return false;
  jpeg_create_decompress(&job.info);
  job.progress.progress_monitor = on_progress;
  job.info.progress = &job.progress;
  jpeg_mem_src(&job.info, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&job.info, TRUE);
  return true;
}

// `pixels` takes one row after the other, channels interleaved.
bool read_rows(JpegJob& job, J_COLOR_SPACE colours, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(job.back) != 0) return false;
  job.info.out_color_space = colours;
  jpeg_start_decompress(&job.info);
  while (job.info.output_scanline < job.info.output_height) {
    JSAMPROW row = pixels + job.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&job.info, &row, 1);
  }
  jpeg_finish_decompress(&job.info);
  return true;
}

Result<SampleShape> open_checked(JpegJob& job, ByteSpan file) {
  if (!open(job, file)) return corrupt("broken JPEG: " + printable(job.message));
  const int components = job.info.num_components;
  if (components != 1 && components != 3) {
    return corrupt("JPEG with " + std::to_string(components) +
                   " components; only grey (1) and colour (3) are read");
  }
  const std::uint64_t width = job.info.image_width;
  const std::uint64_t height = job.info.image_height;
  const auto channels = static_cast<std::uint32_t>(components);
  SOTTO_CHECK(
      check_image_size(width, height, width * height * channels, file.size(), kMostJpegRatio));
  return SampleShape{channels, job.info.image_height, job.info.image_width};
}

}  // namespace

Result<SampleShape> jpeg_shape(ByteSpan file) {
  JpegJob job;
  return open_checked(job, file);
}

Result<void> decode_jpeg(ByteSpan file, const SampleShape& want, std::span<std::uint8_t> out) {
  JpegJob job;
  SOTTO_TRY(const SampleShape found, open_checked(job, file));
  SOTTO_CHECK(check_image_shape(found, want, out.size()));
  const std::size_t plane = std::size_t{want.height} * want.width;
  std::vector<std::uint8_t> interleaved(want.channels == 1 ? 0 : want.size());
  std::uint8_t* const pixels = want.channels == 1 ? out.data() : interleaved.data();
  if (!read_rows(job, want.channels == 1 ? JCS_GRAYSCALE : JCS_RGB, pixels,
                 std::size_t{want.width} * want.channels)) {
    return corrupt("broken JPEG: " + printable(job.message));
  }
  for (std::size_t i = 0; i < interleaved.size() / 3; ++i) {
    for (std::size_t c = 0; c < 3; ++c) out[c * plane + i] = interleaved[3 * i + c];
  }
  return {};
}

}  // namespace sotto
