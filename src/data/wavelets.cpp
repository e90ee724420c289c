// Separable filters in vectors of pixels: see wavelets.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/wavelets.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_WAVELETS_SHARED
#define SOTTO_WAVELETS_SHARED
#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/wavelets.h"

namespace sotto {

/// Lines are filled up to a multiple of so many numbers, the most lanes of any vector.
inline constexpr std::size_t kWaveletGroup = 16;

/// One pass over an image whose rows are `line` apart in `from` or `to`.
struct WaveletPass {
  const WaveletBank* bank;
  std::size_t height;
  std::size_t line;
  const float* from;
  std::size_t from_line;
  std::size_t from_plane;  // distance of planes
  float* to;
  std::size_t to_line;
  std::size_t to_plane;
};

/// Planes after the rows' pass: real parts at every frequency, then imaginary parts but the last.
inline constexpr std::size_t kRowPlanes = 2 * kWaveletFrequencies - 1;

}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kWaveletGroup>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

HWY_INLINE V plus_product(V sum, float factor, V value) {
  return hn::Add(sum, hn::Mul(hn::Set(D(), factor), value));
}

void filter_rows_all(const WaveletPass& pass) {
  constexpr std::size_t kOdd = kWaveletFrequencies - 1;
  const D d;
  const WaveletBank::Tap* const taps = pass.bank->taps.data();
  const std::size_t radius = pass.bank->radius;
  for (std::size_t y = 0; y < pass.height; ++y) {
    for (std::size_t x = 0; x < pass.line; x += kLanes) {
      const float* const centre = pass.from + y * pass.from_line + x;
      const V middle = hn::LoadU(d, centre);
      V even[kWaveletFrequencies];
      V odd[kOdd];
#pragma GCC unroll 8
      for (std::size_t m = 0; m < kWaveletFrequencies; ++m) {
        even[m] = hn::Mul(hn::Set(d, taps[0].cosine[m]), middle);
      }
#pragma GCC unroll 8
      for (std::size_t m = 0; m < kOdd; ++m) odd[m] = hn::Zero(d);
      for (std::size_t t = 1; t <= radius; ++t) {
        const V after = hn::LoadU(d, centre + t);
        const V before = hn::LoadU(d, centre - t);
        const V sum = hn::Add(after, before);
        const V difference = hn::Sub(after, before);
#pragma GCC unroll 8
        for (std::size_t m = 0; m < kWaveletFrequencies; ++m) {
          even[m] = plus_product(even[m], taps[t].cosine[m], sum);
        }
#pragma GCC unroll 8
        for (std::size_t m = 0; m < kOdd; ++m) {
          odd[m] = plus_product(odd[m], taps[t].sine[m], difference);
        }
      }
      float* to = pass.to + y * pass.to_line + x;
#pragma GCC unroll 8
      for (std::size_t m = 0; m < kWaveletFrequencies; ++m, to += pass.to_plane) {
        hn::StoreU(even[m], d, to);
      }
#pragma GCC unroll 8
      for (std::size_t m = 0; m < kOdd; ++m, to += pass.to_plane) hn::StoreU(odd[m], d, to);
    }
  }
}

void blur_columns_all(const WaveletPass& pass) {
  constexpr std::size_t kLast = kWaveletFrequencies - 1;
  const D d;
  const WaveletBank::Tap* const taps = pass.bank->taps.data();
  const float* const from = pass.from + kLast * pass.from_plane;
  for (std::size_t y = 0; y < pass.height; ++y) {
    for (std::size_t x = 0; x < pass.line; x += kLanes) {
      const float* const centre = from + y * pass.from_line + x;
      V sum = hn::Mul(hn::Set(d, taps[0].cosine[kLast]), hn::LoadU(d, centre));
      for (std::size_t t = 1; t <= pass.bank->radius; ++t) {
        const float* const below = centre + t * pass.from_line;
        const float* const above = centre - t * pass.from_line;
        sum = plus_product(sum, taps[t].cosine[kLast],
                           hn::Add(hn::LoadU(d, below), hn::LoadU(d, above)));
      }
      hn::StoreU(sum, d, pass.to + y * pass.to_line + x);
    }
  }
}

HWY_INLINE V magnitude_of(V re, V im) {
  return hn::Sqrt(hn::Add(hn::Mul(re, re), hn::Mul(im, im)));
}

/// The angle k and, where it is another one, kWaveletAngles - k. Only angle 0 has no odd part
/// across (along columns), only the right angle has none along rows.
template <bool kAlong, bool kAcross>
void filter_columns(const WaveletPass& pass, const float* blur, std::size_t k) {
  constexpr std::size_t kLast = kWaveletFrequencies - 1;
  const D d;
  const WaveletBank::Tap* const taps = pass.bank->taps.data();
  const std::size_t radius = pass.bank->radius;
  const std::size_t m = kLast - k;
  const V beta = hn::Set(d, pass.bank->beta[k]);
  const float* const from_even = pass.from + k * pass.from_plane;
  const float* const from_odd = from_even + kWaveletFrequencies * pass.from_plane;
  float* const to = pass.to + k * pass.to_plane;
  float* const to_mirror = pass.to + (kWaveletAngles - k) * pass.to_plane;
  for (std::size_t y = 0; y < pass.height; ++y) {
    for (std::size_t x = 0; x < pass.line; x += kLanes) {
      const std::size_t at = y * pass.from_line + x;
      const V first = hn::Set(d, taps[0].cosine[m]);
      V even_even = hn::Mul(first, hn::LoadU(d, from_even + at));
      V odd_even = kAlong ? hn::Mul(first, hn::LoadU(d, from_odd + at)) : hn::Zero(d);
      V even_odd = hn::Zero(d);
      V odd_odd = hn::Zero(d);
      for (std::size_t t = 1; t <= radius; ++t) {
        const float cosine = taps[t].cosine[m];
        const float sine = taps[t].sine[m];
        const std::size_t step = t * pass.from_line;
        const V even_below = hn::LoadU(d, from_even + at + step);
        const V even_above = hn::LoadU(d, from_even + at - step);
        even_even = plus_product(even_even, cosine, hn::Add(even_below, even_above));
        if constexpr (kAcross) {
          even_odd = plus_product(even_odd, sine, hn::Sub(even_below, even_above));
        }
        if constexpr (kAlong) {
          const V odd_below = hn::LoadU(d, from_odd + at + step);
          const V odd_above = hn::LoadU(d, from_odd + at - step);
          odd_even = plus_product(odd_even, cosine, hn::Add(odd_below, odd_above));
          if constexpr (kAcross) {
            odd_odd = plus_product(odd_odd, sine, hn::Sub(odd_below, odd_above));
          }
        }
      }
      const std::size_t out = y * pass.to_line + x;
      const V re = hn::Sub(even_even, hn::Mul(beta, hn::LoadU(d, blur + out)));
      if constexpr (kAlong && kAcross) {
        hn::StoreU(magnitude_of(hn::Sub(re, odd_odd), hn::Add(even_odd, odd_even)), d, to + out);
        // x -> -x turns the sine of the rows.
        hn::StoreU(magnitude_of(hn::Add(re, odd_odd), hn::Sub(even_odd, odd_even)), d,
                   to_mirror + out);
      } else {
        hn::StoreU(magnitude_of(re, kAlong ? odd_even : even_odd), d, to + out);
      }
    }
  }
}

void filter_columns_all(const WaveletPass& pass, const float* blur) {
  constexpr std::size_t kLast = kWaveletFrequencies - 1;
  filter_columns<true, false>(pass, blur, 0);
  for (std::size_t k = 1; k < kLast; ++k) filter_columns<true, true>(pass, blur, k);
  filter_columns<false, true>(pass, blur, kLast);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
/// There is no path with one lane of its own: where that is asked for, the baseline's is taken.
#define SOTTO_WAVELET_CALL(function)                                                    \
  (::sotto::simd_level() == ::sotto::SimdLevel::kScalar ? HWY_STATIC_DISPATCH(function) \
                                                        : SOTTO_SIMD_CALL(function))

namespace sotto {
namespace {

/// Where positions -margin .. -1 and size .. size + margin - 1 lie in the mirrored image.
std::vector<std::size_t> mirrored(std::size_t size, std::size_t margin) {
  std::vector<std::size_t> places;
  const std::size_t period = 2 * size;
  const auto fold = [&](std::size_t at) { return at < size ? at : period - 1 - at; };
  for (std::size_t i = 0; i < margin; ++i) places.push_back(fold((margin - 1 - i) % period));
  for (std::size_t i = 0; i < margin; ++i) places.push_back(fold((size + i) % period));
  return places;
}

}  // namespace

WaveletBank::WaveletBank(double sigma, double xi)
    : radius(static_cast<std::size_t>(std::ceil(3.0 * sigma))), taps(radius + 1), beta{} {
  const auto window = [&](std::size_t t) {
    const auto distance = static_cast<double>(t);
    return std::exp(-distance * distance / (2.0 * sigma * sigma));
  };
  double whole = window(0);
  for (std::size_t t = 1; t <= radius; ++t) whole += 2.0 * window(t);
  std::array<double, kWaveletFrequencies> sums{};  // what a row of ones answers
  for (std::size_t m = 0; m < kWaveletFrequencies; ++m) {
    const bool last = m + 1 == kWaveletFrequencies;
    const double angle = std::numbers::pi * static_cast<double>(m) / double{kWaveletAngles};
    const double frequency = last ? 0.0 : xi * std::cos(angle);
    for (std::size_t t = 0; t <= radius; ++t) {
      const double g = window(t) / whole;
      const double cosine = g * std::cos(frequency * static_cast<double>(t));
      taps[t].cosine[m] = static_cast<float>(cosine);
      taps[t].sine[m] = static_cast<float>(g * std::sin(frequency * static_cast<double>(t)));
      sums[m] += t == 0 ? cosine : 2.0 * cosine;
    }
  }
  for (std::size_t k = 0; k < kWaveletFrequencies; ++k) {
    beta[k] = static_cast<float>(sums[k] * sums[kWaveletFrequencies - 1 - k]);
  }
}

WaveletFilter::WaveletFilter(std::size_t width, std::size_t height, std::size_t radius,
                             ImageBorder border)
    : width_(width),
      height_(height),
      margin_(radius),
      border_(border),
      line_((width + kWaveletGroup - 1) / kWaveletGroup * kWaveletGroup),
      padded_line_(line_ + 2 * radius),
      mirrored_columns_(mirrored(width, radius)),
      mirrored_rows_(mirrored(height, radius)),
      padded_(padded_line_ * height, 0.0F),
      rows_(kRowPlanes * line_ * (height + 2 * radius), 0.0F),
      blur_(plane_size(), 0.0F) {}

void WaveletFilter::surround(const float* image) {
  float* row = padded_.data();
  for (std::size_t y = 0; y < height_; ++y, row += padded_line_, image += line_) {
    std::copy_n(image, width_, row + margin_);
    if (border_ == ImageBorder::kBlack) continue;
    for (std::size_t i = 0; i < margin_; ++i) {
      row[i] = image[mirrored_columns_[i]];
      row[margin_ + width_ + i] = image[mirrored_columns_[margin_ + i]];
    }
  }
}

void WaveletFilter::surround_rows(std::size_t radius) {
  if (border_ == ImageBorder::kBlack) return;
  float* plane = rows_.data();
  for (std::size_t p = 0; p < kRowPlanes; ++p, plane += line_ * (height_ + 2 * margin_)) {
    const float* const inside = plane + margin_ * line_;
    for (std::size_t i = margin_ - radius; i < margin_; ++i) {
      std::copy_n(inside + mirrored_rows_[i] * line_, line_, plane + i * line_);
    }
    for (std::size_t i = 0; i < radius; ++i) {
      std::copy_n(inside + mirrored_rows_[margin_ + i] * line_, line_,
                  plane + (margin_ + height_ + i) * line_);
    }
  }
}

void WaveletFilter::magnitudes(const WaveletBank& bank, const float* image,
                               std::span<float> planes) {
  surround(image);
  const std::size_t tall = line_ * (height_ + 2 * margin_);
  float* const inside = rows_.data() + margin_ * line_;
  SOTTO_WAVELET_CALL(filter_rows_all)
  ({.bank = &bank,
    .height = height_,
    .line = line_,
    .from = padded_.data() + margin_,
    .from_line = padded_line_,
    .from_plane = 0,
    .to = inside,
    .to_line = line_,
    .to_plane = tall});
  surround_rows(bank.radius);
  WaveletPass columns{.bank = &bank,
                      .height = height_,
                      .line = line_,
                      .from = inside,
                      .from_line = line_,
                      .from_plane = tall,
                      .to = blur_.data(),
                      .to_line = line_,
                      .to_plane = 0};
  SOTTO_WAVELET_CALL(blur_columns_all)(columns);
  columns.to = planes.data();
  columns.to_plane = plane_size();
  SOTTO_WAVELET_CALL(filter_columns_all)(columns, blur_.data());
}

}  // namespace sotto
#endif
