#include "train/private_step.h"

#include <algorithm>
#include <cmath>

#include "base/exact/sums.h"
#include "mechanism/vector/normal.h"
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

Products products_of(const Lots& lots, std::size_t size, double clip, std::size_t largest_group) {
  constexpr std::size_t kLeastGroup = 4;
  constexpr double kMostRounding = 0x1p-10;
  if (!(clip >= 0x1p-60 && clip <= 0x1p60)) return {};
  // A lot twice as large as expected, and 64 more, is as good as never seen.
  const std::uint64_t expected = std::min<std::uint64_t>(lots.samples, 2 * lots.size + 64);
  for (std::size_t group = largest_group; group >= kLeastGroup; --group) {
    const std::size_t groups = (static_cast<std::size_t>(expected) + group - 1) / group;
    const std::size_t most = groups * group;
    const double rounding =
        (1.0 + 0x1p-10) * 0x1p-24 * static_cast<double>(most) * static_cast<double>(group + 3);
    if (rounding > kMostRounding) continue;
    const double cut =
        2.0 * static_cast<double>(groups + 1) * std::sqrt(static_cast<double>(size)) / kUnits;
    return {.most = most, .group = group, .slack = rounding + cut + 0x1p-20};
  }
  return {};
}

void PrivateStep::begin(std::size_t size, const TrainOptions& options,
                        std::span<const std::uint32_t> places, const Products& products) {
  clip_ = options.clip;
  limit_ = options.clip * (1.0 - products.slack);
  deviation_ = options.clip * options.noise;
  rounds_ = options.rounds_noise;
  size_ = size;
  places_ = places;
  std::fill_n(sums_.begin(), used_, 0);  // of a lot that was never finished
  used_ = 0;
  sums_.resize(padded(size));
  padded_.clear();
  if (deviation_ > 0.0) {
    words_.resize(2 * noise_pairs(places.empty() ? size : places.size()));
    noise_.resize(words_.size());
  }
}

void PrivateStep::add(std::span<const float> gradient) {
  const float* values = gradient.data();
  if (gradient.size() != sums_.size()) {
    padded_.resize(sums_.size());
    std::ranges::copy(gradient, padded_.begin());
    values = padded_.data();
  }
  const double norm = std::sqrt(dot(values, values, sums_.size()).value());
  if (!std::isfinite(norm)) return;
  // The last factor is far more than what norm, quotient and products lose by rounding.
  const double scale = (norm > limit_ ? limit_ / norm : 1.0) * (1.0 - 0x1p-40) * (kUnits / clip_);
  add_cut(values, scale, sums_.size(), sums_.data());
  used_ = sums_.size();
}

double PrivateStep::factor(double square) const {
  if (!std::isfinite(square)) return 0.0;
  const double norm = std::sqrt(square);
  constexpr double kRoom = 1.0 - 0x1p-20;
  return norm > limit_ * kRoom ? limit_ / norm * kRoom : 1.0;
}

void PrivateStep::add_written(std::span<const float> gradient, double factor) {
  add_cut(gradient.data(), factor * (1.0 - 0x1p-40) * (kUnits / clip_), gradient.size(),
          sums_.data());
  used_ = std::max(used_, gradient.size());
}

void PrivateStep::add_product(std::span<const float> sums, std::size_t first) {
  add_cut(sums.data() + first, kUnits / clip_, sums.size() - first, sums_.data() + first);
  used_ = std::max(used_, sums.size());
}

void PrivateStep::finish(BitSource& bits, double divisor, std::span<float> out,
                         std::size_t product_first) {
  const double unit = clip_ / kUnits;
  const auto sum = [&](std::size_t at) {
    return static_cast<double>(sums_[at]) * unit +
           (at >= product_first ? static_cast<double>(out[at]) : 0.0);
  };
  if (deviation_ > 0.0) {
    bits.fill(std::as_writable_bytes(std::span(words_)));
    normals(words_.data(), words_.size() / 2, noise_.data());
    const double lattice = deviation_ / kNoiseLattice;
    const std::size_t parameters = places_.empty() ? size_ : places_.size();
    for (std::size_t i = 0; i < parameters; ++i) {
      const std::size_t at = places_.empty() ? i : places_[i];
      double value = sum(at) + deviation_ * noise_[i];
      if (rounds_) value = std::nearbyint(value / lattice) * lattice;
      out[at] = static_cast<float>(value / divisor);
    }
  } else {
    // Where no sample was written out, there is nothing but the product.
    const std::size_t mixed = product_first < size_ ? std::max(used_, product_first) : size_;
    const std::size_t end = std::min(mixed, size_);
    for (std::size_t at = 0; at < end; ++at) out[at] = static_cast<float>(sum(at) / divisor);
    const auto share = static_cast<float>(1.0 / divisor);
    for (std::size_t at = end; at < size_; ++at) out[at] *= share;
  }
  std::fill_n(sums_.begin(), used_, 0);
  used_ = 0;
}

}  // namespace sotto
