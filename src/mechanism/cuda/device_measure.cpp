// How fast the device perturbs, against its own generator and its own bandwidth.
#include <limits>

#include "base/clock.h"
#include "mechanism/cuda/device_state.h"

namespace sotto {

using cuda::check;
using cuda::DeviceMemory;

/// Seconds of whole reports, with what the processor does for them, and of their deviates alone.
Result<DeviceTimes> DeviceMechanism::measure_vector(std::span<const float> values, unsigned clients,
                                                    int turns) {
  State& state = *state_;
  const std::size_t weights = values.size();
  DeviceMemory<float> rows;
  DeviceMemory<std::byte> from, to;
  const std::size_t copied = weights * clients * (sizeof(float) + 1) / 2;
  SOTTO_CHECK(rows.reserve(weights * clients));
  SOTTO_CHECK(from.reserve(copied));
  SOTTO_CHECK(to.reserve(copied));
  std::vector<Place> places;
  for (const TensorSpec& tensor : state.mechanism->domain().layout->tensors()) {
    float* const row = rows.data() + clients * tensor.offset;
    for (unsigned c = 0; c < clients; ++c) {
      SOTTO_CHECK(check(cudaMemcpy(row + c * tensor.size, values.data() + tensor.offset,
                                   tensor.size * sizeof(float), cudaMemcpyHostToDevice),
                        "copying to the device"));
    }
    places.push_back({row});
  }
  std::vector<StreamKey> keys;
  BitSource bits = BitSource::from_seed(3, "bench");
  for (unsigned c = 0; c < clients; ++c) keys.emplace_back(bits);
  const auto fastest = [&](auto&& run) -> Result<double> {
    double best = std::numeric_limits<double>::infinity();
    for (int turn = 0; turn <= turns; ++turn) {
      const Stopwatch clock;
      SOTTO_CHECK(run());
      SOTTO_CHECK(check(cudaDeviceSynchronize(), "measuring on the device"));
      if (turn > 0) best = std::min(best, clock.seconds());
    }
    return best;
  };
  DeviceTimes times;
  SOTTO_TRY(times.perturb, fastest([&] { return add(places, keys); }));
  SOTTO_TRY(times.words, fastest([&] {
              return check(static_cast<cudaError_t>(state.vector->start_normals_only()),
                           "drawing deviates on the device");
            }));
  SOTTO_TRY(times.copy, fastest([&] {
              return check(
                  cudaMemcpyAsync(to.data(), from.data(), copied, cudaMemcpyDeviceToDevice),
                  "copying on the device");
            }));
  return times;
}

Result<DeviceTimes> DeviceMechanism::measure(std::span<const float> values, unsigned clients,
                                             int turns) {
  State& state = *state_;
  if (state.vector) return measure_vector(values, clients, turns);
  const std::size_t weights = state.outputs() * clients;
  const std::size_t symbol_bytes = state.wide ? 8 : 4;
  DeviceMemory<float> input;
  DeviceMemory<std::int32_t> narrow;
  DeviceMemory<std::int64_t> wide;
  DeviceMemory<std::byte> from;
  DeviceMemory<std::byte> to;
  const std::size_t copied = weights * (sizeof(float) + symbol_bytes) / 2;
  SOTTO_CHECK(input.reserve(weights));
  SOTTO_CHECK(state.wide ? wide.reserve(weights) : narrow.reserve(weights));
  SOTTO_CHECK(from.reserve(copied));
  SOTTO_CHECK(to.reserve(copied));
  std::vector<Place> places;
  for (const TensorSpec& tensor : state.mechanism->domain().layout->tensors()) {
    float* const rows = input.data() + clients * tensor.offset;
    for (unsigned c = 0; c < clients; ++c) {
      SOTTO_CHECK(check(cudaMemcpy(rows + c * tensor.size, values.data() + tensor.offset,
                                   tensor.size * sizeof(float), cudaMemcpyHostToDevice),
                        "copying to the device"));
    }
    places.push_back({rows});
  }
  std::vector<StreamKey> keys;
  BitSource bits = BitSource::from_seed(3, "bench");
  for (unsigned c = 0; c < clients; ++c) keys.emplace_back(bits);
  SOTTO_TRY(const cuda::PerturbJob job, state.job(places, keys));
  DeviceMemory<std::uint32_t> sink;
  SOTTO_CHECK(sink.reserve(1));

  cudaEvent_t begin{};
  cudaEvent_t end{};
  SOTTO_CHECK(check(cudaEventCreate(&begin), "making a timer"));
  SOTTO_CHECK(check(cudaEventCreate(&end), "making a timer"));
  /// The fastest of several turns: other work can only slow one down.
  const auto fastest = [&](auto&& start) -> Result<double> {
    double best = std::numeric_limits<double>::infinity();
    for (int turn = 0; turn <= turns; ++turn) {
      cudaEventRecord(begin);
      const auto error = static_cast<cudaError_t>(start());
      cudaEventRecord(end);
      SOTTO_CHECK(check(error, "starting a kernel"));
      SOTTO_CHECK(check(cudaEventSynchronize(end), "measuring on the device"));
      float milliseconds = 0.0F;
      cudaEventElapsedTime(&milliseconds, begin, end);
      if (turn > 0) best = std::min(best, 1e-3 * static_cast<double>(milliseconds));
    }
    return best;
  };
  DeviceTimes times;
  SOTTO_TRY(times.perturb, fastest([&] {
              return state.start(job, {.narrow = narrow.data(), .wide = wide.data()});
            }));
  if (state.words > 0) {
    SOTTO_TRY(times.words,
              fastest([&] { return cuda::start_words(job, state.words, sink.data()); }));
  }
  SOTTO_TRY(times.copy, fastest([&] {
              return static_cast<int>(
                  cudaMemcpyAsync(to.data(), from.data(), copied, cudaMemcpyDeviceToDevice));
            }));
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return times;
}

}  // namespace sotto
