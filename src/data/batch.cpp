// From stored samples to what a network eats: augment, normalise, enlarge, repeat the grey channel.
//
// Normalising is affine, so it commutes with bilinear sampling: pixels are normalised as they are
// fetched (bytes through a table), "outside the image" is the normalised zero, and everything after
// works on floats. The plain path writes straight into the batch; enlarging goes through one small
// buffer for each thread.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>

#include "data/channel_number.h"
#include "sotto/data.h"

namespace sotto {
namespace {

/// value -> (value - mean) / deviation, for one channel. Bytes come scaled to [0, 1].
class Normaliser {
 public:
  Normaliser(const Preprocess& preprocess, std::size_t channel, bool bytes)
      : mean_(of_channel(preprocess.mean, channel, 0.0F)),
        deviation_(of_channel(preprocess.deviation, channel, 1.0F)) {
    if (!bytes) return;
    for (std::size_t value = 0; value < table_.size(); ++value) {
      table_[value] = (*this)(static_cast<float>(value) / 255.0F);
    }
  }
  float operator()(float value) const { return (value - mean_) / deviation_; }
  float operator()(std::uint8_t value) const { return table_[value]; }
  float mean() const { return mean_; }
  float deviation() const { return deviation_; }

 private:
  float mean_;
  float deviation_;
  std::array<float, 256> table_;
};

/// What was drawn for one sample. The draws are in the order of the members.
struct Augmentation {
  std::ptrdiff_t shift_x = 0;  // of the source, by cropping
  std::ptrdiff_t shift_y = 0;
  bool flip = false;
  bool rotate = false;
  float cosine = 1.0F;
  float sine = 0.0F;

  Augmentation(const Preprocess& preprocess, BitSource* bits) {
    if (bits == nullptr) {
      set(preprocess.view);
      return;
    }
    if (preprocess.crop_padding > 0) {
      const auto padding = static_cast<std::ptrdiff_t>(preprocess.crop_padding);
      const auto places = 2 * std::uint64_t{preprocess.crop_padding} + 1;
      shift_x = static_cast<std::ptrdiff_t>(bits->below(places)) - padding;
      shift_y = static_cast<std::ptrdiff_t>(bits->below(places)) - padding;
    }
    if (preprocess.flip) flip = (bits->next_u64() & 1U) != 0;
    if (preprocess.rotation_degrees > 0.0F) {
      turn(preprocess.rotation_degrees * (2.0 * bits->unit() - 1.0));
    }
  }

  /// Where the image moves to the right, its source moves to the left, or a mirrored one to the
  /// right.
  void set(const ImageView& view) {
    flip = view.flip;
    shift_x = view.flip ? view.right : -view.right;
    shift_y = -view.down;
    if (view.degrees != 0.0) turn(view.degrees);
  }

  void turn(double degrees) {
    const double angle = degrees * std::numbers::pi / 180.0;
    rotate = true;
    cosine = static_cast<float>(std::cos(angle));
    sine = static_cast<float>(std::sin(angle));
  }

  bool plain() const { return shift_x == 0 && shift_y == 0 && !flip && !rotate; }
};

/// One channel of one sample: its pixels, and zero around them.
template <class T>
class Plane {
 public:
  Plane(const T* pixels, const SampleShape& shape, const Normaliser& normalise)
      : pixels_(pixels),
        height_(static_cast<std::ptrdiff_t>(shape.height)),
        width_(static_cast<std::ptrdiff_t>(shape.width)),
        normalise_(normalise),
        zero_(normalise(0.0F)) {}

  void copy(float* out) const {
    const std::ptrdiff_t size = height_ * width_;
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] = normalise_(pixels_[i]);
  }

  void shift_and_flip(const Augmentation& how, float* out) const {
    for (std::ptrdiff_t y = 0; y < height_; ++y) {
      const std::ptrdiff_t from_y = y + how.shift_y;
      for (std::ptrdiff_t x = 0; x < width_; ++x) {
        *out++ = pixel(from_y, (how.flip ? width_ - 1 - x : x) + how.shift_x);
      }
    }
  }

  /// Turns about the centre, after the shift and the flip.
  void rotate(const Augmentation& how, float* out) const {
    const float centre_x = 0.5F * static_cast<float>(width_ - 1);
    const float centre_y = 0.5F * static_cast<float>(height_ - 1);
    const float mirror = how.flip ? -1.0F : 1.0F;
    for (std::ptrdiff_t y = 0; y < height_; ++y) {
      const float v = static_cast<float>(y) - centre_y;
      for (std::ptrdiff_t x = 0; x < width_; ++x) {
        const float u = static_cast<float>(x) - centre_x;
        const float from_x =
            centre_x + mirror * (how.cosine * u + how.sine * v) + static_cast<float>(how.shift_x);
        const float from_y =
            centre_y + how.cosine * v - how.sine * u + static_cast<float>(how.shift_y);
        *out++ = sample(from_y, from_x);
      }
    }
  }

 private:
  float pixel(std::ptrdiff_t y, std::ptrdiff_t x) const {
    const bool inside = y >= 0 && y < height_ && x >= 0 && x < width_;
    return inside ? normalise_(pixels_[y * width_ + x]) : zero_;
  }

  float sample(float y, float x) const {
    const float floor_y = std::floor(y);
    const float floor_x = std::floor(x);
    const auto iy = static_cast<std::ptrdiff_t>(floor_y);
    const auto ix = static_cast<std::ptrdiff_t>(floor_x);
    const float fy = y - floor_y;
    const float fx = x - floor_x;
    const float top = pixel(iy, ix) + fx * (pixel(iy, ix + 1) - pixel(iy, ix));
    const float bottom = pixel(iy + 1, ix) + fx * (pixel(iy + 1, ix + 1) - pixel(iy + 1, ix));
    return top + fy * (bottom - top);
  }

  const T* pixels_;
  std::ptrdiff_t height_;
  std::ptrdiff_t width_;
  const Normaliser& normalise_;
  float zero_;
};

template <class T>
void prepare_plane(const Plane<T>& plane, const Augmentation& how, float* out) {
  if (how.plain()) return plane.copy(out);
  return how.rotate ? plane.rotate(how, out) : plane.shift_and_flip(how, out);
}

/// Bilinear, pixel centres at half-integers, edges continued: for each output position along one
/// axis the two inputs it lies between.
class Axis {
 public:
  void set(std::size_t from, std::size_t to) {
    if (low_.size() == to && from_ == from) return;
    from_ = from;
    low_.resize(to);
    high_.resize(to);
    weight_.resize(to);
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    for (std::size_t i = 0; i < to; ++i) {
      const double last = static_cast<double>(from - 1);
      const double at = std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0, last);
      low_[i] = static_cast<std::uint32_t>(at);
      high_[i] = static_cast<std::uint32_t>(std::min<std::size_t>(low_[i] + 1, from - 1));
      weight_[i] = static_cast<float>(at - low_[i]);
    }
  }
  std::size_t size() const { return low_.size(); }
  std::size_t low(std::size_t i) const { return low_[i]; }
  std::size_t high(std::size_t i) const { return high_[i]; }
  float weight(std::size_t i) const { return weight_[i]; }

 private:
  std::size_t from_ = 0;
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> high_;
  std::vector<float> weight_;
};

/// Resizes planes from one shape to another. Kept by each thread from batch to batch, so that its
/// buffers are allocated once.
class Resizer {
 public:
  void set(const SampleShape& from, const SampleShape& to) {
    columns_.set(from.width, to.width);
    rows_.set(from.height, to.height);
    input_.resize(std::size_t{from.height} * from.width);
    wide_.resize(std::size_t{from.height} * to.width);
    from_ = from;
  }

  /// Where the plane to be resized is put.
  float* input() { return input_.data(); }

  void resize_to(float* out) {
    // Columns first: only the few input rows need them.
    const std::size_t width = columns_.size();
    for (std::size_t y = 0; y < from_.height; ++y) {
      const float* in = input_.data() + y * from_.width;
      float* row = wide_.data() + y * width;
      for (std::size_t x = 0; x < width; ++x) {
        const float left = in[columns_.low(x)];
        row[x] = left + columns_.weight(x) * (in[columns_.high(x)] - left);
      }
    }
    for (std::size_t y = 0; y < rows_.size(); ++y) {
      const float* top = wide_.data() + rows_.low(y) * width;
      const float* bottom = wide_.data() + rows_.high(y) * width;
      const float weight = rows_.weight(y);
      float* row = out + y * width;
      for (std::size_t x = 0; x < width; ++x) row[x] = top[x] + weight * (bottom[x] - top[x]);
    }
  }

 private:
  SampleShape from_;
  Axis columns_;
  Axis rows_;
  std::vector<float> input_;
  std::vector<float> wide_;
};

/// A grey channel normalised as `from`, repeated as a channel normalised as `to`.
void repeat_plane(const float* plane, std::size_t size, const Normaliser& from,
                  const Normaliser& to, float* out) {
  if (from.mean() == to.mean() && from.deviation() == to.deviation()) {
    std::memcpy(out, plane, size * sizeof(float));
    return;
  }
  const Renormalise by(from.mean(), from.deviation(), to.mean(), to.deviation());
  for (std::size_t i = 0; i < size; ++i) out[i] = by.scale * plane[i] + by.shift;
}

template <class T>
void fill(const std::vector<T>& values, const SampleShape& shape,
          std::span<const std::uint32_t> indices, const Preprocess& preprocess, BitSource* augment,
          std::span<float> x) {
  const SampleShape to = preprocess.resize.value_or(shape);
  const bool resize = to.height != shape.height || to.width != shape.width;
  const std::size_t in_plane = std::size_t{shape.height} * shape.width;
  const std::size_t out_plane = std::size_t{to.height} * to.width;
  thread_local std::vector<Normaliser> normalisers;  // its memory lasts: steps allocate nothing
  normalisers.clear();
  for (std::size_t c = 0; c < to.channels; ++c) {
    normalisers.emplace_back(preprocess, c, sizeof(T) == 1);
  }
  thread_local Resizer resizer;
  if (resize) resizer.set(shape, to);

  float* out = x.data();
  for (const std::uint32_t index : indices) {
    const Augmentation how(preprocess, augment);
    const T* sample = values.data() + index * shape.size();
    float* const first = out;
    for (std::size_t c = 0; c < shape.channels; ++c, out += out_plane) {
      const Plane<T> plane(sample + c * in_plane, shape, normalisers[c]);
      prepare_plane(plane, how, resize ? resizer.input() : out);
      if (resize) resizer.resize_to(out);
    }
    for (std::size_t c = shape.channels; c < to.channels; ++c, out += out_plane) {
      repeat_plane(first, out_plane, normalisers[0], normalisers[c], out);
    }
  }
}

/// Eight bits at a time, through a table of what they become.
void fill_bits(const Dataset& data, std::span<const std::uint32_t> indices,
               const Preprocess& preprocess, std::span<float> x) {
  const Normaliser normalise(preprocess, 0, false);
  const float of_bit[2] = {normalise(0.0F), normalise(1.0F)};
  std::array<std::array<float, 8>, 256> table;
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    for (std::size_t i = 0; i < 8; ++i) table[byte][i] = of_bit[byte >> i & 1];
  }
  const auto& bytes = std::get<std::vector<std::uint8_t>>(data.values);
  const std::size_t bits = data.shape.size();
  float* out = x.data();
  for (const std::uint32_t index : indices) {
    const std::uint8_t* byte = bytes.data() + index * data.packed_size();
    for (std::size_t at = 0; at < bits; at += 8, ++byte) {
      const std::size_t count = std::min<std::size_t>(8, bits - at);
      out = std::copy_n(table[*byte].data(), count, out);
    }
  }
}

}  // namespace

SampleShape output_shape(const Dataset& data, const Preprocess& preprocess) {
  return preprocess.resize.value_or(data.shape);
}

Result<void> check_preprocess(const Dataset& data, const Preprocess& preprocess) {
  const SampleShape to = output_shape(data, preprocess);
  if (to.size() == 0) return fail(ErrorKind::kUsage, "resize: every side must be at least 1");
  const bool changes = preprocess.augments() || preprocess.view != ImageView{};
  if (data.packed && (to != data.shape || changes || to.channels != 1)) {
    return fail(ErrorKind::kUsage,
                "samples of bits are one channel, neither resized nor augmented");
  }
  if (to.channels != data.shape.channels && data.shape.channels != 1) {
    return fail(ErrorKind::kUsage, "resize: " + std::to_string(data.shape.channels) +
                                       " channels cannot become " + std::to_string(to.channels) +
                                       "; only one grey channel can be repeated");
  }
  for (const auto& [name, numbers] :
       {std::pair{"mean", &preprocess.mean}, std::pair{"deviation", &preprocess.deviation}}) {
    if (numbers->size() > 1 && numbers->size() != to.channels) {
      return fail(ErrorKind::kUsage, std::string(name) + ": " + std::to_string(numbers->size()) +
                                         " numbers for " + std::to_string(to.channels) +
                                         " channels; give one for each, or one for all");
    }
    for (const float number : *numbers) {
      if (!std::isfinite(number) || (numbers == &preprocess.deviation && number <= 0.0F)) {
        return fail(ErrorKind::kUsage,
                    std::string(name) + ": " + std::to_string(number) + " is not a finite " +
                        (numbers == &preprocess.deviation ? "positive number" : "number"));
      }
    }
  }
  if (!(preprocess.rotation_degrees >= 0.0F && preprocess.rotation_degrees <= 180.0F)) {
    return fail(ErrorKind::kUsage, "rotation: " + std::to_string(preprocess.rotation_degrees) +
                                       " degrees; valid is [0, 180]");
  }
  if (preprocess.crop_padding > std::max(data.shape.height, data.shape.width)) {
    return fail(ErrorKind::kUsage,
                "crop padding: " + std::to_string(preprocess.crop_padding) +
                    " pixels would crop the image away; valid is [0, " +
                    std::to_string(std::max(data.shape.height, data.shape.width)) + "]");
  }
  return {};
}

void fill_batch(const Dataset& data, std::span<const std::uint32_t> rows,
                const Preprocess& preprocess, BitSource* augment, std::span<float> x,
                std::span<std::int64_t> y) {
  assert(check_preprocess(data, preprocess));
  assert(x.size() == rows.size() * output_shape(data, preprocess).size());
  assert(y.size() == rows.size());
  if (!preprocess.augments()) augment = nullptr;
  if (data.packed) {
    fill_bits(data, rows, preprocess, x);
  } else {
    std::visit([&](const auto& values) { fill(values, data.shape, rows, preprocess, augment, x); },
               data.values);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) y[i] = data.labels[rows[i] / data.views];
}

}  // namespace sotto
