// `gabor`: what a linear model needs to see of an image, fixed before any data is seen.
//
// Each channel is filtered by Gabor functions at kAngles angles and two scales,
//   psi(x, y) = g(x) g(y) (e^{i xi (x cos a + y sin a)} - beta), g(t) = e^{-t^2 / 2 sigma^2} / Z,
// with beta such that the filter has no answer to a constant image (Morlet). The magnitude of the
// answer says how much of an edge of that angle and width there is, wherever it lies exactly; its
// mean over cells of 4x4 pixels, beside the cell's mean brightness, is a first-order scattering
// transform (Bruna and Mallat 2013). Outside the image is black.
//
// The magnitudes of a cell are divided by their common norm, where there is more than a trace of an
// edge: what counts is which edges there are, not how strong. Of the mean over angles, which says
// that there is any edge, only a part is kept: by symmetry what is left has mean 0 over images, and
// a gradient spends its bounded length on what tells them apart. Brightness is weighed down, too.
//
// The sample's features are then centred and scaled to a norm of their own, so that every client's
// gradient weighs the same. Each step reads one sample alone.
//
// An isotropic Gabor function is a product of two complex functions of one variable, so a filter is
// one pass over rows and one over columns; those at the angles a and pi - a share both passes.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "data/features.h"

namespace sotto {
namespace {

constexpr std::size_t kCell = 4;    // pixels, a side
constexpr std::size_t kAngles = 8;  // in [0, pi)
constexpr double kNorm = 8.0;       // of a sample's features
constexpr float kTrace = 0.02F;     // of magnitudes in a cell: below it there is no edge
constexpr float kAnyEdge = 0.3F;    // what is kept of the mean over angles
constexpr float kBrightness = 0.5F;

struct Scale {
  double sigma;  // pixels
  double xi;     // radians a pixel
};
constexpr std::array<Scale, 2> kScales = {
    {{1.7, std::numbers::pi / 2.0}, {3.4, std::numbers::pi / 4.0}}};

/// Taps -radius .. radius of g(t) e^{i w t}.
struct Taps {
  std::vector<float> cosine;  // real part
  std::vector<float> sine;    // imaginary part
  double sum = 0.0;           // of the real part; that of the imaginary part is 0
};

Taps make_taps(const Scale& scale, std::size_t radius, double frequency) {
  Taps taps;
  double whole = 0.0;
  const auto reach = static_cast<double>(radius);
  for (std::size_t i = 0; i <= 2 * radius; ++i) {
    const double t = static_cast<double>(i) - reach;
    whole += std::exp(-t * t / (2.0 * scale.sigma * scale.sigma));
  }
  for (std::size_t i = 0; i <= 2 * radius; ++i) {
    const double t = static_cast<double>(i) - reach;
    const double g = std::exp(-t * t / (2.0 * scale.sigma * scale.sigma)) / whole;
    taps.cosine.push_back(static_cast<float>(g * std::cos(frequency * t)));
    taps.sine.push_back(static_cast<float>(g * std::sin(frequency * t)));
    taps.sum += g * std::cos(frequency * t);
  }
  return taps;
}

/// The filters of one scale at an angle a and, where it is another one, at pi - a.
struct Pair {
  std::size_t angle;   // of kAngles
  std::size_t mirror;  // the same where there is no other
  Taps along;          // x
  Taps across;         // y
  float beta;
};

struct Bank {
  std::size_t radius;
  Taps blur;
  std::vector<Pair> pairs;
};

Bank make_bank(const Scale& scale) {
  Bank bank;
  bank.radius = static_cast<std::size_t>(std::ceil(3.0 * scale.sigma));
  bank.blur = make_taps(scale, bank.radius, 0.0);
  for (std::size_t k = 0; k <= kAngles / 2; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / double{kAngles};
    Pair pair{k, k == 0 || 2 * k == kAngles ? k : kAngles - k,
              make_taps(scale, bank.radius, scale.xi * std::cos(angle)),
              make_taps(scale, bank.radius, scale.xi * std::sin(angle)), 0.0F};
    pair.beta = static_cast<float>(pair.along.sum * pair.across.sum);
    bank.pairs.push_back(std::move(pair));
  }
  return bank;
}

class Gabor final : public FeatureMap {
 public:
  explicit Gabor(SampleShape input)
      : input_(input),
        rows_((input.height + kCell - 1) / kCell),
        columns_((input.width + kCell - 1) / kCell) {
    for (const Scale& scale : kScales) {
      banks_.push_back(make_bank(scale));
      margin_ = std::max(margin_, banks_.back().radius);
    }
  }

  SampleShape shape() const override {
    const auto maps = static_cast<std::uint32_t>(1 + kScales.size() * kAngles);
    return {input_.channels * maps, static_cast<std::uint32_t>(rows_),
            static_cast<std::uint32_t>(columns_)};
  }

  void compute(std::span<const float> sample, std::span<float> out) const override {
    const std::size_t pixels = std::size_t{input_.height} * input_.width;
    Work work(*this);
    float* to = out.data();
    for (std::size_t c = 0; c < input_.channels; ++c) {
      work.put(sample.data() + c * pixels);
      pool(work.plane(), to);
      for (std::size_t i = 0; i < rows_ * columns_; ++i) to[i] *= kBrightness;
      to += rows_ * columns_;
      float* const magnitudes = to;
      for (const Bank& bank : banks_) {
        work.filter(bank, [&](std::size_t angle, const float* magnitude) {
          pool(magnitude, to + angle * rows_ * columns_);
        });
        to += kAngles * rows_ * columns_;
      }
      even_out(magnitudes);
    }
    settle(out);
  }

 private:
  /// Planes of one channel, with room around them for the filters.
  class Work {
   public:
    explicit Work(const Gabor& map)
        : width_(map.input_.width),
          height_(map.input_.height),
          margin_(map.margin_),
          stride_(width_ + 2 * margin_),
          padded_(stride_ * (height_ + 2 * margin_), 0.0F),
          tall_re_(padded_.size(), 0.0F),
          tall_im_(padded_.size(), 0.0F) {
      for (auto* plane : {&re_re_, &im_im_, &re_im_, &im_re_, &blur_, &magnitude_}) {
        plane->resize(width_ * height_);
      }
    }

    void put(const float* pixels) {
      plane_ = pixels;
      for (std::size_t y = 0; y < height_; ++y) {
        std::copy_n(
            pixels + y * width_, width_,
            padded_.begin() + static_cast<std::ptrdiff_t>((y + margin_) * stride_ + margin_));
      }
    }
    const float* plane() const { return plane_; }

    template <class Visit>
    void filter(const Bank& bank, Visit&& visit) {
      across_rows(bank.blur.cosine, tall_re_);
      down_columns(bank.blur.cosine, tall_re_, blur_);
      for (const Pair& pair : bank.pairs) {
        across_rows(pair.along.cosine, tall_re_);
        across_rows(pair.along.sine, tall_im_);
        down_columns(pair.across.cosine, tall_re_, re_re_);
        down_columns(pair.across.sine, tall_im_, im_im_);
        down_columns(pair.across.sine, tall_re_, re_im_);
        down_columns(pair.across.cosine, tall_im_, im_re_);
        magnitude(pair.beta, 1.0F);
        visit(pair.angle, magnitude_.data());
        if (pair.mirror == pair.angle) continue;
        magnitude(pair.beta, -1.0F);  // x -> -x turns the sine of the rows
        visit(pair.mirror, magnitude_.data());
      }
    }

   private:
    void across_rows(const std::vector<float>& taps, std::vector<float>& to) const {
      const std::size_t radius = taps.size() / 2;
      for (std::size_t y = 0; y < height_; ++y) {
        float* const row = to.data() + (y + margin_) * stride_;
        std::fill_n(row, width_, 0.0F);
        for (std::size_t t = 0; t < taps.size(); ++t) {
          add(taps[t], padded_.data() + (y + margin_) * stride_ + margin_ + t - radius, row);
        }
      }
    }
    void down_columns(const std::vector<float>& taps, const std::vector<float>& from,
                      std::vector<float>& to) const {
      const std::size_t radius = taps.size() / 2;
      for (std::size_t y = 0; y < height_; ++y) {
        float* const row = to.data() + y * width_;
        std::fill_n(row, width_, 0.0F);
        for (std::size_t t = 0; t < taps.size(); ++t) {
          add(taps[t], from.data() + (y + margin_ + t - radius) * stride_, row);
        }
      }
    }
    void add(float factor, const float* from, float* to) const {
      for (std::size_t x = 0; x < width_; ++x) to[x] += factor * from[x];
    }
    void magnitude(float beta, float side) {
      for (std::size_t i = 0; i < magnitude_.size(); ++i) {
        const float re = re_re_[i] - side * im_im_[i] - beta * blur_[i];
        const float im = re_im_[i] + side * im_re_[i];
        magnitude_[i] = std::sqrt(re * re + im * im);
      }
    }

    std::size_t width_;
    std::size_t height_;
    std::size_t margin_;
    std::size_t stride_;
    const float* plane_ = nullptr;
    std::vector<float> padded_;             // the pixels; zero around them
    std::vector<float> tall_re_, tall_im_;  // after the rows' pass; zero above and below
    std::vector<float> re_re_, im_im_, re_im_, im_re_, blur_, magnitude_;
  };

  /// The mean over each cell; the last ones of a row or column may be smaller.
  void pool(const float* plane, float* to) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t bottom = std::min<std::size_t>(input_.height, (row + 1) * kCell);
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::size_t right = std::min<std::size_t>(input_.width, (column + 1) * kCell);
        float sum = 0.0F;
        for (std::size_t y = row * kCell; y < bottom; ++y) {
          for (std::size_t x = column * kCell; x < right; ++x) sum += plane[y * input_.width + x];
        }
        const std::size_t count = (bottom - row * kCell) * (right - column * kCell);
        *to++ = sum / static_cast<float>(count);
      }
    }
  }

  void even_out(float* magnitudes) const {
    const std::size_t cells = rows_ * columns_;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      float square = kTrace * kTrace;
      for (std::size_t k = 0; k < kScales.size() * kAngles; ++k) {
        square += magnitudes[k * cells + cell] * magnitudes[k * cells + cell];
      }
      const float factor = 1.0F / std::sqrt(square);
      for (std::size_t scale = 0; scale < kScales.size(); ++scale) {
        float* const angles = magnitudes + scale * kAngles * cells + cell;
        float sum = 0.0F;
        for (std::size_t k = 0; k < kAngles; ++k) sum += angles[k * cells];
        const float less = (1.0F - kAnyEdge) / static_cast<float>(kAngles) * sum;
        for (std::size_t k = 0; k < kAngles; ++k) {
          angles[k * cells] = factor * (angles[k * cells] - less);
        }
      }
    }
  }

  /// Mean 0 and norm kNorm; an image without any feature stays at 0.
  static void settle(std::span<float> features) {
    double sum = 0.0;
    for (const float value : features) sum += static_cast<double>(value);
    const auto mean = static_cast<float>(sum / static_cast<double>(features.size()));
    double square = 0.0;
    for (float& value : features) {
      value -= mean;
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    if (square <= 0.0) return;
    const auto factor = static_cast<float>(kNorm / std::sqrt(square));
    for (float& value : features) value *= factor;
  }

  SampleShape input_;
  std::size_t rows_;
  std::size_t columns_;
  std::size_t margin_ = 0;
  std::vector<Bank> banks_;
};

}  // namespace

std::unique_ptr<FeatureMap> make_gabor_features(SampleShape input) {
  return std::make_unique<Gabor>(input);
}

}  // namespace sotto
