// Update -> Bounded: every value into its tensor's range, whatever it was.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/exact/sums.h"
#include "sotto/stages.h"

namespace sotto {

Update::Update(std::shared_ptr<const Layout> layout, std::vector<float> values)
    : layout_(std::move(layout)), values_(std::move(values)) {
  if (!layout_ || layout_->size() != values_.size()) {
    throw std::invalid_argument("an update must have as many values as its layout");
  }
}

namespace {

/// to_i = make(from_i). `to` is `from` itself or lies elsewhere: known beforehand, either is a loop
/// over many values at a time.
template <class Make>
void transform(std::span<const float> from, std::span<float> to, Make make) {
  if (from.data() == to.data()) {
    for (float& value : to) value = make(value);
    return;
  }
  const float* __restrict source = from.data();
  float* __restrict target = to.data();
  for (std::size_t i = 0; i < from.size(); ++i) target[i] = make(source[i]);
}

/// NaN and infinities become the centre of [low, high], everything else the nearest value in it.
void clip(std::span<const float> from, std::span<float> to, const Range& range) {
  const auto low = static_cast<float>(range.centre - range.radius);
  const auto centre = static_cast<float>(range.centre);
  const auto high = static_cast<float>(range.centre + range.radius);
  transform(from, to, [=](float value) {
    // x - x is 0 for every finite x and NaN for all others.
    const float finite = value - value == 0.0F ? value : centre;
    return std::min(std::max(finite, low), high);
  });
}

void project_to_ball(std::span<const float> from, std::span<float> to, double norm) {
  // Block by block, so that the second look finds the values in the nearest cache.
  constexpr std::size_t kBlock = 4096;
  WideSum sum;
  for (std::size_t first = 0; first < to.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, to.size() - first);
    const auto block = to.subspan(first, count);
    transform(from.subspan(first, count), block,
              [](float value) { return value - value == 0.0F ? value : 0.0F; });
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
    for (float& value : to) value *= narrow;
  } else {
    for (float& value : to) value = static_cast<float>(value * factor);
  }
}

/// Ascends with the value, so that the largest is found in integers, many at a time. What is no
/// finite number counts as the least: it never decides the category. -0 is 0.
std::int32_t rank_of(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value + 0.0F);
  const std::int32_t ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF);
  return value - value == 0.0F ? ordered : std::numeric_limits<std::int32_t>::min();
}

void make_one_hot(std::span<const float> from, std::span<float> to) {
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  for (const float value : from) most = std::max(most, rank_of(value));
  const auto first = std::find_if(from.begin(), from.end(),
                                  [most](float value) { return rank_of(value) == most; });
  const auto best = first - from.begin();
  std::fill(to.begin(), to.end(), 0.0F);
  if (!to.empty()) to[static_cast<std::size_t>(best)] = 1.0F;
}

void bring_into(const Domain& domain, const std::vector<TensorSpec>& tensors,
                std::span<const float> from, std::span<float> to) {
  switch (domain.shape) {
    case Shape::kBox:
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        clip(from.subspan(tensors[t].offset, tensors[t].size),
             to.subspan(tensors[t].offset, tensors[t].size), domain.ranges[t]);
      }
      break;
    case Shape::kBall:
      project_to_ball(from, to, domain.norm);
      break;
    case Shape::kOneHot:
      make_one_hot(from, to);
      break;
  }
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
  bring_into(domain, tensors, values, values);
  return {std::move(values), domain.fingerprint()};
}

Bounded bound(std::span<const float> values, const Domain& domain, std::vector<float> memory) {
  const auto& tensors = domain.layout->tensors();
  if (domain.ranges.size() != tensors.size() || domain.layout->size() != values.size()) {
    throw std::invalid_argument("values must have the layout of the domain");
  }
  memory.resize(values.size());
  bring_into(domain, tensors, values, memory);
  return {std::move(memory), domain.fingerprint()};
}

}  // namespace sotto
