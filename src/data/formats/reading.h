// What the readers of whole files share: errors for what the standard library throws, labels, and
// work on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <span>
#include <string>

#include "base/file.h"
#include "data/formats/bytes.h"
#include "data/formats/gzip.h"
#include "data/readers.h"
#include "sotto/data.h"
#include "sotto/result.h"

namespace sotto {

/// Runs `read` and turns what it may throw into an Error with the file in front.
template <class Read>
auto guarded(const std::filesystem::path& file, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kIo, file.string() + ": not enough memory to read it");
  } catch (const std::exception& problem) {
    return fail(ErrorKind::kInternal, file.string() + ": " + problem.what());
  }
}

/// Hands the bytes that `read` has of the file to `parse`. Every error names the file.
template <class Read, class Parse>
auto parse_read(const std::filesystem::path& file, Read read, Parse parse)
    -> decltype(parse(ByteSpan())) {
  return guarded(file, [&]() -> decltype(parse(ByteSpan())) {
    SOTTO_TRY(const auto bytes, read(file, kMostDataBytes));
    auto result = parse(ByteSpan(bytes));
    if (!result) return at(file.string(), result.error());
    return result;
  });
}

/// Hands the file's bytes, unpacked where they are gzip, to `parse`.
template <class Parse>
auto parse_file(const std::filesystem::path& file, Parse parse) -> decltype(parse(ByteSpan())) {
  return parse_read(file, read_unpacked, parse);
}

/// For formats that are packed by themselves: packed twice they could grow by a hundred times a
/// hundred.
template <class Parse>
auto parse_packed_file(const std::filesystem::path& file, Parse parse)
    -> decltype(parse(ByteSpan())) {
  return parse_read(file, read_file, parse);
}

/// Samples with channels last (as IDX and NumPy keep them) to channels first.
template <class T>
void channels_first(std::span<const T> from, const SampleShape& shape, std::span<T> to) {
  const std::size_t plane = std::size_t{shape.height} * shape.width;
  for (std::size_t first = 0; first < from.size(); first += shape.size()) {
    for (std::size_t i = 0; i < plane; ++i) {
      for (std::size_t c = 0; c < shape.channels; ++c) {
        to[first + c * plane + i] = from[first + i * shape.channels + c];
      }
    }
  }
}

/// A label as a file has it, checked to be a whole number in [0, kMostClasses).
Result<std::int32_t> to_label(double value);

/// One more than the largest label; 0 without labels.
std::int32_t count_classes(std::span<const std::int32_t> labels);

/// Calls `work` for 0 .. count - 1 on all cores. When several fail, the error is that of the
/// smallest index, whatever the threads did first.
Result<void> for_each_in_parallel(std::size_t count,
                                  const std::function<Result<void>(std::size_t)>& work);

}  // namespace sotto
