// A set of two classes that any network learns in a moment.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/bits.h"
#include "sotto/data.h"

namespace sotto {

/// Two classes of 8x8 images: bright on the left, bright on the right, with noise.
inline Dataset halves(std::size_t size) {
  Dataset data;
  data.shape = {1, 8, 8};
  data.classes = 2;
  BitSource bits = BitSource::from_seed(5, "halves");
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < size; ++i) {
    const auto label = static_cast<std::int32_t>(i % 2);
    data.labels.push_back(label);
    for (std::uint32_t p = 0; p < 64; ++p) {
      const bool right = p % 8 >= 4;
      const std::uint64_t base = right == (label == 1) ? 110 : 70;
      pixels.push_back(static_cast<std::uint8_t>(base + bits.below(80)));
    }
  }
  data.values = std::move(pixels);
  return data;
}

}  // namespace sotto
