// privunit on a CUDA device: kernels draw the deviates, add and round; the processor decides what
// concerns a whole vector, and computes again the few reports with a coordinate that doubles leave
// undecided.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mechanism/cuda/device_mechanism.h"
#include "mechanism/cuda/device_memory.h"
#include "mechanism/cuda/vector_job.h"
#include "mechanism/privunit.h"

namespace sotto::cuda {

class DeviceVector {
 public:
  using Place = DeviceMechanism::Place;
  using Filling = DeviceMechanism::Filling;

  /// `mechanism` must have parts (privunit_parts) and outlive it.
  static Result<std::unique_ptr<DeviceVector>> make(const Mechanism& mechanism, unsigned threads);

  /// Adds the symbols of so many clients as there are keys.
  Result<void> add(std::span<const Place> tensors, std::span<const StreamKey> keys,
                   const Filling& filling);
  /// All that was added since the last call.
  Result<std::vector<std::int64_t>> take_sums();

  /// Hands on each client's symbols, in order.
  using TakeSymbols =
      std::function<void(std::uint32_t client, std::span<const std::int32_t> symbols)>;
  Result<void> draw(std::span<const Place> tensors, std::span<const StreamKey> keys,
                    const Filling& filling, const TakeSymbols& take);

  /// How many reports the processor computed again, of all.
  std::uint64_t redrawn() const noexcept { return redrawn_; }
  /// Starts the kernel of the deviates of `clients` clients alone: the floor of a benchmark.
  int start_normals_only() const { return start_normals(job_); }

 private:
  DeviceVector(const Mechanism& mechanism, const PrivUnitParts& parts, unsigned threads)
      : mechanism_(mechanism), parts_(parts), threads_(threads) {}

  /// Calls run(some, first) for parts of `keys` that fit in the memory that it takes.
  template <class Run>
  Result<void> in_turns(std::span<const Place> tensors, std::span<const StreamKey> keys,
                        const Filling& filling, const Run& run);
  /// The job up to the plans of all clients, on the device.
  Result<void> prepare(std::span<const Place> tensors, std::size_t first,
                       std::span<const StreamKey> keys, const Filling& filling);
  Result<void> plan(std::span<const PrivUnitParts::Coins> coins);
  /// The clients with an undecided coordinate; waits for the kernel.
  Result<std::vector<std::uint32_t>> undecided() const;
  /// The report of a client of the job, from scratch.
  Result<std::vector<Symbol>> redraw(std::uint32_t client, const StreamKey& key);

  const Mechanism& mechanism_;
  const PrivUnitParts& parts_;
  unsigned threads_;
  std::vector<std::size_t> numbers_;  // of those tensors that have elements, in the layout
  std::vector<VectorTensor> tensors_;
  VectorJob job_{};
  DeviceMemory<VectorTensor> device_tensors_;
  DeviceMemory<std::uint32_t> table_;
  DeviceMemory<std::uint32_t> round_keys_;
  DeviceMemory<float> input_;
  DeviceMemory<double> noise_;
  DeviceMemory<std::uint32_t> zero_;
  DeviceMemory<steps::Scaling> scaling_;
  DeviceMemory<double> bound_sums_;
  DeviceMemory<VectorSums> block_sums_;
  DeviceMemory<VectorPlan> plans_;
  DeviceMemory<double> flats_;
  DeviceMemory<std::uint32_t> unsure_;
  DeviceMemory<std::int32_t> symbols_;
  DeviceMemory<std::int64_t> sums_;
  std::vector<std::int64_t> late_;  // of reports that were computed again
  std::uint64_t redrawn_ = 0;
};

}  // namespace sotto::cuda
