// Numbers that a Preprocess gives for each channel, or one for all.
#pragma once

#include <cstddef>
#include <vector>

namespace sotto {

inline float of_channel(const std::vector<float>& numbers, std::size_t channel, float otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers[numbers.size() == 1 ? 0 : channel];
}

/// From one channel's normalised values to another's: value -> scale value + shift.
struct Renormalise {
  float scale;
  float shift;

  Renormalise(float mean, float deviation, float to_mean, float to_deviation)
      : scale(deviation / to_deviation), shift((mean - to_mean) / to_deviation) {}
};

}  // namespace sotto
