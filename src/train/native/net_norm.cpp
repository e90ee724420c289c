// Batch norm and group norm, forth and back. See net.h.
#include <algorithm>
#include <cmath>

#include "train/native/net.h"

namespace sotto::native {
namespace {

constexpr float kNormMomentum = 0.1F;
constexpr double kNormEpsilon = 1e-5;

}  // namespace

/// Statistics are gathered sample by sample, when each is near. Deviations are counted from the
/// first sample's mean: with B samples it lies within sqrt(B) deviations of the batch's, so that
/// what the variance loses by it is B of its last bits at most.
void Net::gather_statistics(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const std::size_t channels = in.shape.stride;
  // Values before a norm have no frame: only convolutions read one.
  const std::size_t pixels = in.shape.pixels();
  const float* const x = in.values.data() + n * in.shape.image();
  float* const origin = operation.scratch.data();
  float* const sums = origin + 2 * channels;
  float* const squares = sums + channels;
  if (n == 0) {
    std::fill_n(origin, 4 * channels, 0.0F);
    add_up(x, pixels, channels, origin);
    const auto count = static_cast<float>(pixels);
    for (std::size_t c = 0; c < channels; ++c) origin[c] /= count;
  }
  add_moments(x, origin, pixels, channels, sums, squares);
}

void Net::begin_normalise(std::size_t i, std::size_t batch, Pass pass) {
  Operation& operation = chain_.operations[i];
  const std::size_t channels = chain_.flows[i].shape.stride;
  float* const mean = operation.scratch.data();
  float* const inverse = mean + channels;
  float* const factor = inverse + channels;
  float* const shift = factor + channels;
  float* const stored = statistics_.data() + operation.statistics;
  // A single sample has no variance over features: then the running statistics serve.
  operation.of_batch = (operation.layer.spatial || batch > 1) && pass != Pass::kEvaluate;
  const auto count = static_cast<double>(batch * chain_.flows[i].shape.pixels());
  for (std::size_t c = 0; c < channels; ++c) {
    if (!operation.of_batch) {
      mean[c] = stored[c];
      inverse[c] = static_cast<float>(1.0 / std::sqrt(stored[channels + c] + kNormEpsilon));
      continue;
    }
    // Where the factors will be, the sums and the squares are now.
    const double off = factor[c] / count;
    const double variance = std::max(0.0, shift[c] / count - off * off);
    mean[c] = static_cast<float>(mean[c] + off);
    inverse[c] = static_cast<float>(1.0 / std::sqrt(variance + kNormEpsilon));
    if (pass != Pass::kTrain) continue;
    const auto unbiased = static_cast<float>(variance * count / (count - 1.0));
    stored[c] = (1.0F - kNormMomentum) * stored[c] + kNormMomentum * mean[c];
    float& spread = stored[channels + c];
    spread = (1.0F - kNormMomentum) * spread + kNormMomentum * unbiased;
  }
  const float* const scale = weights_.data() + operation.weight;
  const float* const bias = weights_.data() + operation.bias;
  for (std::size_t c = 0; c < channels; ++c) {
    factor[c] = scale[c] * inverse[c];
    shift[c] = bias[c] - mean[c] * factor[c];
  }
}

void Net::normalise_sample(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t channels = in.shape.stride;
  const float* const factor = operation.scratch.data() + 2 * channels;
  for (std::size_t h = 0; h < in.shape.height; ++h) {
    combine(factor, in.values.data() + n * in.shape.image() + h * in.shape.line(), nullptr, nullptr,
            factor + channels, in.shape.width, channels, operation.relu,
            out.values.data() + n * out.shape.image() + out.shape.origin() + h * out.shape.line());
  }
}

void Net::add_norm_sums(std::size_t i, std::size_t at, const float* mean, const float* inverse,
                        float* scale_sums, float* shift_sums) const {
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& from = out.gradient_shape;
  for (std::size_t h = 0; h < from.height; ++h) {
    add_norm_gradients(out.gradients_of(at) + h * from.line(),
                       in.values.data() + at * in.shape.image() + h * in.shape.line(), mean,
                       inverse, from.width, in.shape.stride, scale_sums, shift_sums);
  }
}

void Net::gather_norm_sums(std::size_t i, std::size_t n) {
  const std::size_t channels = chain_.flows[i].shape.stride;
  float* const mean = chain_.operations[i].scratch.data();
  float* const scale_sums = mean + 5 * channels;
  if (n == 0) std::fill_n(scale_sums, 2 * channels, 0.0F);
  mask_back(i, n);
  add_norm_sums(i, n, mean, mean + channels, scale_sums, scale_sums + channels);
}

void Net::begin_normalise_back(std::size_t i, std::size_t batch, const Back& back) {
  const Operation& operation = chain_.operations[i];
  const std::size_t channels = chain_.flows[i].shape.stride;
  const float* const mean = operation.scratch.data();
  const float* const inverse = mean + channels;
  const float* const factor = inverse + channels;
  float* const spread = operation.scratch.data() + 3 * channels;
  float* const shift = spread + channels;
  const float* const scale_sums = shift + channels;
  const float* const shift_sums = scale_sums + channels;
  if (back.gradients != nullptr) {
    for (std::size_t c = 0; c < channels; ++c) {
      float& scale = back.gradients[operation.weight + c];
      float& bias = back.gradients[operation.bias + c];
      scale = (back.add ? scale : 0.0F) + scale_sums[c];
      bias = (back.add ? bias : 0.0F) + shift_sums[c];
    }
  }
  // What the batch's mean and deviation pass on to each of its values.
  const auto count = static_cast<float>(batch * chain_.flows[i].shape.pixels());
  for (std::size_t c = 0; c < channels; ++c) {
    spread[c] = operation.of_batch ? -factor[c] * inverse[c] * scale_sums[c] / count : 0.0F;
    shift[c] = operation.of_batch ? -factor[c] * shift_sums[c] / count - spread[c] * mean[c] : 0.0F;
  }
}

void Net::normalise_sample_back(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  if (!operation.needs_input_gradient) return;
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t channels = in.shape.stride;
  const Shape& from = out.gradient_shape;
  const Shape& to = in.gradient_shape;
  const float* const factor = operation.scratch.data() + 2 * channels;
  const float* const spread = factor + channels;
  const float* const shift = spread + channels;
  for (std::size_t h = 0; h < from.height; ++h) {
    combine(factor, out.gradients_of(n) + h * from.line(), spread,
            in.values.data() + n * in.shape.image() + h * in.shape.line(), shift, from.width,
            channels, false, in.gradients_of(n) + h * to.line());
  }
}

/// Every sample by itself: groups of channels have one mean and one deviation over all pixels.
void Net::normalise_groups(std::size_t i, std::size_t n) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t stride = in.shape.stride;
  const std::size_t each = in.shape.channels / static_cast<std::size_t>(operation.layer.groups);
  const auto count = static_cast<double>(each * in.shape.pixels());
  const float* const x = in.values.data() + n * in.shape.image();
  float* const factor = operation.scratch.data();
  float* const shift = factor + stride;
  float* const sums = shift + stride;
  float* const mean = operation.moments.data() + n * 2 * stride;
  float* const inverse = mean + stride;
  const auto mean_of_group = [&](std::size_t first) {
    double sum = 0.0;
    for (std::size_t c = first; c < first + each; ++c) sum += sums[c];
    return sum / count;
  };
  std::fill_n(sums, stride, 0.0F);
  add_up(x, in.shape.pixels(), stride, sums);
  for (std::size_t first = 0; first < in.shape.channels; first += each) {
    std::fill_n(mean + first, each, static_cast<float>(mean_of_group(first)));
  }
  std::fill_n(sums, stride, 0.0F);
  add_squares(x, mean, in.shape.pixels(), stride, sums);
  for (std::size_t first = 0; first < in.shape.channels; first += each) {
    const double variance = mean_of_group(first);
    std::fill_n(inverse + first, each,
                static_cast<float>(1.0 / std::sqrt(variance + kNormEpsilon)));
  }
  const float* const scale = weights_.data() + operation.weight;
  const float* const bias = weights_.data() + operation.bias;
  for (std::size_t c = 0; c < stride; ++c) {
    factor[c] = scale[c] * inverse[c];
    shift[c] = bias[c] - mean[c] * factor[c];
  }
  for (std::size_t h = 0; h < in.shape.height; ++h) {
    combine(factor, x + h * in.shape.line(), nullptr, nullptr, shift, in.shape.width, stride,
            operation.relu,
            out.values.data() + n * out.shape.image() + out.shape.origin() + h * out.shape.line());
  }
}

void Net::normalise_groups_back(std::size_t i, std::size_t n, const Back& back) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& from = out.gradient_shape;
  const Shape& to = in.gradient_shape;
  const std::size_t stride = in.shape.stride;
  const std::size_t each = in.shape.channels / static_cast<std::size_t>(operation.layer.groups);
  const auto count = static_cast<float>(each * in.shape.pixels());
  const float* const scale = weights_.data() + operation.weight;
  float* const factor = operation.scratch.data();
  float* const shift = factor + stride;
  float* const spread = shift + stride;
  float* const scale_sums = spread + stride;
  float* const shift_sums = scale_sums + stride;
  const float* const mean = operation.moments.data() + n * 2 * stride;
  const float* const inverse = mean + stride;
  std::fill_n(scale_sums, 2 * stride, 0.0F);
  add_norm_sums(i, n, mean, inverse, scale_sums, shift_sums);
  if (back.gradients != nullptr) {
    const bool add = back.add || n > 0;
    for (std::size_t c = 0; c < stride; ++c) {
      float& scale_gradient = back.gradients[operation.weight + c];
      float& shift_gradient = back.gradients[operation.bias + c];
      scale_gradient = (add ? scale_gradient : 0.0F) + scale_sums[c];
      shift_gradient = (add ? shift_gradient : 0.0F) + shift_sums[c];
    }
  }
  // What the group's mean and deviation pass on to each of its values.
  for (std::size_t first = 0; first < in.shape.channels; first += each) {
    float by_mean = 0.0F;
    float by_deviation = 0.0F;
    for (std::size_t c = first; c < first + each; ++c) {
      by_mean += scale[c] * shift_sums[c];
      by_deviation += scale[c] * scale_sums[c];
    }
    for (std::size_t c = first; c < first + each; ++c) {
      factor[c] = scale[c] * inverse[c];
      spread[c] = -inverse[c] * inverse[c] * by_deviation / count;
      shift[c] = -inverse[c] * by_mean / count - spread[c] * mean[c];
    }
  }
  // Nothing is left in the channels that are alignment.
  for (float* const row : {factor, shift, spread}) {
    std::fill(row + in.shape.channels, row + stride, 0.0F);
  }
  for (std::size_t h = 0; h < from.height; ++h) {
    combine(factor, out.gradients_of(n) + h * from.line(), spread,
            in.values.data() + n * in.shape.image() + h * in.shape.line(), shift, from.width,
            stride, false, in.gradients_of(n) + h * to.line());
  }
}

}  // namespace sotto::native
