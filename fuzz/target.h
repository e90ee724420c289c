// What a fuzz target is: a function over bytes that must return. Memory errors and undefined
// behaviour are found by the sanitizers; `require` adds what a successful parse promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>
#include <vector>

#include "data/formats/bytes.h"
#include "sotto/data.h"

namespace sotto::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline ByteSpan input(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

/// Labels below the number of classes, and as many values as samples and shape say.
inline void require_consistent(const Dataset& data) {
  for (const std::int32_t label : data.labels) require(label >= 0 && label < data.classes);
  const std::size_t values = std::visit([](const auto& all) { return all.size(); }, data.values);
  require(values == data.size() * data.shape.size());
  require(data.class_names.empty() ||
          data.class_names.size() == static_cast<std::size_t>(data.classes));
  require(data.users.empty() || data.users.size() == data.size());
}

}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
