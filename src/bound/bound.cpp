// Update -> Bounded: every value into its tensor's range, whatever it was.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/sums.h"
#include "sotto/stages.h"

namespace sotto {

Update::Update(std::shared_ptr<const Layout> layout, std::vector<float> values)
    : layout_(std::move(layout)), values_(std::move(values)) {
  if (!layout_ || layout_->size() != values_.size()) {
    throw std::invalid_argument("an update must have as many values as its layout");
  }
}

namespace {

/// NaN and infinities become the centre of [low, high], everything else the nearest value in it.
void clip(std::span<float> values, float low, float centre, float high) {
  for (float& value : values) {
    // x - x is 0 for every finite x and NaN for all others.
    const float finite = value - value == 0.0F ? value : centre;
    value = std::min(std::max(finite, low), high);
  }
}

void project_to_ball(std::span<float> values, double norm) {
  // Block by block, so that the second look finds the values in the nearest cache.
  constexpr std::size_t kBlock = 4096;
  WideSum sum;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const auto block = values.subspan(first, std::min(kBlock, values.size() - first));
    for (float& value : block) value = value - value == 0.0F ? value : 0.0F;
    const std::size_t whole = block.size() / kSumLanes * kSumLanes;
    sum.add(dot(block.data(), block.data(), whole));
    for (const float value : block.subspan(whole)) {
      sum.add(static_cast<double>(value) * static_cast<double>(value));
    }
  }
  const double square = sum.value();
  if (square <= norm * norm) return;
  // A hair below, so that rounding to float (of the factor and of the products, 2^-23 together)
  // cannot lift the vector out of the ball again.
  const double factor = norm / std::sqrt(square) * (1.0 - 0x1p-20);
  if (factor >= 0x1p-100 && factor <= 1.0) {
    const auto narrow = static_cast<float>(factor);
    for (float& value : values) value *= narrow;
  } else {
    for (float& value : values) value = static_cast<float>(value * factor);
  }
}

/// Ascends with the value, so that the largest is found in integers, many at a time. What is no
/// finite number counts as the least: it never decides the category. -0 is 0.
std::int32_t rank_of(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value + 0.0F);
  const std::int32_t ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF);
  return value - value == 0.0F ? ordered : std::numeric_limits<std::int32_t>::min();
}

void make_one_hot(std::span<float> values) {
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  for (const float value : values) most = std::max(most, rank_of(value));
  const auto first = std::find_if(values.begin(), values.end(),
                                  [most](float value) { return rank_of(value) == most; });
  const auto best = first - values.begin();
  std::fill(values.begin(), values.end(), 0.0F);
  if (!values.empty()) values[static_cast<std::size_t>(best)] = 1.0F;
}

}  // namespace

std::uint64_t Domain::fingerprint() const {
  // FNV-1a over the numbers: it tells domains of one program apart and need not withstand malice.
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  add(static_cast<std::uint64_t>(shape));
  add(std::bit_cast<std::uint64_t>(norm));
  for (const TensorSpec& tensor : layout->tensors()) add(tensor.size);
  for (const Range& range : ranges) {
    add(std::bit_cast<std::uint64_t>(range.centre));
    add(std::bit_cast<std::uint64_t>(range.radius));
  }
  return hash;
}

Bounded bound(Update update, const Domain& domain) {
  const auto& tensors = update.layout()->tensors();
  if (domain.ranges.size() != tensors.size()) {
    throw std::invalid_argument("a domain must have one range for each tensor");
  }
  if (domain.layout->size() != update.layout()->size()) {
    throw std::invalid_argument("an update must have the layout of the domain");
  }
  std::vector<float> values = std::move(update).take();
  switch (domain.shape) {
    case Shape::kBox:
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        const Range& range = domain.ranges[t];
        clip(std::span(values).subspan(tensors[t].offset, tensors[t].size),
             static_cast<float>(range.centre - range.radius), static_cast<float>(range.centre),
             static_cast<float>(range.centre + range.radius));
      }
      break;
    case Shape::kBall:
      project_to_ball(values, domain.norm);
      break;
    case Shape::kOneHot:
      make_one_hot(values);
      break;
  }
  return {std::move(values), domain.fingerprint()};
}

}  // namespace sotto
