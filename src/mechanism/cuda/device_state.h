// What a DeviceMechanism holds: the channels' tables, the cut of the layout into blocks and the
// sums, all in the memory of the device.
#pragma once

#include <utility>

#include "mechanism/cuda/device_mechanism.h"
#include "mechanism/cuda/device_memory.h"
#include "mechanism/cuda/device_vector.h"
#include "mechanism/cuda/job.h"
#include "mechanism/value/value.h"

namespace sotto {

/// One channel's numbers with its tables copied to the device, which `tables` keeps.
struct DeviceTables {
  std::vector<cuda::DeviceMemory<double>> doubles;
  std::vector<cuda::DeviceMemory<std::int32_t>> integers;

  Result<const double*> keep(const double* values, std::int32_t count) {
    if (values == nullptr || count == 0) return nullptr;
    doubles.emplace_back();
    SOTTO_CHECK(doubles.back().copy_from({values, static_cast<std::size_t>(count)}));
    return doubles.back().data();
  }
  Result<const std::int32_t*> keep(const std::int32_t* values, std::int32_t count) {
    if (values == nullptr || count == 0) return nullptr;
    integers.emplace_back();
    SOTTO_CHECK(integers.back().copy_from({values, static_cast<std::size_t>(count)}));
    return integers.back().data();
  }

  template <class Kernel>
  Result<Kernel> upload(const Kernel& kernel) {
    return kernel;
  }
  Result<StaircaseView> upload(StaircaseView kernel) {
    SOTTO_TRY(kernel.upper, keep(kernel.upper, kernel.padded));
    SOTTO_TRY(kernel.size, keep(kernel.size, kernel.padded));
    SOTTO_TRY(kernel.begin, keep(kernel.begin, kernel.padded));
    return kernel;
  }
  Result<WindowKernel> upload(WindowKernel kernel) {
    SOTTO_TRY(kernel.positions, keep(kernel.positions, kernel.position_count));
    SOTTO_TRY(kernel.nodes, keep(kernel.nodes, kernel.node_count));
    SOTTO_TRY(kernel.inverse, keep(kernel.inverse, kernel.node_count - 1));
    SOTTO_TRY(kernel.starts, keep(kernel.starts, kernel.start_count));
    SOTTO_TRY(kernel.values, keep(kernel.values, static_cast<std::int32_t>(kernel.slots)));
    return kernel;
  }
};

struct DeviceMechanism::State {
  std::shared_ptr<const Mechanism> mechanism;
  std::unique_ptr<cuda::DeviceVector> vector;  // of a vector mechanism, which needs nothing below
  const ValueMechanism* values = nullptr;
  bool wide = false;
  unsigned words = 0;
  double share = 0.0;  // of weights that may stay open
  DeviceTables tables;
  /// One array of the kernels of all tensors; all are of one kind.
  cuda::DeviceMemory<std::byte> channels;
  ChannelKernel kind;  // one of them, for its type
  std::vector<cuda::Tensor> tensors;
  std::vector<std::size_t> numbers;  // of those tensors that have elements, in the layout
  cuda::DeviceMemory<cuda::Tensor> device_tensors;
  cuda::DeviceMemory<cuda::Piece> pieces;
  cuda::DeviceMemory<std::uint32_t> first_piece;
  cuda::DeviceMemory<std::uint32_t> table;
  cuda::DeviceMemory<std::uint32_t> round_keys;
  cuda::DeviceMemory<cuda::OpenWeight> open;
  cuda::DeviceMemory<std::uint32_t> open_count;
  std::uint32_t blocks = 0;
  cuda::DeviceMemory<std::int64_t> sums;
  cuda::DeviceMemory<std::int32_t> narrow_symbols;
  cuda::DeviceMemory<std::int64_t> wide_symbols;
  std::vector<std::pair<std::uint64_t, Symbol>> late;  // drawn here, for take_sum()
  std::uint64_t reports = 0;

  Result<void> upload_channels();
  template <class Kernel>
  Result<void> upload_kind(std::span<const ChannelKernel> kernels);
  Result<void> upload_pieces();
  Result<cuda::PerturbJob> job(std::span<const Place> places, std::span<const StreamKey> keys);
  int start(const cuda::PerturbJob& job, const cuda::PerturbOutput& output) const;
  Result<std::vector<cuda::OpenWeight>> opened(const cuda::PerturbJob& job) const;
  Symbol finish(const cuda::OpenWeight& open, std::span<const StreamKey> keys) const;
  std::size_t outputs() const { return mechanism->outputs(); }
};

}  // namespace sotto
