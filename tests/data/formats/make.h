// Small files of every format that Sotto reads, written here byte by byte: tests break them, and
// the fuzz targets start from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/bytes.h"

namespace sotto::make {

using Bytes = std::vector<std::byte>;

void put(Bytes& out, std::string_view text);
void put(Bytes& out, ByteSpan bytes);
void put_big(Bytes& out, std::uint64_t value, unsigned bytes);
void put_little(Bytes& out, std::uint64_t value, unsigned bytes);
Bytes bytes_of(std::string_view text);
/// Two hexadecimal digits a byte; blanks are passed over.
Bytes from_hex(std::string_view digits);
/// 0, 1, 2, ... modulo 256
Bytes counting(std::size_t size);

Bytes gzip(ByteSpan content);
Bytes zlib(ByteSpan content);

Bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& dimensions, ByteSpan elements);
/// A record with that label, its pixels counting.
Bytes cifar_record(std::uint8_t label);

struct TarMember {
  std::string name;
  Bytes content;
  char type = '0';
};
Bytes tar_header(const TarMember& member);
/// Entries, padded, and the end mark.
Bytes tar(const std::vector<TarMember>& members);

struct ZipMember {
  std::string name;
  Bytes content;
  bool deflate = false;
};
Bytes zip(const std::vector<ZipMember>& members);

/// `shape` as Python writes it: "(2, 3)".
Bytes npy(std::string_view descr, std::string_view shape, ByteSpan elements,
          std::string_view fortran_order = "False");

Bytes mat_header();
Bytes mat_element(std::uint32_t type, ByteSpan content);
/// An array of class `array_class` whose elements are stored as `type`.
Bytes mat_array(std::string_view name, std::uint32_t array_class,
                const std::vector<std::uint32_t>& dimensions, std::uint32_t type,
                ByteSpan elements);
/// X of 2 rows, 3 columns and `labels.size()` images, and y as bytes; compressed or not.
Bytes svhn(const std::vector<std::uint8_t>& labels, bool compressed);

/// The value of channel c in row y, column x.
using Pixel = std::function<std::uint8_t(unsigned c, unsigned y, unsigned x)>;
Bytes jpeg(unsigned width, unsigned height, unsigned channels, const Pixel& pixel,
           bool progressive = false);
Bytes png(unsigned width, unsigned height, unsigned channels, const Pixel& pixel);
/// A small picture with a gradient.
Bytes sample_jpeg(unsigned side, unsigned channels);
Bytes sample_png(unsigned side, unsigned channels);

/// Two users, three samples of two features.
std::string leaf();

}  // namespace sotto::make
