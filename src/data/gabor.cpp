// `gabor`: what a linear model needs to see of an image, fixed before any data is seen.
//
// Each channel is filtered by Morlet wavelets (wavelets.h) at 8 angles and two scales. The mean
// magnitude over cells of 4x4 pixels, beside the cell's mean brightness, is a first-order
// scattering transform (Bruna and Mallat 2013). Outside the image is black.
//
// The magnitudes of a cell are divided by their common norm, where there is more than a trace of an
// edge: what counts is which edges there are, not how strong. Of the mean over angles, which says
// that there is any edge, only a part is kept: by symmetry what is left has mean 0 over images, and
// a gradient spends its bounded length on what tells them apart. Brightness is weighed down, too.
//
// The sample's features are then centred and scaled to a norm of their own, so that every client's
// gradient weighs the same. Each step reads one sample alone.
#include <algorithm>
#include <array>
#include <numbers>

#include "data/feature_map.h"
#include "data/wavelets.h"

namespace sotto {
namespace {

constexpr std::size_t kAngles = kWaveletAngles;
constexpr float kTrace = 0.02F;   // of magnitudes in a cell: below it there is no edge
constexpr float kAnyEdge = 0.3F;  // what is kept of the mean over angles
constexpr float kBrightness = 0.5F;

struct Scale {
  double sigma;  // pixels
  double xi;     // radians a pixel
};
constexpr std::array<Scale, 2> kScales = {
    {{1.7, std::numbers::pi / 2.0}, {3.4, std::numbers::pi / 4.0}}};

class Gabor final : public FeatureMap {
 public:
  explicit Gabor(SampleShape input)
      : input_(input),
        banks_{WaveletBank(kScales[0].sigma, kScales[0].xi),
               WaveletBank(kScales[1].sigma, kScales[1].xi)},
        filter_(input.width, input.height, banks_[1].radius, ImageBorder::kBlack),
        means_(input.width, input.height, filter_.line()),
        image_(filter_.plane_size(), 0.0F),
        magnitudes_(kAngles * filter_.plane_size(), 0.0F) {}

  SampleShape shape() const override {
    const auto maps = static_cast<std::uint32_t>(1 + kScales.size() * kAngles);
    return {input_.channels * maps, static_cast<std::uint32_t>(means_.rows()),
            static_cast<std::uint32_t>(means_.columns())};
  }

  void compute(std::span<const float> sample, std::span<float> out) override {
    const std::size_t pixels = std::size_t{input_.height} * input_.width;
    const std::size_t cells = means_.cells();
    float* to = out.data();
    for (std::size_t c = 0; c < input_.channels; ++c) {
      copy_to_plane(sample.subspan(c * pixels, pixels), input_.width, filter_.line(), image_);
      means_.compute(image_.data(), to);
      for (std::size_t i = 0; i < cells; ++i) to[i] *= kBrightness;
      to += cells;
      const std::span<float> maps(to, kScales.size() * kAngles * cells);
      for (const WaveletBank& bank : banks_) {
        filter_.magnitudes(bank, image_.data(), magnitudes_);
        for (std::size_t k = 0; k < kAngles; ++k, to += cells) {
          means_.compute(magnitudes_.data() + k * filter_.plane_size(), to);
        }
      }
      divide_by_cell_norm(maps, cells, kTrace);
      weigh_down_mean(maps);
    }
    centre_and_scale(out, kFeatureNorm);
  }

 private:
  void weigh_down_mean(std::span<float> maps) const {
    const std::size_t cells = means_.cells();
    for (std::size_t first = 0; first < maps.size(); first += kAngles * cells) {
      float* const angles = maps.data() + first;
      for (std::size_t cell = 0; cell < cells; ++cell) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < kAngles; ++k) sum += angles[k * cells + cell];
        const float less = (1.0F - kAnyEdge) / static_cast<float>(kAngles) * sum;
        for (std::size_t k = 0; k < kAngles; ++k) angles[k * cells + cell] -= less;
      }
    }
  }

  SampleShape input_;
  std::array<WaveletBank, 2> banks_;
  WaveletFilter filter_;
  CellMeans means_;
  std::vector<float> image_;
  std::vector<float> magnitudes_;
};

}  // namespace

std::unique_ptr<FeatureMap> make_gabor_features(SampleShape input) {
  return std::make_unique<Gabor>(input);
}

}  // namespace sotto
