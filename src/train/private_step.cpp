#include "train/private_step.h"

#include <algorithm>
#include <cmath>

#include "base/sums.h"
#include "mechanism/normal.h"
#include "train/clip_kernel.h"

namespace sotto {
namespace {

constexpr double kUnits = 0x1p40;  // in a clip

std::size_t noise_pairs(std::size_t parameters) {
  const std::size_t pairs = (parameters + 1) / 2;
  return (pairs + kPairGroup - 1) / kPairGroup * kPairGroup;
}

}  // namespace

Lots lots_of(const TrainOptions& options, std::size_t samples) {
  Lots lots;
  lots.samples = samples;
  if (samples == 0) return lots;
  lots.size = std::min<std::uint64_t>(options.batch_size, samples);
  // Half up, in integers.
  const std::uint64_t twice = 2 * std::uint64_t{options.epochs} * samples;
  lots.steps = std::max<std::uint64_t>(1, (twice / lots.size + 1) / 2);
  return lots;
}

double step_coupling(std::size_t parameters, const Lots& lots, double noise) {
  // A lot's sum is at most as long as all samples' clipped gradients together.
  return lattice_coupling(kNoiseLattice, static_cast<double>(parameters),
                          static_cast<double>(lots.samples) / noise);
}

Result<void> check_private(const Layout& layout) {
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.role != TensorRole::kBuffer) continue;
    const std::string layer = tensor.name.substr(0, tensor.name.rfind('.'));
    return fail(ErrorKind::kUsage,
                "train.clip: layer " + layer + " of the network keeps statistics over batches (" +
                    tensor.name +
                    "), which mix samples; DP-SGD needs a network without batch norm, such as "
                    "ldp-fed-nobn instead of ldp-fed");
  }
  return {};
}

PrivateStep::PrivateStep(std::size_t size, const TrainOptions& options,
                         std::span<const std::uint32_t> places)
    : clip_(options.clip),
      deviation_(options.clip * options.noise),
      rounds_(options.rounds_noise),
      size_(size),
      places_(places),
      padded_(padded(size), 0.0F),
      sums_(padded_.size(), 0),
      words_(2 * noise_pairs(places.empty() ? size : places.size())),
      noise_(words_.size()) {}

void PrivateStep::add(std::span<const float> gradient) {
  const float* values = gradient.data();
  if (gradient.size() != padded_.size()) {
    std::ranges::copy(gradient, padded_.begin());
    values = padded_.data();
  }
  const double norm = std::sqrt(dot(values, values, padded_.size()).value());
  if (!std::isfinite(norm)) return;
  // The last factor is far more than what norm, quotient and products lose by rounding.
  const double scale = (norm > clip_ ? clip_ / norm : 1.0) * (1.0 - 0x1p-40) * (kUnits / clip_);
  add_cut(values, scale, padded_.size(), sums_.data());
}

void PrivateStep::finish(BitSource& bits, double divisor, std::span<float> out) {
  if (deviation_ > 0.0) {
    bits.fill(std::as_writable_bytes(std::span(words_)));
    normals(words_.data(), words_.size() / 2, noise_.data());
  }
  const double lattice = deviation_ / kNoiseLattice;
  const std::size_t parameters = places_.empty() ? size_ : places_.size();
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::size_t at = places_.empty() ? i : places_[i];
    double value = static_cast<double>(sums_[at]) * (clip_ / kUnits) + deviation_ * noise_[i];
    if (rounds_ && lattice > 0.0) value = std::nearbyint(value / lattice) * lattice;
    out[at] = static_cast<float>(value / divisor);
    sums_[at] = 0;
  }
}

}  // namespace sotto
