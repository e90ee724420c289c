#include "train/torch/torch_samples.h"

#include <algorithm>

#include "base/parallel.h"
#include "data/channel_number.h"

namespace sotto {

TorchSamples::TorchSamples(const Dataset& data, const Preprocess& preprocess,
                           const torch::Device& device, unsigned threads)
    : data_(data), shape_(output_shape(data, preprocess)), device_(device), threads_(threads) {
  if (preprocess.augments()) {
    on_processor_ = preprocess;
    on_processor_.resize.reset();
    if (shape_.channels != data.shape.channels) repeat_first(preprocess);
    return;
  }
  constexpr std::size_t kTogether = 1024;
  const std::size_t rows = data.size() * data.views;
  const auto count = static_cast<std::int64_t>(rows);
  const auto options = torch::TensorOptions().device(device);
  values_ = torch::empty({count, shape_.channels, shape_.height, shape_.width}, options);
  labels_ = torch::empty({count}, options.dtype(torch::kInt64));
  std::vector<std::uint32_t> numbers;
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (std::size_t first = 0; first < rows; first += kTogether) {
    const std::size_t size = std::min(kTogether, rows - first);
    numbers.resize(size);
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<std::uint32_t>(first + i);
    pixels.resize(size * shape_.size());
    labels.resize(size);
    fill_batch(data, numbers, preprocess, nullptr, pixels, labels);
    const auto from = static_cast<std::int64_t>(first);
    const auto here = static_cast<std::int64_t>(size);
    values_.narrow(0, from, here)
        .copy_(
            torch::from_blob(pixels.data(), {here, shape_.channels, shape_.height, shape_.width}));
    labels_.narrow(0, from, here).copy_(torch::from_blob(labels.data(), {here}, torch::kInt64));
  }
}

std::size_t TorchSamples::device_bytes(const Dataset& data, const Preprocess& preprocess) {
  if (preprocess.augments()) return 0;
  return data.size() * data.views *
         (output_shape(data, preprocess).size() * sizeof(float) + sizeof(std::int64_t));
}

void TorchSamples::begin_epoch(std::span<const std::vector<std::uint32_t>> orders) {
  if (!values_.defined()) {
    orders_ = orders;
    return;
  }
  const std::size_t count = orders.front().size();
  std::vector<std::int64_t> picked(count * orders.size());
  for (std::size_t c = 0; c < orders.size(); ++c) {
    for (std::size_t i = 0; i < count; ++i) picked[i * orders.size() + c] = orders[c][i];
  }
  picked_ =
      torch::from_blob(picked.data(),
                       {static_cast<std::int64_t>(count), static_cast<std::int64_t>(orders.size())},
                       torch::kInt64)
          .to(device_, /*non_blocking=*/false, /*copy=*/true);
}

TorchSamples::Rows TorchSamples::rows(std::span<const std::uint32_t> samples) const {
  const std::vector<std::int64_t> numbers(samples.begin(), samples.end());
  const auto count = static_cast<std::int64_t>(numbers.size());
  torch::Tensor picked =
      torch::from_blob(const_cast<std::int64_t*>(numbers.data()), {count}, torch::kInt64)
          .to(device_, /*non_blocking=*/false, /*copy=*/true);
  if (data_.views > 1) {
    const torch::Tensor view = torch::arange(views(), picked.options());
    picked = (picked.unsqueeze(1) * views() + view).flatten();
  }
  return {values_.index_select(0, picked).flatten(1), labels_.index_select(0, picked)};
}

TorchSamples::Batch TorchSamples::batch(std::size_t first, std::size_t size,
                                        std::span<BitSource* const> bits) {
  if (!values_.defined()) return made(first, size, bits);
  const auto count = static_cast<std::int64_t>(size);
  const torch::Tensor picked =
      picked_.narrow(0, static_cast<std::int64_t>(first), count).reshape({-1});
  return {values_.index_select(0, picked).view({count, -1, shape_.height, shape_.width}),
          labels_.index_select(0, picked).view({count, -1}).t()};
}

TorchSamples::Batch TorchSamples::made(std::size_t first, std::size_t size,
                                       std::span<BitSource* const> bits) {
  const std::size_t values = size * data_.shape.size();
  const auto clients = static_cast<std::int64_t>(orders_.size());
  const auto count = static_cast<std::int64_t>(size);
  if (!made_labels_.defined() || made_labels_.sizes() != torch::IntArrayRef({clients, count})) {
    const auto pinned = torch::TensorOptions().pinned_memory(device_.is_cuda());
    made_values_ = torch::empty(
        {clients, count, data_.shape.channels, data_.shape.height, data_.shape.width}, pinned);
    made_labels_ = torch::empty({clients, count}, pinned.dtype(torch::kInt64));
  }
  const std::span x(made_values_.data_ptr<float>(), orders_.size() * values);
  const std::span y(made_labels_.data_ptr<std::int64_t>(), orders_.size() * size);
  const Result<void> done =
      parallel_for(threads_, orders_.size(), [&](unsigned /*lane*/, std::size_t c) -> Result<void> {
        fill_batch(data_, std::span(orders_[c]).subspan(first, size), on_processor_, bits[c],
                   x.subspan(c * values, values), y.subspan(c * size, size));
        return {};
      });
  TORCH_CHECK(done.has_value(), "filling a batch failed");
  const torch::Tensor images =
      made_values_.to(device_, /*non_blocking=*/false, /*copy=*/true).transpose(0, 1).flatten(0, 1);
  return {enlarged(images).view({count, -1, shape_.height, shape_.width}),
          made_labels_.to(device_, /*non_blocking=*/false, /*copy=*/true)};
}

void TorchSamples::repeat_first(const Preprocess& preprocess) {
  const float mean = of_channel(preprocess.mean, 0, 0.0F);
  const float deviation = of_channel(preprocess.deviation, 0, 1.0F);
  std::vector<float> scale;
  std::vector<float> shift;
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    const Renormalise by(mean, deviation, of_channel(preprocess.mean, c, 0.0F),
                         of_channel(preprocess.deviation, c, 1.0F));
    scale.push_back(by.scale);
    shift.push_back(by.shift);
  }
  scale_ = torch::tensor(scale).view({-1, 1, 1}).to(device_);
  shift_ = torch::tensor(shift).view({-1, 1, 1}).to(device_);
  on_processor_.mean = {mean};
  on_processor_.deviation = {deviation};
}

torch::Tensor TorchSamples::enlarged(torch::Tensor images) const {
  if (shape_.height != data_.shape.height || shape_.width != data_.shape.width) {
    images = torch::upsample_bilinear2d(images, {shape_.height, shape_.width},
                                        /*align_corners=*/false);
  }
  return scale_.defined() ? images * scale_ + shift_ : images;
}

}  // namespace sotto
