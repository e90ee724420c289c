// The readers of readers.h over bytes instead of files: total on any input, so that tests and
// fuzzers call them without a disk. Their errors name the place; the caller adds the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/bytes.h"
#include "sotto/data.h"
#include "sotto/result.h"

namespace sotto {

struct IdxImages {
  SampleShape shape;
  std::vector<std::uint8_t> pixels;
};
Result<IdxImages> parse_idx_images(ByteSpan bytes);
Result<std::vector<std::int32_t>> parse_idx_labels(ByteSpan bytes);

/// Appends the records of one batch.
Result<void> parse_cifar(ByteSpan bytes, Dataset& data);

Result<Dataset> parse_svhn(ByteSpan bytes);

/// `archive` is unpacked tar, `packed` its size before; its own if not given.
Result<Dataset> parse_image_tar(ByteSpan archive, const std::string& below = "",
                                std::optional<std::size_t> packed = std::nullopt);

Result<Dataset> parse_csv(std::string_view text);

Result<Dataset> parse_npz(ByteSpan bytes, const std::string& part = "");

/// Appends the users of one LEAF file; `user_ids` carries their numbers from file to file.
Result<void> parse_leaf(std::string_view text, Dataset& data,
                        std::map<std::string, std::uint32_t>& user_ids);

}  // namespace sotto
