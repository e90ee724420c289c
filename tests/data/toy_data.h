// Small data sets whose content is known to the last pixel.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/data.h"

namespace sotto {

/// Samples of one byte each, `counts[c]` of class c, classes interleaved.
inline Dataset toy_labels(const std::vector<std::size_t>& counts) {
  Dataset data;
  data.shape = {1, 1, 1};
  data.classes = static_cast<std::int32_t>(counts.size());
  std::vector<std::size_t> left = counts;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t c = 0; c < left.size(); ++c) {
      if (left[c] == 0) continue;
      --left[c];
      any = true;
      data.labels.push_back(static_cast<std::int32_t>(c));
    }
  }
  data.values = std::vector<std::uint8_t>(data.labels.size(), 0);
  return data;
}

/// `count` images whose bytes are i * 7 mod 256: no two neighbours alike.
inline Dataset toy_images(SampleShape shape, std::size_t count) {
  Dataset data;
  data.shape = shape;
  data.classes = 3;
  std::vector<std::uint8_t> values(shape.size() * count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7);
  data.values = std::move(values);
  for (std::size_t i = 0; i < count; ++i) data.labels.push_back(static_cast<std::int32_t>(i % 3));
  return data;
}

}  // namespace sotto
