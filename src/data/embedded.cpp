// The embedded set: images of digits drawn from stroke tables, so that every example and test has
// data without a download.
//
// Each image has its own bit stream, keyed by (seed, part, index): the bytes do not depend on the
// number of threads. They must not depend on the compiler or its mathematics library either, so
// this file uses only + - * / and sqrt (all correctly rounded) and is compiled without contraction
// to fused multiply-add.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/parallel.h"
#include "data/glyphs.h"
#include "sotto/data.h"

namespace sotto {
namespace {

constexpr int kSide = 28;
constexpr std::size_t kPixels = std::size_t{kSide} * kSide;
constexpr std::size_t kTrainSize = 12'000;
constexpr std::size_t kTestSize = 2'000;
constexpr std::int32_t kDigits = 10;

// How far a written digit strays from its glyph. Chosen so that a linear classifier stays near 88 %
// and a small convolutional network passes 98 %.
constexpr double kGlyphSize = 18.0;   // pixels
constexpr double kSizeSpread = 0.25;  // of either axis, relative
constexpr double kTurn = 0.20;        // tangent of half the largest rotation
constexpr double kSlant = 0.40;       // horizontal shift per vertical pixel
constexpr double kShift = 2.8;        // pixels
constexpr double kWarp = 2.2;         // pixels, of the knots of the elastic field
constexpr double kThinnest = 1.3;     // stroke width in pixels
constexpr double kThickest = 3.4;
constexpr double kFaintest = 0.55;  // brightness of the stroke
constexpr double kNoise = 0.20;     // largest amplitude, of full brightness
constexpr int kWarpKnots = 4;       // a side
constexpr int kPiecesPerSpan = 5;   // straight pieces between two points of a curve

struct Vec {
  double x;
  double y;
};

double between(BitSource& bits, double low, double high) {
  return low + (high - low) * bits.unit();
}

/// Symmetric about 0 within +-1 and denser in the middle, like a hand's errors.
double wobble(BitSource& bits) { return bits.unit() + bits.unit() - 1.0; }

/// A random affine map followed by a smooth random displacement, both about the image's centre.
class Distortion {
 public:
  explicit Distortion(BitSource& bits) {
    const double half_turn = kTurn * wobble(bits);
    const double norm = 1.0 + half_turn * half_turn;
    const double cosine = (1.0 - half_turn * half_turn) / norm;
    const double sine = 2.0 * half_turn / norm;
    const double wide = kGlyphSize / kGlyphGrid * (1.0 + kSizeSpread * wobble(bits));
    const double high = kGlyphSize / kGlyphGrid * (1.0 + kSizeSpread * wobble(bits));
    const double slant = kSlant * wobble(bits);
    xx_ = cosine * wide;
    xy_ = -cosine * slant * high - sine * high;
    yx_ = sine * wide;
    yy_ = -sine * slant * high + cosine * high;
    shift_ = {kShift * wobble(bits), kShift * wobble(bits)};
    for (Vec& knot : knots_) knot = {kWarp * wobble(bits), kWarp * wobble(bits)};
  }

  Vec operator()(Vec grid) const {
    const double u = grid.x - 0.5 * kGlyphGrid;
    const double v = grid.y - 0.5 * kGlyphGrid;
    const Vec moved = displacement(grid);
    const double centre = 0.5 * (kSide - 1);
    return {centre + shift_.x + xx_ * u + xy_ * v + moved.x,
            centre + shift_.y + yx_ * u + yy_ * v + moved.y};
  }

 private:
  /// Smoothly interpolated between the knots, which span the glyph's grid.
  Vec displacement(Vec grid) const {
    const double scale = static_cast<double>(kWarpKnots - 1) / kGlyphGrid;
    const double gx = std::clamp(grid.x * scale, 0.0, static_cast<double>(kWarpKnots - 1));
    const double gy = std::clamp(grid.y * scale, 0.0, static_cast<double>(kWarpKnots - 1));
    const int ix = std::min(static_cast<int>(gx), kWarpKnots - 2);
    const int iy = std::min(static_cast<int>(gy), kWarpKnots - 2);
    const double fx = ease(gx - ix);
    const double fy = ease(gy - iy);
    const auto knot = [&](int dx, int dy) {
      return knots_[static_cast<std::size_t>((iy + dy) * kWarpKnots + ix + dx)];
    };
    const auto mix = [](Vec a, Vec b, double t) {
      return Vec{a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
    };
    return mix(mix(knot(0, 0), knot(1, 0), fx), mix(knot(0, 1), knot(1, 1), fx), fy);
  }

  static double ease(double t) { return t * t * (3.0 - 2.0 * t); }

  double xx_, xy_, yx_, yy_;
  Vec shift_;
  std::array<Vec, std::size_t{kWarpKnots} * kWarpKnots> knots_;
};

/// The point at `t` of the Catmull-Rom curve piece from b to c.
Vec curve(Vec a, Vec b, Vec c, Vec d, double t) {
  const auto axis = [t](double p, double q, double r, double s) {
    const double third = 2.0 * p - 5.0 * q + 4.0 * r - s;
    const double fourth = 3.0 * q - 3.0 * r + s - p;
    return 0.5 * (2.0 * q + t * (r - p + t * (third + t * fourth)));
  };
  return {axis(a.x, b.x, c.x, d.x), axis(a.y, b.y, c.y, d.y)};
}

class Canvas {
 public:
  /// Brightens the pixels near the segment; overlapping strokes take the brighter value.
  void draw(Vec from, Vec to, double width) {
    const double reach = 0.5 * width + 0.5;
    const int left = pixel(std::min(from.x, to.x) - reach);
    const int right = pixel(std::max(from.x, to.x) + reach + 1.0);
    const int top = pixel(std::min(from.y, to.y) - reach);
    const int bottom = pixel(std::max(from.y, to.y) + reach + 1.0);
    const Vec along = {to.x - from.x, to.y - from.y};
    const double length2 = along.x * along.x + along.y * along.y;
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        const double px = x - from.x;
        const double py = y - from.y;
        const double at = length2 > 0.0 ? (px * along.x + py * along.y) / length2 : 0.0;
        const double t = std::clamp(at, 0.0, 1.0);
        const double dx = px - t * along.x;
        const double dy = py - t * along.y;
        const double light = std::min(1.0, reach - std::sqrt(dx * dx + dy * dy));
        double& value = values_[static_cast<std::size_t>(y * kSide + x)];
        value = std::max(value, light);
      }
    }
  }

  /// To bytes, with noise of the given amplitude on every pixel.
  void develop(double brightness, double noise, BitSource& bits, std::uint8_t* out) const {
    for (std::size_t i = 0; i < kPixels; i += 4) {
      std::uint64_t word = bits.next_u64();
      for (std::size_t j = i; j < i + 4; ++j) {
        // Two bytes a pixel: a triangular deviate in (-1, 1).
        const double grain =
            (static_cast<double>(word & 255U) - static_cast<double>((word >> 8) & 255U)) / 256.0;
        word >>= 16;
        const double light = brightness * values_[j] + noise * grain;
        out[j] = static_cast<std::uint8_t>(255.0 * std::clamp(light, 0.0, 1.0) + 0.5);
      }
    }
  }

 private:
  static int pixel(double at) { return static_cast<int>(std::clamp(at, 0.0, double{kSide})); }

  std::array<double, kPixels> values_{};
};

void write_digit(std::int32_t digit, BitSource& bits, std::uint8_t* out) {
  const auto& glyphs = digit_glyphs()[static_cast<std::size_t>(digit)];
  const Glyph& glyph = glyphs[bits.below(glyphs.size())];
  const Distortion distort(bits);
  const double width = between(bits, kThinnest, kThickest);
  Canvas canvas;
  for (const Stroke& stroke : glyph) {
    const auto point = [&](std::size_t i) {
      return Vec{static_cast<double>(stroke[i].x), static_cast<double>(stroke[i].y)};
    };
    const std::size_t last_point = stroke.size() - 1;
    const bool closed = stroke.front() == stroke.back();  // goes round without a corner
    Vec last = distort(point(0));
    for (std::size_t i = 0; i < last_point; ++i) {
      const Vec a = point(i > 0 ? i - 1 : closed ? last_point - 1 : 0);
      const Vec d = point(i + 2 <= last_point ? i + 2 : closed ? 1 : last_point);
      for (int piece = 1; piece <= kPiecesPerSpan; ++piece) {
        const double t = static_cast<double>(piece) / kPiecesPerSpan;
        const Vec next = distort(curve(a, point(i), point(i + 1), d, t));
        canvas.draw(last, next, width);
        last = next;
      }
    }
  }
  const double brightness = between(bits, kFaintest, 1.0);
  canvas.develop(brightness, kNoise * bits.unit(), bits, out);
}

Dataset make_part(std::uint64_t seed, std::uint64_t part, std::size_t size, unsigned threads) {
  Dataset data;
  data.shape = {1, kSide, kSide};
  data.classes = kDigits;
  for (int digit = 0; digit < kDigits; ++digit) data.class_names.push_back(std::to_string(digit));
  data.labels.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    data.labels[i] = static_cast<std::int32_t>(i % std::size_t{kDigits});
  }
  BitSource order = BitSource::from_seed(seed, "data.embedded.order", {part});
  shuffle(std::span(data.labels), order);

  std::vector<std::uint8_t> values(size * kPixels);
  const auto written = parallel_for(threads, size, [&](unsigned, std::size_t i) -> Result<void> {
    BitSource bits = BitSource::from_seed(seed, "data.embedded.image", {part, i});
    write_digit(data.labels[i], bits, values.data() + i * kPixels);
    return {};
  });
  assert(written);  // drawing cannot fail
  static_cast<void>(written);
  data.values = std::move(values);
  return data;
}

}  // namespace

DataSplit make_embedded(std::uint64_t seed, unsigned threads) {
  return {.name = "embedded",
          .train = make_part(seed, 0, kTrainSize, threads),
          .test = make_part(seed, 1, kTestSize, threads)};
}

}  // namespace sotto
