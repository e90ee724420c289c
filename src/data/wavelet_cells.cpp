// From planes of pixels to features of cells: see wavelets.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "data/wavelets.h"

namespace sotto {
namespace {

/// The sums of four rows.
void add_rows(const float* from, std::size_t width, std::size_t line, float* __restrict__ to) {
  static_assert(CellMeans::kSide == 4);
  const float* const second = from + line;
  const float* const third = second + line;
  const float* const fourth = third + line;
  for (std::size_t x = 0; x < width; ++x) to[x] = (from[x] + second[x]) + (third[x] + fourth[x]);
}

}  // namespace

void copy_to_plane(std::span<const float> image, std::size_t width, std::size_t line,
                   std::span<float> plane) {
  constexpr float kMost = 1e6F;
  const float* from = image.data();
  float* to = plane.data();
  for (std::size_t done = 0; done < image.size(); done += width, from += width, to += line) {
    for (std::size_t x = 0; x < width; ++x) {
      // A NaN fails both comparisons.
      const float at_least = from[x] > -kMost ? from[x] : from[x] <= -kMost ? -kMost : 0.0F;
      to[x] = at_least < kMost ? at_least : kMost;
    }
  }
}

CellMeans::CellMeans(std::size_t width, std::size_t height, std::size_t line)
    : width_(width),
      height_(height),
      line_(line),
      rows_((height + kSide - 1) / kSide),
      columns_((width + kSide - 1) / kSide),
      sums_(columns_ * kSide, 0.0F) {}

void CellMeans::compute(const float* plane, float* to) {
  float* const sums = sums_.data();  // 0 beyond the width
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t count = std::min(kSide, height_ - row * kSide);
    const float* from = plane + row * kSide * line_;
    if (count == kSide) {
      add_rows(from, width_, line_, sums);
    } else {
      std::copy_n(from, width_, sums);
      for (std::size_t y = 1; y < count; ++y) {
        from += line_;
        for (std::size_t x = 0; x < width_; ++x) sums[x] += from[x];
      }
    }
    const float share = 1.0F / static_cast<float>(count * kSide);
    for (std::size_t column = 0; column < columns_; ++column) {
      const float* const four = sums + column * kSide;
      *to++ = ((four[0] + four[1]) + (four[2] + four[3])) * share;
    }
    const std::size_t rest = width_ % kSide;
    if (rest > 0) to[-1] *= static_cast<float>(kSide) / static_cast<float>(rest);
  }
}

void divide_by_cell_norm(std::span<float> maps, std::size_t cells, float trace) {
  constexpr std::size_t kTogether = 64;
  std::array<float, kTogether> factors;
  for (std::size_t first = 0; first < cells; first += kTogether) {
    const std::size_t count = std::min(kTogether, cells - first);
    std::fill_n(factors.data(), count, trace * trace);
    for (std::size_t at = first; at < maps.size(); at += cells) {
      const float* const map = maps.data() + at;
      for (std::size_t i = 0; i < count; ++i) factors[i] += map[i] * map[i];
    }
    for (std::size_t i = 0; i < count; ++i) factors[i] = 1.0F / std::sqrt(factors[i]);
    for (std::size_t at = first; at < maps.size(); at += cells) {
      float* const map = maps.data() + at;
      for (std::size_t i = 0; i < count; ++i) map[i] *= factors[i];
    }
  }
}

void centre_and_scale(std::span<float> features, double norm) {
  // Several sums side by side, whose order is that of no instruction set.
  constexpr std::size_t kSums = 16;
  const auto sum_of = [&](auto&& term) {
    std::array<double, kSums> sums{};
    const std::size_t whole = features.size() / kSums * kSums;
    for (std::size_t i = 0; i < whole; i += kSums) {
      for (std::size_t j = 0; j < kSums; ++j) sums[j] += term(features[i + j]);
    }
    for (std::size_t i = whole; i < features.size(); ++i) sums[i - whole] += term(features[i]);
    double sum = 0.0;
    for (const double part : sums) sum += part;
    return sum;
  };
  const double sum = sum_of([](float value) { return static_cast<double>(value); });
  const auto mean = static_cast<float>(sum / static_cast<double>(features.size()));
  for (float& value : features) value -= mean;
  const double square =
      sum_of([](float value) { return static_cast<double>(value) * static_cast<double>(value); });
  if (square <= 0.0) return;
  const auto factor = static_cast<float>(norm / std::sqrt(square));
  for (float& value : features) value *= factor;
}

}  // namespace sotto
