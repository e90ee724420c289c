// Batch norm and group norm, forth and back. See net.h.
#include <algorithm>
#include <cmath>

#include "native/net.h"

namespace sotto::native {
namespace {

constexpr float kNormMomentum = 0.1F;
constexpr double kNormEpsilon = 1e-5;

}  // namespace

void Net::normalise(std::size_t i, std::size_t batch, Pass pass) {
  Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t channels = in.shape.stride;
  // Values before a norm have no frame: only convolutions read one.
  const std::size_t pixels = in.shape.pixels();
  float* const mean = operation.scratch.data();
  float* const inverse = mean + channels;
  float* const factor = inverse + channels;
  float* const shift = factor + channels;
  float* const stored = statistics_.data() + operation.statistics;
  // A single sample has no variance over features: then the running statistics serve.
  operation.of_batch = (operation.layer.spatial || batch > 1) && pass != Pass::kEvaluate;
  if (operation.of_batch) {
    const auto count = static_cast<double>(batch * pixels);
    std::fill_n(factor, channels, 0.0F);
    for (std::size_t n = 0; n < batch; ++n) {
      add_up(in.values.data() + n * in.shape.image(), pixels, channels, factor);
    }
    for (std::size_t c = 0; c < channels; ++c) mean[c] = static_cast<float>(factor[c] / count);
    std::fill_n(factor, channels, 0.0F);
    for (std::size_t n = 0; n < batch; ++n) {
      add_squares(in.values.data() + n * in.shape.image(), mean, pixels, channels, factor);
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const double variance = factor[c] / count;
      inverse[c] = static_cast<float>(1.0 / std::sqrt(variance + kNormEpsilon));
      if (pass != Pass::kTrain) continue;
      const auto unbiased = static_cast<float>(variance * count / (count - 1.0));
      stored[c] = (1.0F - kNormMomentum) * stored[c] + kNormMomentum * mean[c];
      float& spread = stored[channels + c];
      spread = (1.0F - kNormMomentum) * spread + kNormMomentum * unbiased;
    }
  } else {
    for (std::size_t c = 0; c < channels; ++c) {
      mean[c] = stored[c];
      inverse[c] = static_cast<float>(1.0 / std::sqrt(stored[channels + c] + kNormEpsilon));
    }
  }
  const float* const scale = weights_.data() + operation.weight;
  const float* const bias = weights_.data() + operation.bias;
  for (std::size_t c = 0; c < channels; ++c) {
    factor[c] = scale[c] * inverse[c];
    shift[c] = bias[c] - mean[c] * factor[c];
  }
  for (std::size_t n = 0; n < batch; ++n) {
    for (std::size_t h = 0; h < in.shape.height; ++h) {
      combine(
          factor, in.values.data() + n * in.shape.image() + h * in.shape.line(), nullptr, nullptr,
          shift, in.shape.width, channels, operation.relu,
          out.values.data() + n * out.shape.image() + out.shape.origin() + h * out.shape.line());
    }
  }
}

void Net::add_norm_sums(std::size_t i, std::size_t at, const float* mean, const float* inverse,
                        float* scale_sums, float* shift_sums) const {
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& from = out.gradient_shape;
  for (std::size_t h = 0; h < from.height; ++h) {
    add_norm_gradients(out.gradients.data() + at * from.image() + from.origin() + h * from.line(),
                       in.values.data() + at * in.shape.image() + h * in.shape.line(), mean,
                       inverse, from.width, in.shape.stride, scale_sums, shift_sums);
  }
}

void Net::normalise_back(std::size_t i, std::size_t batch, float* gradients, bool add) {
  Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t channels = in.shape.stride;
  const Shape& from = out.gradient_shape;
  const Shape& to = in.gradient_shape;
  const float* const mean = operation.scratch.data();
  const float* const inverse = mean + channels;
  const float* const factor = inverse + channels;
  float* const spread = operation.scratch.data() + 3 * channels;
  float* const shift = spread + channels;
  float* const scale_sums = shift + channels;
  float* const shift_sums = scale_sums + channels;
  std::fill_n(scale_sums, 2 * channels, 0.0F);
  for (std::size_t n = 0; n < batch; ++n) {
    add_norm_sums(i, n, mean, inverse, scale_sums, shift_sums);
  }
  if (gradients != nullptr) {
    for (std::size_t c = 0; c < channels; ++c) {
      float& scale = gradients[operation.weight + c];
      float& bias = gradients[operation.bias + c];
      scale = (add ? scale : 0.0F) + scale_sums[c];
      bias = (add ? bias : 0.0F) + shift_sums[c];
    }
  }
  if (!operation.needs_input_gradient) return;
  // What the batch's mean and deviation pass on to each of its values.
  const auto count = static_cast<float>(batch * in.shape.pixels());
  for (std::size_t c = 0; c < channels; ++c) {
    spread[c] = operation.of_batch ? -factor[c] * inverse[c] * scale_sums[c] / count : 0.0F;
    shift[c] = operation.of_batch ? -factor[c] * shift_sums[c] / count - spread[c] * mean[c] : 0.0F;
  }
  for (std::size_t n = 0; n < batch; ++n) {
    for (std::size_t h = 0; h < from.height; ++h) {
      combine(factor, out.gradients.data() + n * from.image() + from.origin() + h * from.line(),
              spread, in.values.data() + n * in.shape.image() + h * in.shape.line(), shift,
              from.width, channels, false,
              in.gradients.data() + n * to.image() + to.origin() + h * to.line());
    }
  }
}

/// Every sample by itself: groups of channels have one mean and one deviation over all pixels.
void Net::normalise_groups(std::size_t i, std::size_t batch) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const std::size_t stride = in.shape.stride;
  const auto groups = static_cast<std::size_t>(operation.layer.groups);
  const std::size_t each = in.shape.channels / groups;
  const auto count = static_cast<double>(each * in.shape.pixels());
  const float* const scale = weights_.data() + operation.weight;
  const float* const bias = weights_.data() + operation.bias;
  float* const factor = operation.scratch.data();
  float* const shift = factor + stride;
  float* const sums = shift + stride;
  for (std::size_t n = 0; n < batch; ++n) {
    const float* const x = in.values.data() + n * in.shape.image();
    float* const mean = operation.moments.data() + n * 2 * stride;
    float* const inverse = mean + stride;
    std::fill_n(sums, stride, 0.0F);
    add_up(x, in.shape.pixels(), stride, sums);
    for (std::size_t first = 0; first < groups * each; first += each) {
      double sum = 0.0;
      for (std::size_t c = first; c < first + each; ++c) sum += sums[c];
      std::fill_n(mean + first, each, static_cast<float>(sum / count));
    }
    std::fill_n(sums, stride, 0.0F);
    add_squares(x, mean, in.shape.pixels(), stride, sums);
    for (std::size_t first = 0; first < groups * each; first += each) {
      double sum = 0.0;
      for (std::size_t c = first; c < first + each; ++c) sum += sums[c];
      std::fill_n(inverse + first, each,
                  static_cast<float>(1.0 / std::sqrt(sum / count + kNormEpsilon)));
    }
    for (std::size_t c = 0; c < stride; ++c) {
      factor[c] = scale[c] * inverse[c];
      shift[c] = bias[c] - mean[c] * factor[c];
    }
    for (std::size_t h = 0; h < in.shape.height; ++h) {
      combine(
          factor, x + h * in.shape.line(), nullptr, nullptr, shift, in.shape.width, stride,
          operation.relu,
          out.values.data() + n * out.shape.image() + out.shape.origin() + h * out.shape.line());
    }
  }
}

void Net::normalise_groups_back(std::size_t i, std::size_t batch, float* gradients, bool add) {
  const Operation& operation = chain_.operations[i];
  const Flow& in = chain_.flows[i];
  const Flow& out = chain_.flows[i + 1];
  const Shape& from = out.gradient_shape;
  const Shape& to = in.gradient_shape;
  const std::size_t stride = in.shape.stride;
  const auto groups = static_cast<std::size_t>(operation.layer.groups);
  const std::size_t each = in.shape.channels / groups;
  const auto count = static_cast<float>(each * in.shape.pixels());
  const float* const scale = weights_.data() + operation.weight;
  float* const factor = operation.scratch.data();
  float* const shift = factor + stride;
  float* const spread = shift + stride;
  float* const scale_sums = spread + stride;
  float* const shift_sums = scale_sums + stride;
  if (gradients != nullptr && !add) {
    std::fill_n(gradients + operation.weight, stride, 0.0F);
    std::fill_n(gradients + operation.bias, stride, 0.0F);
  }
  for (std::size_t n = 0; n < batch; ++n) {
    const float* const mean = operation.moments.data() + n * 2 * stride;
    const float* const inverse = mean + stride;
    std::fill_n(scale_sums, 2 * stride, 0.0F);
    add_norm_sums(i, n, mean, inverse, scale_sums, shift_sums);
    if (gradients != nullptr) {
      for (std::size_t c = 0; c < stride; ++c) {
        gradients[operation.weight + c] += scale_sums[c];
        gradients[operation.bias + c] += shift_sums[c];
      }
    }
    // What the group's mean and deviation pass on to each of its values.
    for (std::size_t first = 0; first < groups * each; first += each) {
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
    for (std::size_t h = 0; h < from.height; ++h) {
      combine(factor, out.gradients.data() + n * from.image() + from.origin() + h * from.line(),
              spread, in.values.data() + n * in.shape.image() + h * in.shape.line(), shift,
              from.width, stride, false,
              in.gradients.data() + n * to.image() + to.origin() + h * to.line());
    }
  }
}

void Net::weigh_norm(std::size_t i, std::size_t at, float* gradients) const {
  const Operation& operation = chain_.operations[i];
  const std::size_t stride = chain_.flows[i].shape.stride;
  const float* const mean = operation.layer.kind == LayerKind::kGroupNorm
                                ? operation.moments.data() + at * 2 * stride
                                : operation.scratch.data();
  std::fill_n(gradients + operation.weight, stride, 0.0F);
  std::fill_n(gradients + operation.bias, stride, 0.0F);
  add_norm_sums(i, at, mean, mean + stride, gradients + operation.weight,
                gradients + operation.bias);
}

}  // namespace sotto::native
