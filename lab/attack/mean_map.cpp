#include "attack/mean_map.h"

#include <algorithm>
#include <iterator>

namespace sotto {
namespace {

constexpr std::size_t kPoints = 257;

}  // namespace

MeanMap::MeanMap(const Mechanism& mechanism)
    : mechanism_(mechanism), range_(mechanism.domain().ranges.front()) {
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kPoints - 1);
    means_.push_back(moments(range_.centre + range_.radius * (2.0 * share - 1.0)).mean);
    // Rounding to a grid may hold the mean still for a moment; noise of doubles may turn it back.
    if (i > 0) means_[i] = std::max(means_[i], means_[i - 1]);
  }
  inverts_ = means_.back() - means_.front() > 1e-9 * range_.radius;
}

Moments MeanMap::moments(double weight) const {
  const auto value = static_cast<float>(weight);
  return mechanism_.moments(std::span(&value, 1), 0);
}

double MeanMap::input(double mean) const {
  const auto above = std::upper_bound(means_.begin(), means_.end(), mean);
  if (above == means_.begin()) return range_.centre - range_.radius;
  if (above == means_.end()) return range_.centre + range_.radius;
  const double low = *std::prev(above);
  const auto index = static_cast<double>(std::distance(means_.begin(), above) - 1);
  const double position = index + (mean - low) / (*above - low);
  return range_.centre + range_.radius * (2.0 * position / static_cast<double>(kPoints - 1) - 1.0);
}

}  // namespace sotto
