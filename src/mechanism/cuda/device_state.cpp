#include "mechanism/cuda/device_state.h"

#include <algorithm>
#include <type_traits>

#include "mechanism/cuda/aes_tables.h"

namespace sotto {
namespace {

/// Of all weights, the share that there is room for when their words leave them open: 2^-11 of them
/// are, by the poorest of the windows, and of geometric noise on a fine grid four times the error
/// that the fast way must reckon with.
double open_share(const ChannelKernel& kernel) {
  double share = 0x1p-6;
  if (const auto* const k = std::get_if<GeometricKernel>(&kernel)) {
    share += 8.0 * (k->fixed + k->relative * k->bound + k->unit);
  }
  return std::min(share, 1.0);
}
constexpr double kOpenLeast = 0x1p16;

}  // namespace

template <class Kernel>
Result<void> DeviceMechanism::State::upload_kind(std::span<const ChannelKernel> kernels) {
  std::vector<Kernel> all;
  for (const ChannelKernel& kernel : kernels) {
    SOTTO_TRY(const Kernel copied, tables.upload(std::get<Kernel>(kernel)));
    all.push_back(copied);
  }
  return channels.copy_from(std::as_bytes(std::span(all)));
}

Result<void> DeviceMechanism::State::upload_channels() {
  std::vector<ChannelKernel> kernels;
  for (const std::size_t t : numbers) {
    const TensorSpec& tensor = mechanism->domain().layout->tensors()[t];
    const Channel& channel = values->channel_of(tensor.offset);
    const Range& range = mechanism->domain().ranges[t];
    kernels.push_back(channel.kernel());
    wide = wide || channel.wide();
    words = channel.words();
    share = std::max(share, open_share(kernels.back()));
    tensors.push_back({.payload = nullptr,
                       .model = nullptr,
                       .offset = tensor.offset,
                       .size = tensor.size,
                       .low = static_cast<float>(range.centre - range.radius),
                       .centre = static_cast<float>(range.centre),
                       .high = static_cast<float>(range.centre + range.radius),
                       .channel = static_cast<std::uint32_t>(kernels.size() - 1)});
  }
  kind = kernels.front();
  return std::visit(
      [&]<class Kernel>(const Kernel&) -> Result<void> {
        if constexpr (std::is_same_v<Kernel, std::monostate>) {
          return fail(ErrorKind::kInternal, "a channel without a kernel");
        } else {
          return upload_kind<Kernel>(kernels);
        }
      },
      kind);
}

Result<void> DeviceMechanism::State::upload_pieces() {
  std::vector<cuda::Piece> all;
  std::vector<std::uint32_t> first;
  std::size_t t = 0;
  for (std::size_t begin = 0; begin < outputs(); begin += ValueMechanism::kBlock) {
    const std::size_t end = std::min(outputs(), begin + ValueMechanism::kBlock);
    first.push_back(static_cast<std::uint32_t>(all.size()));
    std::uint32_t word = 0;
    for (std::size_t at = begin; at < end;) {
      while (tensors[t].offset + tensors[t].size <= at) ++t;
      const std::size_t until = std::min<std::size_t>(end, tensors[t].offset + tensors[t].size);
      const auto count = static_cast<std::uint32_t>(until - at);
      all.push_back(
          {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(at - begin), count, word});
      word += count * words;
      at = until;
    }
  }
  blocks = static_cast<std::uint32_t>(first.size());
  first.push_back(static_cast<std::uint32_t>(all.size()));
  SOTTO_CHECK(pieces.copy_from(all));
  return first_piece.copy_from(first);
}

Result<cuda::PerturbJob> DeviceMechanism::State::job(std::span<const Place> places,
                                                     std::span<const StreamKey> keys) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].payload = places[numbers[i]].payload;
    tensors[i].model = places[numbers[i]].model;
  }
  SOTTO_CHECK(device_tensors.copy_from(tensors));
  std::vector<std::uint32_t> round;
  for (const StreamKey& key : keys) {
    const auto expanded = cuda::aes_round_keys(key);
    round.insert(round.end(), expanded.begin(), expanded.end());
  }
  SOTTO_CHECK(round_keys.copy_from(round));
  const auto weights = static_cast<double>(outputs() * keys.size());
  SOTTO_CHECK(
      open.reserve(static_cast<std::size_t>(std::min(weights, share * weights + kOpenLeast))));
  SOTTO_CHECK(open_count.reserve(1));
  SOTTO_CHECK(open_count.clear());
  return cuda::PerturbJob{.clients = static_cast<std::uint32_t>(keys.size()),
                          .blocks = blocks,
                          .tensors = device_tensors.data(),
                          .pieces = pieces.data(),
                          .first_piece = first_piece.data(),
                          .table = table.data(),
                          .round_keys = round_keys.data(),
                          .open = open.data(),
                          .open_count = open_count.data(),
                          .open_room = static_cast<std::uint32_t>(open.size())};
}

int DeviceMechanism::State::start(const cuda::PerturbJob& job,
                                  const cuda::PerturbOutput& output) const {
  const void* const all = channels.data();
  return std::visit(
      [&]<class Kernel>(const Kernel&) -> int {
        if constexpr (std::is_same_v<Kernel, std::monostate>) {
          return static_cast<int>(cudaErrorInvalidValue);
        } else {
          return cuda::start_perturb(job, static_cast<const Kernel*>(all), outputs(), output);
        }
      },
      kind);
}

/// Waits for the kernel.
Result<std::vector<cuda::OpenWeight>> DeviceMechanism::State::opened(
    const cuda::PerturbJob& job) const {
  SOTTO_TRY(const std::vector<std::uint32_t> count, open_count.copy(1));
  if (count[0] > job.open_room) {
    return fail(ErrorKind::kInternal,
                "the device left more weights open than there is room for: nothing is released");
  }
  return open.copy(count[0]);
}

Symbol DeviceMechanism::State::finish(const cuda::OpenWeight& weight,
                                      std::span<const StreamKey> keys) const {
  BlockStream stream(keys[weight.client]);
  stream.seek(weight.index / ValueMechanism::kBlock);
  MoreBits more = stream.more(weight.index % ValueMechanism::kBlock);
  return values->channel_of(weight.index).draw(weight.weight, {weight.words, 1}, more);
}

}  // namespace sotto
