#include "train/torch_samples.h"

#include <algorithm>

#include "base/parallel.h"

namespace sotto {

TorchSamples::TorchSamples(const Dataset& data, const Preprocess& preprocess,
                           const torch::Device& device, unsigned threads)
    : data_(data),
      preprocess_(preprocess),
      shape_(output_shape(data, preprocess)),
      device_(device),
      threads_(threads) {
  if (preprocess.augments()) return;
  constexpr std::size_t kTogether = 1024;
  const auto count = static_cast<std::int64_t>(data.size());
  const auto options = torch::TensorOptions().device(device);
  values_ = torch::empty({count, shape_.channels, shape_.height, shape_.width}, options);
  labels_ = torch::empty({count}, options.dtype(torch::kInt64));
  std::vector<std::uint32_t> numbers;
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (std::size_t first = 0; first < data.size(); first += kTogether) {
    const std::size_t size = std::min(kTogether, data.size() - first);
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
  return data.size() *
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
  const std::size_t values = size * shape_.size();
  made_values_.resize(orders_.size() * values);
  made_labels_.resize(orders_.size() * size);
  const Result<void> done =
      parallel_for(threads_, orders_.size(), [&](unsigned /*lane*/, std::size_t c) -> Result<void> {
        fill_batch(data_, std::span(orders_[c]).subspan(first, size), preprocess_, bits[c],
                   std::span(made_values_).subspan(c * values, values),
                   std::span(made_labels_).subspan(c * size, size));
        return {};
      });
  TORCH_CHECK(done.has_value(), "filling a batch failed");
  const auto clients = static_cast<std::int64_t>(orders_.size());
  const auto count = static_cast<std::int64_t>(size);
  const torch::Tensor x = torch::from_blob(made_values_.data(), {clients, count, shape_.channels,
                                                                 shape_.height, shape_.width})
                              .to(device_, /*non_blocking=*/false, /*copy=*/true);
  return {x.transpose(0, 1).reshape({count, -1, shape_.height, shape_.width}),
          torch::from_blob(made_labels_.data(), {clients, count}, torch::kInt64)
              .to(device_, /*non_blocking=*/false, /*copy=*/true)};
}

}  // namespace sotto
