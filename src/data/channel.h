// Numbers that a Preprocess gives for each channel, or one for all.
#pragma once

#include <cstddef>
#include <vector>

namespace sotto {

inline float of_channel(const std::vector<float>& numbers, std::size_t channel, float otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers[numbers.size() == 1 ? 0 : channel];
}

}  // namespace sotto
