// Products of matrices with the results in registers: see kernels.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/native/products.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#ifndef SOTTO_PRODUCTS_SHARED
#define SOTTO_PRODUCTS_SHARED
#include <algorithm>
#include <array>
#include <utility>

#include "train/native/kernels.h"
#include "train/native/simd_choice.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using native::Outer;
using native::Product;

using D = hn::CappedTag<float, native::kGroup>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
/// Rows of a tile: as many as leave room in the registers (32 with AVX-512, else 16) for two
/// vectors of the other factor and one more.
constexpr std::size_t kMostRows = HWY_TARGET == HWY_AVX3 ? 14 : 6;

/// Where a column lies in a matrix whose columns come in groups.
constexpr std::size_t place_of(std::size_t column, std::size_t group) {
  return column / native::kGroup * group + column % native::kGroup;
}

/// A tile of kRows by kVectors vectors, all of k.
template <std::size_t kRows, std::size_t kVectors>
void multiply_tile(const Product& p, const float* a, float* out, std::size_t column) {
  const D d;
  V sums[kRows][kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    const V bias = p.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, p.bias + column + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const float* b[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) b[v] = p.b + place_of(column + v * kLanes, p.b_group);
  const std::size_t a_row = p.a_row;
  const std::size_t b_row = p.b_row;
  std::size_t k = 0;
  for (std::size_t piece = 0; piece < p.k.pieces; ++piece) {
    const float* from = a + p.k.offsets[piece];
    for (std::size_t i = 0; i < p.k.length; ++i, ++from, k += b_row) {
      V factors[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(d, b[v] + k);
      for (std::size_t r = 0; r < kRows; ++r) {
        const V one = hn::Set(d, from[r * a_row]);
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[r][v] = hn::MulAdd(one, factors[v], sums[r][v]);
        }
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V sum = p.relu ? hn::Max(sums[r][v], hn::Zero(d)) : sums[r][v];
      hn::StoreU(sum, d, out + r * p.out_row + v * kLanes);
    }
  }
}

using MultiplyTile = void (*)(const Product&, const float*, float*, std::size_t);
template <std::size_t kVectors, std::size_t... kRows>
constexpr std::array<MultiplyTile, sizeof...(kRows)> multiply_tiles(
    std::index_sequence<kRows...> /*rows*/) {
  return {multiply_tile<kRows + 1, kVectors>...};
}

template <std::size_t kVectors>
void multiply_panel(const Product& p, std::size_t column) {
  static constexpr auto kTiles = multiply_tiles<kVectors>(std::make_index_sequence<kMostRows>());
  const std::size_t tiles = (p.rows + kMostRows - 1) / kMostRows;
  for (std::size_t line = 0; line < p.lines; ++line) {
    const float* a = p.a + line * p.a_line;
    float* out = p.out + line * p.out_line + column;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::size_t rows = p.rows / tiles + (tile < p.rows % tiles ? 1 : 0);
      kTiles[rows - 1](p, a, out, column);
      a += rows * p.a_row;
      out += rows * p.out_row;
    }
  }
}

void multiply_all(const Product& p) {
  std::size_t column = 0;
  for (; column + 2 * kLanes <= p.columns; column += 2 * kLanes) multiply_panel<2>(p, column);
  for (; column < p.columns; column += kLanes) multiply_panel<1>(p, column);
}

/// What sgd() does, to one vector.
HWY_INLINE void step_weights(const native::Sgd& step, V gradient, float* weights, float* velocity) {
  const D d;
  const V weight = hn::LoadU(d, weights);
  V direction = gradient;
  if (step.decay != 0.0F) direction = hn::MulAdd(hn::Set(d, step.decay), weight, direction);
  if (velocity != nullptr) {
    direction = hn::MulAdd(hn::Set(d, step.momentum), hn::LoadU(d, velocity), direction);
    hn::StoreU(direction, d, velocity);
  }
  hn::StoreU(hn::MulAdd(hn::Set(d, -step.rate), direction, weight), d, weights);
}

/// A tile of kPieces times kLength of k by kVectors vectors, all rows.
template <std::size_t kPieces, std::size_t kLength, std::size_t kVectors>
void outer_tile(const Outer& p, std::size_t piece, std::size_t at, std::size_t column) {
  const D d;
  // Loops over these are unrolled, or the compiler would keep the sums in memory: with few rows
  // that is as much work as the product.
  V sums[kPieces * kLength][kVectors];
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kPieces * kLength; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  for (std::size_t line = 0; line < p.lines; ++line) {
    const float* from[kPieces];
    for (std::size_t s = 0; s < kPieces; ++s) {
      from[s] = p.a + line * p.a_line + p.k.offsets[piece + s] + at;
    }
    const float* g = p.g + line * p.g_line + column;
    for (std::size_t row = 0; row < p.rows; ++row, g += p.g_row) {
      V factors[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(d, g + v * kLanes);
      for (std::size_t s = 0; s < kPieces; ++s) {
        for (std::size_t i = 0; i < kLength; ++i) {
          const V one = hn::Set(d, from[s][i]);
          for (std::size_t v = 0; v < kVectors; ++v) {
            V& sum = sums[s * kLength + i][v];
            sum = hn::MulAdd(one, factors[v], sum);
          }
        }
        from[s] += p.a_row;
      }
    }
  }
  const std::size_t k = (piece * p.k.length + at) * p.out_row;
  std::size_t places[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    places[v] = k + place_of(column + v * kLanes, p.out_group);
  }
  if (p.step != nullptr) {
    const native::Sgd step = *p.step;
#pragma GCC unroll 32
    for (std::size_t i = 0; i < kPieces * kLength; ++i) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t place = places[v] + i * p.out_row;
        step_weights(step, sums[i][v], p.weights + place,
                     p.velocity == nullptr ? nullptr : p.velocity + place);
      }
    }
    return;
  }
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kPieces * kLength; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const to = p.out + places[v] + i * p.out_row;
      hn::StoreU(p.add ? hn::Add(hn::LoadU(d, to), sums[i][v]) : sums[i][v], d, to);
    }
  }
}

using OuterTile = void (*)(const Outer&, std::size_t, std::size_t, std::size_t);
template <std::size_t kVectors, std::size_t... kLength>
constexpr std::array<OuterTile, sizeof...(kLength)> outer_tiles(
    std::index_sequence<kLength...> /*lengths*/) {
  return {outer_tile<1, kLength + 1, kVectors>...};
}

/// All of k for kVectors vectors of columns.
template <std::size_t kVectors>
void outer_panel(const Outer& p, std::size_t column) {
  static constexpr auto kTiles = outer_tiles<kVectors>(std::make_index_sequence<kMostRows>());
  const std::size_t length = p.k.length;
  const std::size_t tiles = (length + kMostRows - 1) / kMostRows;
  for (std::size_t piece = 0; piece < p.k.pieces; ++piece) {
    std::size_t at = 0;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::size_t size = length / tiles + (tile < length % tiles ? 1 : 0);
      kTiles[size - 1](p, piece, at, column);
      at += size;
    }
  }
}

/// Filters over one or three channels have rows too short to keep the multipliers busy; all rows
/// together are enough.
template <std::size_t kPieces, std::size_t kLength, std::size_t kVectors>
bool outer_short(const Outer& p) {
  if (p.k.pieces != kPieces || p.k.length != kLength) return false;
  for (std::size_t column = 0; column < p.columns; column += kVectors * kLanes) {
    outer_tile<kPieces, kLength, kVectors>(p, 0, 0, column);
  }
  return true;
}

void outer_all(const Outer& p) {
  if (outer_short<3, 3, 1>(p) || outer_short<5, 5, 1>(p) || outer_short<3, 9, 1>(p)) return;
  std::size_t column = 0;
  for (; column + 2 * kLanes <= p.columns; column += 2 * kLanes) outer_panel<2>(p, column);
  for (; column < p.columns; column += kLanes) outer_panel<1>(p, column);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto::native {

void multiply(const Product& product) { SOTTO_NATIVE_CALL(multiply_all)(product); }
void outer(const Outer& product) { SOTTO_NATIVE_CALL(outer_all)(product); }

}  // namespace sotto::native
#endif
