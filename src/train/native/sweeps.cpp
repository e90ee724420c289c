// What goes over activations or weights once, in vectors: see kernels.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/native/sweeps.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_SWEEPS_SHARED
#define SOTTO_SWEEPS_SHARED
#include "train/native/kernels.h"
#include "train/native/simd_choice.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using native::Lines;
using native::Moments;
using native::Pooling;

using D = hn::CappedTag<float, native::kGroup>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

void mask_all(const float* y, std::size_t y_line, float* g, std::size_t g_line, Lines lines) {
  const D d;
  for (std::size_t line = 0; line < lines.lines; ++line, y += y_line, g += g_line) {
    for (std::size_t i = 0; i < lines.count; i += kLanes) {
      const auto kept = hn::Gt(hn::LoadU(d, y + i), hn::Zero(d));
      hn::StoreU(hn::IfThenElseZero(kept, hn::LoadU(d, g + i)), d, g + i);
    }
  }
}

void rectify_all(const float* x, std::size_t x_line, float* out, std::size_t out_line,
                 Lines lines) {
  const D d;
  for (std::size_t line = 0; line < lines.lines; ++line, x += x_line, out += out_line) {
    for (std::size_t i = 0; i < lines.count; i += kLanes) {
      hn::StoreU(hn::Max(hn::LoadU(d, x + i), hn::Zero(d)), d, out + i);
    }
  }
}

void scale_all(const float* x, std::size_t x_line, const float* factor, std::size_t factor_line,
               float* out, std::size_t out_line, Lines lines) {
  const D d;
  for (std::size_t line = 0; line < lines.lines; ++line) {
    for (std::size_t i = 0; i < lines.count; i += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, factor + i)), d, out + i);
    }
    x += x_line;
    factor += factor_line;
    out += out_line;
  }
}

void pool_all(const Pooling& p, const float* x, float* y) {
  const D d;
  for (std::size_t h = 0; h < p.height; ++h) {
    for (std::size_t w = 0; w < p.width; ++w) {
      const float* const window = x + h * p.size * p.x_line + w * p.size * p.channels;
      float* const to = y + h * p.y_line + w * p.channels;
      for (std::size_t c = 0; c < p.channels; c += kLanes) {
        V most = hn::LoadU(d, window + c);
        for (std::size_t i = 0; i < p.size; ++i) {
          for (std::size_t j = 0; j < p.size; ++j) {
            most = hn::Max(most, hn::LoadU(d, window + i * p.x_line + j * p.channels + c));
          }
        }
        hn::StoreU(most, d, to + c);
      }
    }
  }
}

void pool_back_all(const Pooling& p, const float* x, const float* y, const float* gy,
                   std::size_t gy_line, float* gx, std::size_t gx_line, bool positive) {
  const D d;
  for (std::size_t h = 0; h < p.height; ++h) {
    for (std::size_t w = 0; w < p.width; ++w) {
      const float* const window = x + h * p.size * p.x_line + w * p.size * p.channels;
      float* const to = gx + h * p.size * gx_line + w * p.size * p.channels;
      for (std::size_t c = 0; c < p.channels; c += kLanes) {
        const std::size_t at = w * p.channels + c;
        const V most = hn::LoadU(d, y + h * p.y_line + at);
        V gradient = hn::LoadU(d, gy + h * gy_line + at);
        if (positive) {
          gradient = hn::IfThenElseZero(hn::Gt(most, hn::Zero(d)), gradient);
        }
        // The first of the largest takes the gradient, and nothing is left for the others.
        for (std::size_t i = 0; i < p.size; ++i) {
          for (std::size_t j = 0; j < p.size; ++j) {
            const auto taken =
                hn::Eq(hn::LoadU(d, window + i * p.x_line + j * p.channels + c), most);
            hn::StoreU(hn::IfThenElseZero(taken, gradient), d,
                       to + i * gx_line + j * p.channels + c);
            gradient = hn::IfThenZeroElse(taken, gradient);
          }
        }
      }
    }
  }
}

void add_up_all(const float* x, std::size_t pixels, std::size_t channels, float* sums) {
  const D d;
  for (std::size_t c = 0; c < channels; c += kLanes) {
    V sum = hn::Zero(d);
    for (std::size_t p = 0; p < pixels; ++p) sum = hn::Add(sum, hn::LoadU(d, x + p * channels + c));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), sum), d, sums + c);
  }
}

void add_squares_all(const float* x, const float* mean, std::size_t pixels, std::size_t channels,
                     float* sums) {
  const D d;
  for (std::size_t c = 0; c < channels; c += kLanes) {
    const V middle = hn::LoadU(d, mean + c);
    V sum = hn::Zero(d);
    for (std::size_t p = 0; p < pixels; ++p) {
      const V off = hn::Sub(hn::LoadU(d, x + p * channels + c), middle);
      sum = hn::MulAdd(off, off, sum);
    }
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), sum), d, sums + c);
  }
}

void add_moments_all(const float* x, const float* origin, std::size_t pixels, std::size_t channels,
                     float* sums, float* squares) {
  const D d;
  for (std::size_t c = 0; c < channels; c += kLanes) {
    const V middle = hn::LoadU(d, origin + c);
    V sum = hn::Zero(d);
    V square = hn::Zero(d);
    for (std::size_t p = 0; p < pixels; ++p) {
      const V off = hn::Sub(hn::LoadU(d, x + p * channels + c), middle);
      sum = hn::Add(sum, off);
      square = hn::MulAdd(off, off, square);
    }
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), sum), d, sums + c);
    hn::StoreU(hn::Add(hn::LoadU(d, squares + c), square), d, squares + c);
  }
}

void add_norm_gradients_all(const float* g, const float* x, const float* mean, const float* factor,
                            std::size_t pixels, std::size_t channels, float* scale_sums,
                            float* shift_sums) {
  const D d;
  for (std::size_t c = 0; c < channels; c += kLanes) {
    const V middle = hn::LoadU(d, mean + c);
    V shift = hn::Zero(d);
    V product = hn::Zero(d);
    for (std::size_t p = 0; p < pixels; ++p) {
      const V gradient = hn::LoadU(d, g + p * channels + c);
      shift = hn::Add(shift, gradient);
      product = hn::MulAdd(gradient, hn::Sub(hn::LoadU(d, x + p * channels + c), middle), product);
    }
    product = hn::Mul(product, hn::LoadU(d, factor + c));
    hn::StoreU(hn::Add(hn::LoadU(d, scale_sums + c), product), d, scale_sums + c);
    hn::StoreU(hn::Add(hn::LoadU(d, shift_sums + c), shift), d, shift_sums + c);
  }
}

void combine_all(const float* a, const float* x, const float* b, const float* y, const float* e,
                 std::size_t pixels, std::size_t channels, bool relu, float* out) {
  const D d;
  for (std::size_t p = 0; p < pixels; ++p) {
    const std::size_t at = p * channels;
    for (std::size_t c = 0; c < channels; c += kLanes) {
      V sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, x + at + c), hn::LoadU(d, e + c));
      if (y != nullptr) sum = hn::MulAdd(hn::LoadU(d, b + c), hn::LoadU(d, y + at + c), sum);
      if (relu) sum = hn::Max(sum, hn::Zero(d));
      hn::StoreU(sum, d, out + at + c);
    }
  }
}

double sum_of_squares_all(const float* x, std::size_t count) {
  // kGroup lanes on every instruction set, so that the order of the sum is the same.
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr std::size_t kWide = hn::MaxLanes(d);
  constexpr std::size_t kVectors = native::kGroup / kWide;
  decltype(hn::Zero(d)) sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += native::kGroup) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto value = hn::PromoteTo(d, hn::LoadU(narrow, x + i + v * kWide));
      sums[v] = hn::MulAdd(value, value, sums[v]);
    }
  }
  double lanes[native::kGroup];
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, lanes + v * kWide);
  double total = 0.0;
  for (const double lane : lanes) total += lane;
  return total;
}

void sgd_all(const native::Sgd& step, float* weights, const float* gradients, float* velocity,
             std::size_t count) {
  const D d;
  const V rate = hn::Set(d, -step.rate);
  const V keep = hn::Set(d, step.momentum);
  const V pull = hn::Set(d, step.decay);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const V weight = hn::LoadU(d, weights + i);
    V direction = hn::LoadU(d, gradients + i);
    if (step.decay != 0.0F) direction = hn::MulAdd(pull, weight, direction);
    if (velocity != nullptr) {
      direction = hn::MulAdd(keep, hn::LoadU(d, velocity + i), direction);
      hn::StoreU(direction, d, velocity + i);
    }
    hn::StoreU(hn::MulAdd(rate, direction, weight), d, weights + i);
  }
}

void adaptive_all(const Moments& m, float* weights, const float* gradients, float* first,
                  float* second, std::size_t count) {
  const D d;
  const V pull = hn::Set(d, m.decay);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const V weight = hn::LoadU(d, weights + i);
    const V gradient = hn::MulAdd(pull, weight, hn::LoadU(d, gradients + i));
    V direction = gradient;
    if (first != nullptr) {
      direction = hn::Mul(hn::Set(d, m.beta1), hn::LoadU(d, first + i));
      direction = hn::MulAdd(hn::Set(d, m.rest1), gradient, direction);
      hn::StoreU(direction, d, first + i);
    }
    V square = hn::Mul(hn::Set(d, m.beta2), hn::LoadU(d, second + i));
    square = hn::MulAdd(hn::Mul(hn::Set(d, m.rest2), gradient), gradient, square);
    hn::StoreU(square, d, second + i);
    const V scale =
        hn::Add(hn::Sqrt(hn::Div(square, hn::Set(d, m.correction2))), hn::Set(d, m.stability));
    hn::StoreU(hn::MulAdd(hn::Set(d, -m.step), hn::Div(direction, scale), weight), d, weights + i);
  }
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto::native {

void mask(const float* y, std::size_t y_line, float* g, std::size_t g_line, Lines lines) {
  SOTTO_NATIVE_CALL(mask_all)(y, y_line, g, g_line, lines);
}
void rectify(const float* x, std::size_t x_line, float* out, std::size_t out_line, Lines lines) {
  SOTTO_NATIVE_CALL(rectify_all)(x, x_line, out, out_line, lines);
}
void scale(const float* x, std::size_t x_line, const float* factor, std::size_t factor_line,
           float* out, std::size_t out_line, Lines lines) {
  SOTTO_NATIVE_CALL(scale_all)(x, x_line, factor, factor_line, out, out_line, lines);
}
void pool(const Pooling& shape, const float* x, float* y) {
  SOTTO_NATIVE_CALL(pool_all)(shape, x, y);
}
void pool_back(const Pooling& shape, const float* x, const float* y, const float* gy,
               std::size_t gy_line, float* gx, std::size_t gx_line, bool positive) {
  SOTTO_NATIVE_CALL(pool_back_all)(shape, x, y, gy, gy_line, gx, gx_line, positive);
}
void add_up(const float* x, std::size_t pixels, std::size_t channels, float* sums) {
  SOTTO_NATIVE_CALL(add_up_all)(x, pixels, channels, sums);
}
void add_squares(const float* x, const float* mean, std::size_t pixels, std::size_t channels,
                 float* sums) {
  SOTTO_NATIVE_CALL(add_squares_all)(x, mean, pixels, channels, sums);
}
void add_moments(const float* x, const float* origin, std::size_t pixels, std::size_t channels,
                 float* sums, float* squares) {
  SOTTO_NATIVE_CALL(add_moments_all)(x, origin, pixels, channels, sums, squares);
}
void add_norm_gradients(const float* g, const float* x, const float* mean, const float* factor,
                        std::size_t pixels, std::size_t channels, float* scale_sums,
                        float* shift_sums) {
  SOTTO_NATIVE_CALL(add_norm_gradients_all)
  (g, x, mean, factor, pixels, channels, scale_sums, shift_sums);
}
void combine(const float* a, const float* x, const float* b, const float* y, const float* d,
             std::size_t pixels, std::size_t channels, bool relu, float* out) {
  SOTTO_NATIVE_CALL(combine_all)(a, x, b, y, d, pixels, channels, relu, out);
}
double sum_of_squares(const float* x, std::size_t count) {
  return SOTTO_NATIVE_CALL(sum_of_squares_all)(x, count);
}
void sgd(const Sgd& step, float* weights, const float* gradients, float* velocity,
         std::size_t count) {
  SOTTO_NATIVE_CALL(sgd_all)(step, weights, gradients, velocity, count);
}
void adaptive(const Moments& moments, float* weights, const float* gradients, float* first,
              float* second, std::size_t count) {
  SOTTO_NATIVE_CALL(adaptive_all)(moments, weights, gradients, first, second, count);
}

/// In squares that stay in the nearest cache.
void transpose(const float* from, std::size_t from_row, std::size_t rows, std::size_t columns,
               float* to, std::size_t to_row) {
  constexpr std::size_t kSide = 16;
  for (std::size_t row = 0; row < rows; row += kSide) {
    const std::size_t row_end = row + kSide < rows ? row + kSide : rows;
    for (std::size_t column = 0; column < columns; column += kSide) {
      const std::size_t column_end = column + kSide < columns ? column + kSide : columns;
      for (std::size_t c = column; c < column_end; ++c) {
        for (std::size_t r = row; r < row_end; ++r) to[c * to_row + r] = from[r * from_row + c];
      }
    }
  }
}

}  // namespace sotto::native
#endif
