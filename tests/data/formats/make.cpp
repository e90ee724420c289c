#include "data/formats/make.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

// jpeglib.h needs size_t and FILE declared before it.
#include <jpeglib.h>
#include <png.h>

namespace sotto::make {
namespace {

constexpr std::size_t kBlock = 512;

void pad(Bytes& out, std::size_t unit) {
  while (out.size() % unit != 0) out.push_back(std::byte{0});
}

Bytes deflate_with(ByteSpan content, int window) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, content.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void put_octal(Bytes& header, std::size_t offset, std::size_t size, std::uint64_t value) {
  std::string digits(size - 1, '0');
  for (std::size_t i = size - 1; i-- > 0; value /= 8)
    digits[i] = static_cast<char>('0' + value % 8);
  std::transform(digits.begin(), digits.end(), header.begin() + static_cast<std::ptrdiff_t>(offset),
                 [](char c) { return static_cast<std::byte>(c); });
}

std::uint8_t gradient(unsigned c, unsigned y, unsigned x) {
  return static_cast<std::uint8_t>(40 * c + 9 * y + 5 * x);
}

}  // namespace

void put(Bytes& out, std::string_view text) { put(out, std::as_bytes(std::span(text))); }
void put(Bytes& out, ByteSpan bytes) {
  for (const std::byte b : bytes) out.push_back(b);
}
void put_big(Bytes& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void put_little(Bytes& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

Bytes bytes_of(std::string_view text) {
  Bytes out;
  put(out, text);
  return out;
}

Bytes from_hex(std::string_view digits) {
  Bytes out;
  std::string pair;
  for (const char c : digits) {
    if (c == ' ' || c == '\n') continue;
    pair += c;
    if (pair.size() < 2) continue;
    out.push_back(static_cast<std::byte>(std::stoi(pair, nullptr, 16)));
    pair.clear();
  }
  return out;
}

Bytes counting(std::size_t size) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i);
  return out;
}

Bytes gzip(ByteSpan content) { return deflate_with(content, 15 + 16); }
Bytes zlib(ByteSpan content) { return deflate_with(content, 15); }

Bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& dimensions, ByteSpan elements) {
  Bytes out;
  put_big(out, magic, 4);
  for (const std::uint32_t dimension : dimensions) put_big(out, dimension, 4);
  put(out, elements);
  return out;
}

Bytes cifar_record(std::uint8_t label) {
  Bytes out(1 + 3072);
  for (std::size_t i = 0; i < 3072; ++i) out[1 + i] = static_cast<std::byte>(i);
  out[0] = static_cast<std::byte>(label);
  return out;
}

Bytes tar_header(const TarMember& member) {
  Bytes header(kBlock);
  const Bytes name = bytes_of(member.name.substr(0, 100));
  std::copy(name.begin(), name.end(), header.begin());
  put_octal(header, 100, 8, 0644);
  put_octal(header, 124, 12, member.content.size());
  header[156] = static_cast<std::byte>(member.type);
  const Bytes magic = bytes_of(std::string_view("ustar\00000", 8));
  std::copy(magic.begin(), magic.end(), header.begin() + 257);
  std::fill_n(header.begin() + 148, 8, std::byte{' '});
  std::uint64_t sum = 0;
  for (const std::byte b : header) sum += std::to_integer<std::uint64_t>(b);
  put_octal(header, 148, 7, sum);
  return header;
}

Bytes tar(const std::vector<TarMember>& members) {
  Bytes out;
  for (const TarMember& member : members) {
    put(out, tar_header(member));
    put(out, member.content);
    pad(out, kBlock);
  }
  out.resize(out.size() + 2 * kBlock);
  return out;
}

Bytes zip(const std::vector<ZipMember>& members) {
  Bytes out;
  Bytes directory;
  for (const ZipMember& member : members) {
    const Bytes packed = member.deflate ? deflate_with(member.content, -15) : member.content;
    Bytes common;  // what local header and directory have alike
    put_little(common, 20, 2);
    put_little(common, 0, 2);
    put_little(common, member.deflate ? 8 : 0, 2);
    put_little(common, 0, 4);
    put_little(
        common,
        crc32_z(0, reinterpret_cast<const Bytef*>(member.content.data()), member.content.size()),
        4);
    put_little(common, packed.size(), 4);
    put_little(common, member.content.size(), 4);
    put_little(common, member.name.size(), 2);
    put_little(common, 0, 2);

    put_little(directory, 0x02014b50, 4);
    put_little(directory, 20, 2);
    put(directory, common);
    put_little(directory, 0, 2 + 2 + 2);
    put_little(directory, 0, 4);
    put_little(directory, out.size(), 4);
    put(directory, member.name);

    put_little(out, 0x04034b50, 4);
    put(out, common);
    put(out, member.name);
    put(out, packed);
  }
  const std::size_t offset = out.size();
  put(out, directory);
  put_little(out, 0x06054b50, 4);
  put_little(out, 0, 4);
  put_little(out, members.size(), 2);
  put_little(out, members.size(), 2);
  put_little(out, directory.size(), 4);
  put_little(out, offset, 4);
  put_little(out, 0, 2);
  return out;
}

Bytes npy(std::string_view descr, std::string_view shape, ByteSpan elements,
          std::string_view fortran_order) {
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': " + std::string(fortran_order) +
                       ", 'shape': " + std::string(shape) + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  Bytes out = bytes_of("\x93NUMPY");
  put_little(out, 1, 2);
  put_little(out, header.size(), 2);
  put(out, header);
  put(out, elements);
  return out;
}

Bytes mat_header() {
  std::string text = "MATLAB 5.0 MAT-file";
  text.resize(116, ' ');
  Bytes out = bytes_of(text);
  put_little(out, 0, 8);
  put_little(out, 0x0100, 2);
  put(out, "IM");
  return out;
}

Bytes mat_element(std::uint32_t type, ByteSpan content) {
  Bytes out;
  put_little(out, type, 4);
  put_little(out, content.size(), 4);
  put(out, content);
  if (type != 15) pad(out, 8);
  return out;
}

Bytes mat_array(std::string_view name, std::uint32_t array_class,
                const std::vector<std::uint32_t>& dimensions, std::uint32_t type,
                ByteSpan elements) {
  Bytes flags;
  put_little(flags, array_class, 8);
  Bytes sizes;
  for (const std::uint32_t dimension : dimensions) put_little(sizes, dimension, 4);
  Bytes body = mat_element(6, flags);
  put(body, mat_element(5, sizes));
  // A name of up to four characters goes into a small element, as MATLAB writes it.
  if (name.size() <= 4) {
    put_little(body, name.size() << 16 | 1, 4);
    put(body, name);
    pad(body, 8);
  } else {
    put(body, mat_element(1, bytes_of(name)));
  }
  put(body, mat_element(type, elements));
  return mat_element(14, body);
}

Bytes svhn(const std::vector<std::uint8_t>& labels, bool compressed) {
  const auto count = static_cast<std::uint32_t>(labels.size());
  const Bytes x = mat_array("X", 9, {2, 3, 3, count}, 2, counting(std::size_t{18} * count));
  Bytes label_bytes;
  for (const std::uint8_t label : labels) label_bytes.push_back(static_cast<std::byte>(label));
  const Bytes y = mat_array("y", 6, {count, 1}, 2, label_bytes);
  Bytes out = mat_header();
  put(out, compressed ? mat_element(15, zlib(x)) : x);
  put(out, compressed ? mat_element(15, zlib(y)) : y);
  return out;
}

Bytes jpeg(unsigned width, unsigned height, unsigned channels, const Pixel& pixel,
           bool progressive) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = static_cast<int>(channels);
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> row(std::size_t{width} * channels);
  for (unsigned y = 0; y < height; ++y) {
    for (unsigned i = 0; i < row.size(); ++i) row[i] = pixel(i % channels, y, i / channels);
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&info, &rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes out;
  put(out, std::as_bytes(std::span(buffer, size)));
  std::free(buffer);
  return out;
}

Bytes png(unsigned width, unsigned height, unsigned channels, const Pixel& pixel) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  std::vector<unsigned char> pixels(std::size_t{width} * height * channels);
  for (unsigned i = 0; i < pixels.size(); ++i) {
    pixels[i] = pixel(i % channels, i / channels / width, i / channels % width);
  }
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr);
  Bytes out(size);
  png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr);
  out.resize(size);
  return out;
}

Bytes sample_jpeg(unsigned side, unsigned channels) { return jpeg(side, side, channels, gradient); }
Bytes sample_png(unsigned side, unsigned channels) { return png(side, side, channels, gradient); }

std::string leaf() {
  return R"({"users": ["ann", "bob"], "num_samples": [2, 1], "hierarchies": [["a"], null],
    "user_data": {"ann": {"x": [[0.5, 1], [2, -3]], "y": [0, 2]},
                  "bob": {"y": [1.0], "x": [[7, 8.25]], "raw": {"text": "hello"}}}})";
}

}  // namespace sotto::make
