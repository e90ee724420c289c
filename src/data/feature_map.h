// What a feature map is: one file and one line in features.cpp.
#pragma once

#include <memory>
#include <span>

#include "sotto/features.h"

namespace sotto {

/// Belongs to one thread: it holds the memory that it computes in.
class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  /// Of the features of a sample.
  virtual SampleShape shape() const = 0;
  /// `sample` holds numbers in [0, 1], channel by channel; `out` has shape().size() elements, and
  /// all are finite afterwards.
  virtual void compute(std::span<const float> sample, std::span<float> out) = 0;
};

/// gabor.cpp
std::unique_ptr<FeatureMap> make_gabor_features(SampleShape input);
/// scattering.cpp
std::unique_ptr<FeatureMap> make_scattering_features(SampleShape input);
std::unique_ptr<FeatureMap> make_pooled_scattering_features(SampleShape input);

}  // namespace sotto
