// DEFLATE data in its wrappings, by zlib. Nothing here trusts a size that the stream claims: output
// is bounded by the caller's limit and by what DEFLATE can possibly produce from the bytes given.
//
// gzip does not go through libarchive as tar and zip do: libarchive 3.6 checks neither the checksum
// nor the length at a member's end, and reads over garbage behind it. Of all changes of one bit in
// a file of 296 bytes it takes 1,960 of 2,368 for data, where zlib takes the 52 in bits that mean
// nothing here (time, system, padding). It has no reader for the bare zlib streams of .mat files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "data/formats/bytes.h"
#include "sotto/result.h"

namespace sotto {

/// DEFLATE never expands a byte to more than this many.
inline constexpr std::size_t kMostInflation = 1032;
/// What so many bytes of DEFLATE can possibly become.
std::size_t most_inflated(std::size_t packed);

/// What data of so many packed bytes may unpack to. Pictures, tables and archives of them stay far
/// below a hundredfold; a bomb of megabytes that becomes gigabytes does not.
std::size_t most_unpacked(std::size_t packed);
/// "...: more than 100 times its size"
std::string refuse_unpacking(std::size_t packed);

/// Unpacks a zlib stream that must yield exactly `size` bytes and then end with its input.
Result<std::vector<std::byte>> inflate_exactly(ByteSpan packed, std::size_t size);

/// The first `size` bytes of a zlib stream, to learn what it claims before unpacking it whole.
Result<std::vector<std::byte>> inflate_start(ByteSpan packed, std::size_t size);

bool is_gzip(ByteSpan bytes);

/// Unpacks one gzip member or several in a row; checksums, lengths and the end are checked.
Result<std::vector<std::byte>> gunzip(ByteSpan packed, std::size_t limit);

/// The file's content, unpacked when it is gzip. The error names the file.
Result<std::vector<std::byte>> read_unpacked(const std::filesystem::path& file, std::size_t limit);

}  // namespace sotto
