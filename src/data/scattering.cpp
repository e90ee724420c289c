// `scattering`: a scattering transform of second order (Bruna and Mallat 2013), fixed before any
// data is seen, and `scattering-pooled`, its means over cells twice as large.
//
// U1 = |x * psi_{0,a}| for the 8 angles a of the finer of two scales says where there are edges of
// that angle; its mean over a cell forgets how they lie to each other. U2 = |U1 * psi_{1,b}| for
// the 8 angles b of the coarser scale tells that again: corners, ends, stripes. A channel has for
// each cell of 4x4 pixels the means of x, of U1 and |x * psi_{1,b}|, and of U2: 1 + 16 + 64
// numbers. The wavelets are round (wavelets.h), with sigma = 0.8 2^j pixels and
// xi = 3 pi / 4 / 2^j radians a pixel. Every plane is mirrored at its border, so that an even image
// has no edges there either.
//
// All but the brightness of a cell is divided by its norm, where there is more than a trace of an
// edge. `scattering-pooled` then takes means over 2x2 cells, which a linear model on larger images
// wants: a quarter of the weights. The sample's features are then centred and scaled to a norm of
// their own, so that every client's gradient weighs the same. Each step reads one sample alone.
#include <algorithm>
#include <array>
#include <numbers>

#include "data/feature_map.h"
#include "data/wavelets.h"

namespace sotto {
namespace {

constexpr std::size_t kAngles = kWaveletAngles;
constexpr std::size_t kMaps = 1 + 2 * kAngles + kAngles * kAngles;  // of a channel
constexpr double kSigma = 0.8;                                      // of the finer scale, pixels
constexpr double kXi = 3.0 * std::numbers::pi / 4.0;                // radians a pixel
constexpr float kTrace = 0.02F;  // of magnitudes in a cell: below it there is no edge
constexpr float kBrightness = 0.5F;

class Scattering final : public FeatureMap {
 public:
  Scattering(SampleShape input, bool pooled)
      : input_(input),
        fine_(kSigma, kXi),
        coarse_(2.0 * kSigma, kXi / 2.0),
        filter_(input.width, input.height, coarse_.radius, ImageBorder::kMirror),
        means_(input.width, input.height, filter_.line()),
        image_(filter_.plane_size(), 0.0F),
        first_(kAngles * filter_.plane_size(), 0.0F),
        second_(first_.size(), 0.0F),
        cells_(pooled ? kMaps * means_.cells() : 0) {}

  SampleShape shape() const override {
    return {input_.channels * static_cast<std::uint32_t>(kMaps), side_of(means_.rows()),
            side_of(means_.columns())};
  }

  void compute(std::span<const float> sample, std::span<float> out) override {
    const std::size_t pixels = std::size_t{input_.height} * input_.width;
    const std::size_t size = out.size() / input_.channels;
    for (std::size_t c = 0; c < input_.channels; ++c) {
      copy_to_plane(sample.subspan(c * pixels, pixels), input_.width, filter_.line(), image_);
      const std::span<float> features = out.subspan(c * size, size);
      compute_cells(cells_.empty() ? features : std::span(cells_));
      if (!cells_.empty()) pool_cells(features);
    }
    centre_and_scale(out, kFeatureNorm);
  }

 private:
  std::uint32_t side_of(std::size_t cells) const {
    return static_cast<std::uint32_t>(cells_.empty() ? cells : (cells + 1) / 2);
  }

  /// The cells of `image_`.
  void compute_cells(std::span<float> out) {
    const std::size_t cells = means_.cells();
    const auto order = [&](std::size_t number) { return out.subspan(number * cells); };
    means_.compute(image_.data(), out.data());
    for (std::size_t i = 0; i < cells; ++i) out[i] *= kBrightness;
    filter_.magnitudes(fine_, image_.data(), first_);
    means_of(first_, order(1));
    filter_.magnitudes(coarse_, image_.data(), second_);
    means_of(second_, order(1 + kAngles));
    for (std::size_t a = 0; a < kAngles; ++a) {
      filter_.magnitudes(coarse_, first_.data() + a * filter_.plane_size(), second_);
      means_of(second_, order(1 + (2 + a) * kAngles));
    }
    divide_by_cell_norm(order(1), cells, kTrace);
  }

  void means_of(const std::vector<float>& planes, std::span<float> to) {
    for (std::size_t k = 0; k < kAngles; ++k) {
      means_.compute(planes.data() + k * filter_.plane_size(), to.data() + k * means_.cells());
    }
  }

  /// Means over 2x2 cells; the last ones of a row or column may be of fewer.
  void pool_cells(std::span<float> out) const {
    const std::size_t rows = means_.rows();
    const std::size_t columns = means_.columns();
    float* to = out.data();
    for (const float* map = cells_.data(); map != cells_.data() + cells_.size();
         map += means_.cells()) {
      for (std::size_t row = 0; row < rows; row += 2) {
        const float* const upper = map + row * columns;
        const float* const lower = row + 1 < rows ? upper + columns : upper;
        for (std::size_t left = 0; left < columns; left += 2) {
          const std::size_t right = std::min(left + 1, columns - 1);
          *to++ = 0.25F * ((upper[left] + upper[right]) + (lower[left] + lower[right]));
        }
      }
    }
  }

  SampleShape input_;
  WaveletBank fine_;
  WaveletBank coarse_;
  WaveletFilter filter_;
  CellMeans means_;
  std::vector<float> image_;   // a plane
  std::vector<float> first_;   // planes of one scale
  std::vector<float> second_;  // and of the next
  std::vector<float> cells_;   // of a channel, before they are pooled; empty: they are not
};

}  // namespace

std::unique_ptr<FeatureMap> make_scattering_features(SampleShape input) {
  return std::make_unique<Scattering>(input, false);
}

std::unique_ptr<FeatureMap> make_pooled_scattering_features(SampleShape input) {
  return std::make_unique<Scattering>(input, true);
}

}  // namespace sotto
