// Fixed features: functions of one sample that are known before any data is seen. A client computes
// them from its own sample alone, so they cost no privacy; a linear model on them learns what one
// on pixels cannot.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sotto/data.h"

namespace sotto {

/// The l2 norm of every sample's features, but for one without any edge, whose features may be 0.
inline constexpr double kFeatureNorm = 8.0;

struct FeatureInfo {
  std::string_view name;
  std::string_view summary;
};

/// none, gabor, scattering, scattering-pooled.
std::vector<FeatureInfo> feature_maps();

/// The shape of the features `name` of samples of this shape; an error where there are none.
Result<SampleShape> feature_shape(std::string_view name, SampleShape input);

/// Replaces the samples of both parts by their features; those of the train part by the features of
/// themselves and of each of `views`. The result does not depend on `threads`. It is an error if
/// the machine's memory cannot hold them.
Result<void> apply_features(std::string_view name, DataSplit& data, unsigned threads = 1,
                            std::span<const ImageView> views = {});

}  // namespace sotto
