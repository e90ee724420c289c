// Update -> Bounded: every value into its tensor's range, whatever it was.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sotto/stages.h"

namespace sotto {

Update::Update(std::shared_ptr<const Layout> layout, std::vector<float> values)
    : layout_(std::move(layout)), values_(std::move(values)) {
  if (!layout_ || layout_->size() != values_.size()) {
    throw std::invalid_argument("an update must have as many values as its layout");
  }
}

Bounded bound(Update update, const Domain& domain) {
  const auto& tensors = update.layout()->tensors();
  if (domain.ranges.size() != tensors.size()) {
    throw std::invalid_argument("a domain must have one range for each tensor");
  }
  std::vector<float> values = std::move(update).take();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto centre = static_cast<float>(domain.ranges[t].centre);
    const auto low = static_cast<float>(domain.ranges[t].centre - domain.ranges[t].radius);
    const auto high = static_cast<float>(domain.ranges[t].centre + domain.ranges[t].radius);
    float* const first = values.data() + tensors[t].offset;
    for (std::size_t i = 0; i < tensors[t].size; ++i) {
      const float value = std::isnan(first[i]) ? centre : first[i];
      first[i] = std::min(std::max(value, low), high);
    }
  }
  return Bounded(std::move(values));
}

}  // namespace sotto
