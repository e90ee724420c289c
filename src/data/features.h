// What a feature map is: one file and one line in features.cpp.
#pragma once

#include <memory>
#include <span>

#include "sotto/features.h"

namespace sotto {

class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  /// Of the features of a sample.
  virtual SampleShape shape() const = 0;
  /// `sample` holds numbers in [0, 1], channel by channel; `out` has shape().size() elements. One
  /// map is used by many threads.
  virtual void compute(std::span<const float> sample, std::span<float> out) const = 0;
};

/// gabor.cpp
std::unique_ptr<FeatureMap> make_gabor_features(SampleShape input);

}  // namespace sotto
