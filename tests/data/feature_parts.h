// What tests of feature maps share: an image of noise, and how a reference ends.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/bits.h"
#include "sotto/data.h"

namespace sotto {

inline std::vector<float> noise_image(SampleShape shape, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "image");
  std::vector<float> image(shape.size());
  for (float& value : image) value = static_cast<float>(bits.unit());
  return image;
}

/// Of mean 0 and norm 8, as every feature map leaves its features.
inline std::vector<double> standardised(std::vector<double> all) {
  double mean = 0.0, square = 0.0;
  for (const double value : all) mean += value / static_cast<double>(all.size());
  for (double& value : all) {
    value -= mean;
    square += value * value;
  }
  for (double& value : all) value *= 8.0 / std::sqrt(square);
  return all;
}

}  // namespace sotto
