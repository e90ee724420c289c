// The batches of clients that are trained side by side. Samples that are never augmented are
// preprocessed once and lie on the device, ready to be picked; augmented ones are made on the
// processor's threads, each client's from its own bits, while the device works on the batch before,
// and enlarged by the device.
#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "sotto/bits.h"
#include "sotto/data.h"

namespace sotto {

class TorchSamples {
 public:
  /// `data` must outlive it.
  TorchSamples(const Dataset& data, const Preprocess& preprocess, const torch::Device& device,
               unsigned threads);

  /// What the samples would take on the device; 0 where they don't lie there.
  static std::size_t device_bytes(const Dataset& data, const Preprocess& preprocess);

  /// How the next epoch goes through each client's samples, equally many for all; `orders` must
  /// stay as they are until it is over.
  void begin_epoch(std::span<const std::vector<std::uint32_t>> orders);

  struct Batch {
    torch::Tensor values;  // samples x (clients channels) x height x width
    torch::Tensor labels;  // clients x samples
  };
  /// Of each client its samples [first, first + size) of the epoch.
  Batch batch(std::size_t first, std::size_t size, std::span<BitSource* const> bits);

  /// The rows of values of samples that lie on the device: each one's own, then its views.
  struct Rows {
    torch::Tensor values;  // rows x features
    torch::Tensor labels;
  };
  Rows rows(std::span<const std::uint32_t> samples) const;
  std::int64_t views() const noexcept { return data_.views; }

  unsigned threads() const noexcept { return threads_; }

 private:
  Batch made(std::size_t first, std::size_t size, std::span<BitSource* const> bits);
  /// For one grey channel that stands for several.
  void repeat_first(const Preprocess& preprocess);
  /// Enlarged, and a grey channel repeated, as the network wants them.
  torch::Tensor enlarged(torch::Tensor images) const;

  const Dataset& data_;
  SampleShape shape_;
  torch::Device device_;
  unsigned threads_;
  // On the device: all samples, their labels, and the epoch's picks, a row for each place.
  torch::Tensor values_;
  torch::Tensor labels_;
  torch::Tensor picked_;
  // Or made: what the processor does, the epoch's orders, and the room for a batch, client after
  // client, which the device reads.
  Preprocess on_processor_;
  std::span<const std::vector<std::uint32_t>> orders_;
  torch::Tensor made_values_;
  torch::Tensor made_labels_;
  // The first channel's normalisation to that of each channel, where it is repeated.
  torch::Tensor scale_;
  torch::Tensor shift_;
};

}  // namespace sotto
