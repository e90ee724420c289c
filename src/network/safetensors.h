// Models as safetensors, the format of named tensors that holds nothing to execute: 8 bytes of
// length, a JSON header with type, shape and place of each tensor, then the numbers.
#pragma once

#include <filesystem>
#include <span>

#include "sotto/layout.h"
#include "sotto/result.h"

namespace sotto {

/// Writes all tensors of `layout` as float32, atomically.
Result<void> write_safetensors(const std::filesystem::path& path, const Layout& layout,
                               std::span<const float> weights);

}  // namespace sotto
